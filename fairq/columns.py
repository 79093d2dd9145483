"""Columns of numbers and texts, checked value by value: what is allowed, and where a bad one stands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from fairq.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MAX_TOKENS", "Place", "as_sequence", "labels", "require", "times", "whole_column"]

MAX_TOKENS = 100_000_000
"""The most tokens that one request may have."""

Place = Callable[[str, int], str]
"""How an error names the value of a column at an index: ``tokens[3]``, or a file's row and column."""


def whole_column(name: str, values: Any, place: Place, *, low: int) -> NDArray[np.int64]:
    """`values` as int64, if each is a whole number from `low` to `MAX_TOKENS`."""
    allowed = f"a whole number from {low} to {MAX_TOKENS:,}"
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu":  # long traces: no copy as floats
        _refuse_first((values < low) | (values > MAX_TOKENS), name, values, place, allowed)
        return values.astype(np.int64)
    numbers = _numbers(name, values, place, allowed)
    good = (numbers >= low) & (numbers <= MAX_TOKENS) & (numbers == np.floor(numbers))
    _refuse_first(~good, name, values, place, allowed)
    return numbers.astype(np.int64)


def times(values: Any, place: Place) -> NDArray[np.float64]:
    """`values` as float64, if each is a finite number >= 0."""
    allowed = "a finite number >= 0"
    numbers = _numbers("arrival", values, place, allowed)
    _refuse_first(~(np.isfinite(numbers) & (numbers >= 0)), "arrival", values, place, allowed)
    numbers += 0.0  # -0.0 becomes 0.0; the array is a copy already
    return numbers


def labels(values: Any, count: int, place: Place) -> NDArray[np.object_]:
    """`count` texts; None, whole or single, is ``""``."""
    texts = np.full(count, "", dtype=object)
    for index, value in enumerate(() if values is None else values):
        if value is not None and not isinstance(value, str):
            raise InputError(f"{place('label', index)} is {value!r}: it must be text")
        texts[index] = "" if value is None else str(value)
    return texts


def _numbers(name: str, values: Any, place: Place, allowed: str) -> NDArray[np.float64]:
    """`values` as float64; the first that is no number is refused (NaN and infinities pass here)."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "iuf":
        return values.astype(np.float64)
    numbers = np.empty(len(values))
    for index, value in enumerate(values):
        if type(value) is not float and type(value) is not int and not _is_number(value):
            raise InputError(f"{place(name, index)} is {_plain(value)!r}: it must be {allowed}")
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
        raise InputError(f"{place(name, index)} is {_plain(values[index])!r}: it must be {allowed}")


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def as_sequence(name: str, values: Any) -> Any:
    """`values` as a list or a one-dimensional array."""
    if isinstance(values, (list, tuple, range)):
        return values
    if isinstance(values, (str, bytes, Mapping)) or not (
        hasattr(values, "__array__") or isinstance(values, Sequence)
    ):
        raise InputError(f"{name} is {values!r}: it must be a list, tuple, numpy array or pandas series")
    array = np.asarray(values)
    if array.ndim != 1:
        raise InputError(f"{name} has {array.ndim} dimensions: it must have one")
    return array
