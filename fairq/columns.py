"""Columns of numbers and texts, checked value by value: what is allowed, and where a bad one stands."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from fairq.errors import InputError
from fairq.validation import shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "MAX_LABEL", "MAX_TOKENS", "NUMBER", "Place", "as_sequence", "labels", "require", "times", "whole_column",
    "written",
]  # fmt: skip

MAX_TOKENS = 100_000_000
"""The most tokens that one request may have, and the most of a prompt that a step may process."""

MAX_LABEL = 100_000
"""The most characters of a label."""

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
"""How a file writes a number."""

_NO_LABEL = re.compile("[\0\ud800-\udfff]")

Place = Callable[[str, int], str]
"""How an error names the value of a column at an index: ``tokens[3]``, or a file's row and column."""


def whole_column(name: str, values: Any, place: Place, *, low: int, cells: Any = None) -> NDArray[np.int64]:
    """`values` as int64, if each is a whole number from `low` to `MAX_TOKENS`.

    Parameters:
        cells: what a file had in their place, for the message.
    """
    allowed = f"a whole number from {low} to {MAX_TOKENS:,}"
    cells = values if cells is None else cells
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu":  # long traces: no copy as floats
        _refuse_first((values < low) | (values > MAX_TOKENS), name, cells, place, allowed)
        return values.astype(np.int64)
    numbers = _numbers(name, values, place, allowed)
    good = (numbers >= low) & (numbers <= MAX_TOKENS) & (numbers == np.floor(numbers))
    _refuse_first(~good, name, cells, place, allowed)
    return numbers.astype(np.int64)


def times(values: Any, place: Place, cells: Any = None) -> NDArray[np.float64]:
    """`values` as float64, if each is a finite number >= 0; `cells` as for `whole_column`."""
    allowed = "a finite number >= 0"
    numbers = _numbers("arrival", values, place, allowed)
    good = np.isfinite(numbers) & (numbers >= 0)
    _refuse_first(~good, "arrival", values if cells is None else cells, place, allowed)
    numbers += 0.0  # -0.0 becomes 0.0; the array is a copy already
    return numbers


def labels(values: Any, count: int, place: Place) -> NDArray[np.object_]:
    """`count` texts that a file can hold; None, whole or single, is ``""``."""
    texts = np.full(count, "", dtype=object)
    for index, value in enumerate(() if values is None else values):
        if value is not None and not isinstance(value, str):
            raise InputError(f"{place('label', index)} is {shown(value)}: it must be text")
        text = "" if value is None else str(value)
        if len(text) > MAX_LABEL or _NO_LABEL.search(text):
            allowed = f"text that UTF-8 has, without NUL, of at most {MAX_LABEL:,} characters"
            raise InputError(f"{place('label', index)} is {shown(text)}: it must be {allowed}")
        texts[index] = text
    return texts


def written(value: Any) -> str:
    """A value as a message shows it: a file's number as the file writes it, anything else as Python does.

    >>> written("-1"), written("x"), written(0.5)
    ('-1', "'x'", '0.5')
    """
    if isinstance(value, str) and NUMBER.fullmatch(value.strip()) and len(value) <= 60:
        return value.strip()
    return shown(value.item() if isinstance(value, np.generic) else value)


def _numbers(name: str, values: Any, place: Place, allowed: str) -> NDArray[np.float64]:
    """`values` as float64; the first that is no number is refused (NaN and infinities pass here)."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "iuf":
        return values.astype(np.float64)
    numbers = np.empty(len(values))
    for index, value in enumerate(values):
        if type(value) is not float and type(value) is not int and not _is_number(value):
            given = value.item() if isinstance(value, np.generic) else value
            raise InputError(f"{place(name, index)} is {shown(given)}: it must be {allowed}")
        try:
            numbers[index] = value
        except OverflowError:  # a whole number beyond every float
            numbers[index] = np.inf
    return numbers


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def require(
    good: NDArray[np.bool_],
    name: str,
    values: NDArray[np.int64],
    tokens: NDArray[np.int64],
    place: Place,
    allowed: str,
) -> None:
    """Refuse the first value that is not `good`; `allowed` has a ``{}`` for the request's tokens."""
    if not good.all():
        _refuse_first(~good, name, values, place, allowed.format(tokens[int((~good).argmax())]))


def _refuse_first(bad: NDArray[np.bool_], name: str, values: Any, place: Place, allowed: str) -> None:
    if bad.any():
        index = int(bad.argmax())
        raise InputError(f"{place(name, index)} is {written(values[index])}: it must be {allowed}")


def as_sequence(name: str, values: Any) -> Any:
    """`values` as a list or a one-dimensional array."""
    if isinstance(values, (list, tuple, range)):
        return values
    if isinstance(values, (str, bytes, Mapping)) or not (
        hasattr(values, "__array__") or isinstance(values, Sequence)
    ):
        raise InputError(f"{name} is {shown(values)}: it must be a list, tuple, numpy array or pandas series")
    array = np.asarray(values)
    if array.ndim != 1:
        raise InputError(f"{name} has {array.ndim} dimensions: it must have one")
    return array
