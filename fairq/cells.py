"""A file's values as numbers and times, whole columns at once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import isnan
from operator import itemgetter
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairq.columns import NUMBER, Place, times, written
from fairq.errors import InputError

__all__ = ["measured", "moments", "numbers_from", "plain_numbers", "texts"]

_FLOATS = re.compile(r"[0-9.eE+-]*")
_MOMENTS = re.compile(r"[0-9 .:TZ+|-]*")
_TOO_FINE = re.compile(r"\.\d{10}")  # pandas would cut such a second off
_SHORTEST_MOMENT = len("2023-11-16 18:15")

Values = Sequence[Any] | NDArray[Any]


def plain_numbers(cells: Values) -> Values:
    """`cells` as an array of numbers where all are; else a list for a check to refuse, value by value.

    Text is read as Python reads it, to the last bit; spaces around it are tolerated.  It may stand among
    numbers.
    """
    if isinstance(cells, np.ndarray):
        if cells.dtype.kind not in "OU":
            return cells
        cells = cells.tolist()
    kinds = set(map(type, cells))
    try:
        if kinds == {str}:
            return _from_text(list(cells))
        if kinds == {int}:
            return np.fromiter(cells, np.int64, len(cells))
        if kinds <= {int, float}:
            return np.fromiter(cells, np.float64, len(cells))
    except (ValueError, OverflowError):
        pass
    return [_number(cell) if isinstance(cell, str) else cell for cell in cells]


def _from_text(cells: Sequence[str]) -> NDArray[Any]:
    """The numbers that every one of `cells` writes.

    Raises:
        ValueError: one writes none, or nothing that is quickly seen to be one.
    """
    together = "".join(cells)
    if together.isascii() and together.isdigit() and max(map(len, cells)) < 19:
        return np.fromiter(map(int, cells), np.int64, len(cells))
    if not _FLOATS.fullmatch(together):
        raise ValueError
    return np.fromiter(map(float, cells), np.float64, len(cells))


def _number(cell: str) -> float | str:
    """The number that `cell` writes; text that is none stays text, for the check to refuse."""
    cell = cell.strip()
    if len(cell) < 16 and cell.isascii() and cell.isdigit():
        return int(cell)
    return float(cell) if NUMBER.fullmatch(cell) else cell


def moments(cells: Values, place: Place) -> NDArray[np.int64]:
    """Dates with times of day, as nanoseconds since 1970; without a zone they are in UTC.

    Raises:
        InputError: the first that is none, named by `place`.
    """
    if isinstance(cells, np.ndarray) and cells.dtype.kind == "M":
        found = _nanoseconds(pd.DatetimeIndex(cells), cells, place)
    else:
        shaped = cells if _all_look_like_moments(cells) else [_moment_or_none(cell) for cell in cells]
        parsed = pd.to_datetime(pd.Index(shaped, dtype=object), format="ISO8601", utc=True, errors="coerce")
        found = _nanoseconds(parsed, cells, place)
    return found


def _all_look_like_moments(cells: Values) -> bool:
    return (
        set(map(type, cells)) == {str}
        and min(map(len, cells)) >= _SHORTEST_MOMENT
        and set(map(itemgetter(4), cells)) == {"-"}
        and _are_moments("|".join(cells), len(cells))
    )


def _are_moments(together: str, count: int) -> bool:
    return (
        _MOMENTS.fullmatch(together) is not None
        and together.count("|") == count - 1
        and _TOO_FINE.search(together) is None
    )


def _moment_or_none(cell: Any) -> str | None:
    """`cell` without spaces around it if it may be a moment: pandas reads a bare number as a year."""
    if not isinstance(cell, str):
        return None
    cell = cell.strip()
    return cell if cell and _all_look_like_moments([cell]) else None


def _nanoseconds(index: pd.DatetimeIndex, cells: Values, place: Place) -> NDArray[np.int64]:
    bad = np.asarray(index.isna())
    if not bad.any():
        try:
            return np.asarray(index.as_unit("ns").asi8)
        except pd.errors.OutOfBoundsDatetime:
            bad = (index.year < 1700) | (index.year > 2200)
    at = int(bad.argmax())
    raise InputError(
        f"{place('arrival', at)} is {written(cells[at])}: it must be a date and time from 1700 to 2200, "
        "as 2023-11-16 18:15:46.680590, with at most nine digits after the point"
    )


def numbers_from(cells: Values, place: Place) -> NDArray[Any]:
    """Times that are numbers, finite and >= 0: int64 where all are whole (nanoseconds need all digits)."""
    numbers = plain_numbers(cells)
    if isinstance(numbers, np.ndarray) and numbers.dtype.kind == "i" and (numbers >= 0).all():
        return numbers.astype(np.int64)
    return times(numbers, place, cells)


def measured(name: str, cells: Values, place: Place, minus_one: bool = False) -> NDArray[np.float64]:
    """Measured seconds, finite and >= 0; nothing where nothing was measured, which is NaN.

    With `minus_one`, -1 says so too.
    """
    missing = [_is_missing(cell) or (minus_one and _is_minus_one(cell)) for cell in cells]
    nothing = "0" if any(isinstance(cell, str) for cell in cells) else 0.0
    given = [nothing if gone else cell for cell, gone in zip(cells, missing, strict=True)]
    values = times(plain_numbers(given), lambda _, index: place(name, index), cells)
    return np.where(missing, np.nan, values)


def _is_missing(cell: Any) -> bool:
    if isinstance(cell, str):
        return not cell.strip()
    return cell is None or (isinstance(cell, float) and isnan(cell))


def _is_minus_one(cell: Any) -> bool:
    return (cell.strip() if isinstance(cell, str) else cell) in ("-1", "-1.0", -1)


def texts(cells: Values, known: dict[str, str]) -> list[Any]:
    """Texts, equal ones being one object: a long file repeats few of them."""
    return [known.setdefault(cell, cell) if isinstance(cell, str) else cell for cell in cells]
