"""Windows of a ServeGen client: stretches of time, each with a law of the gaps between arrivals."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import gamma, isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from fairq.csvtable import full_rows
from fairq.errors import InputError
from fairq.formats import SERVEGEN_FAMILIES, SERVEGEN_FIELDS
from fairq.textfile import open_text

if TYPE_CHECKING:
    from os import PathLike

    from numpy.typing import NDArray

__all__ = ["Window", "is_client", "read_windows"]

_HUGE = 1e9  # gaps of a window, more than are ever drawn
_SHAPES = (0.01, 1_000_000)  # beyond them gaps of mean 1 are 0 or infinite in floats


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of time in which the gaps between arrivals follow one law; idle where `rate` is 0."""

    start: float
    end: float
    rate: float
    cv: float
    family: str
    shape: float
    scale: float

    @property
    def fitted_rate(self) -> float:
        """The rate of the family with the file's own shape and scale, NaN of an idle window."""
        if self.rate == 0:
            return float("nan")
        mean = self.shape if self.family == "Gamma" else gamma(1 + 1 / self.shape)
        return 1 / (mean * self.scale)

    def arrivals(self, generator: np.random.Generator, most: int | None = None) -> NDArray[np.float64]:
        """Times of a renewal process over the window, the window's start counting as its first renewal.

        The gaps have the family and the shape of the file and the mean 1/rate: the rate is what was
        counted, and the file's own scale, which was fitted, misses it in some windows by far.

        Parameters:
            generator: where the gaps come from.
            most: how many to return at most, the first; the same ones as without it, and no more are drawn
                where the window has so many.
        """
        length, mean = self.end - self.start, 1 / self.rate if self.rate else np.inf
        found = [np.zeros(0)]
        reached, have = 0.0, 0
        while reached < length and self.rate and (most is None or have < most):
            count = int(min((length - reached) / mean * 1.1, _HUGE)) + 16
            taken = count if most is None else min(count, most - have)
            gaps = _gaps(generator, self.family, self.shape, taken)
            if taken < count and reached + float((gaps * mean).cumsum()[-1]) >= length:
                if count > _HUGE:
                    raise InputError(f"a window has a rate of {self.rate!r} per s: it must be less")
                gaps = np.concatenate([gaps, _gaps(generator, self.family, self.shape, count - taken)])
            times = reached + np.cumsum(gaps * mean)
            found.append(times)
            reached, have = float(times[-1]), have + len(times)
        times = np.concatenate(found)
        return np.asarray(self.start + times[times < length][:most])


def _gaps(generator: np.random.Generator, family: str, shape: float, count: int) -> NDArray[np.float64]:
    """Gaps of mean 1."""
    if family == "Gamma":
        return generator.gamma(shape, 1 / shape, count)
    return generator.weibull(shape, count) / gamma(1 + 1 / shape)


def is_client(path: str | PathLike[str]) -> bool:
    """Whether the file's first line has the fields of a ServeGen window; false where it cannot be read."""
    try:
        with open_text(path) as text:
            fields = text.readline(1000).strip().split(",")
    except InputError:
        return False
    return len(fields) == SERVEGEN_FIELDS and fields[3] in SERVEGEN_FAMILIES and _is_number(fields[0])


def read_windows(path: str | PathLike[str]) -> tuple[Window, ...]:
    """The windows of a ``*-trace.csv``, in order.

    Raises:
        InputError: the file cannot be read, or a row is not allowed.
    """
    rows: list[tuple[float, ...] | Any] = []
    lines = []
    with open_text(path) as text:
        for line, fields in full_rows(text, str(path)):
            rows.append(_row(fields, f"{path}: row {line}"))
            lines.append(line)
    if not rows:
        raise InputError(f"{path} is empty: it must have a window a row")
    starts = [row[0] for row in rows]
    for index in range(1, len(starts)):
        if starts[index] <= starts[index - 1]:
            raise InputError(
                f"{path}: row {lines[index]}, start is {starts[index]!r}: it must be above the one in the "
                "row before"
            )
    width = min((b - a for a, b in pairwise(starts)), default=600.0)
    ends = [*starts[1:], starts[-1] + width]
    return tuple(Window(row[0], end, *row[1:]) for row, end in zip(rows, ends, strict=True))


def _row(fields: list[str], place: str) -> Any:
    if len(fields) != SERVEGEN_FIELDS:
        raise InputError(
            f"{place} has {len(fields)} fields: it must have {SERVEGEN_FIELDS}: start, rate, CV, family, "
            "shape, scale"
        )
    names = ("start", "rate", "CV", "family", "shape", "scale")
    numbers = {
        name: _number(text, f"{place}, {name}")
        for name, text in zip(names, fields, strict=True)
        if name != "family"
    }
    family = fields[3].strip()
    if numbers["rate"] > 0:
        if family not in SERVEGEN_FAMILIES[1:]:
            raise InputError(f"{place}, family is {family!r}: it must be 'Gamma' or 'Weibull' where rate > 0")
        if not _SHAPES[0] <= numbers["shape"] <= _SHAPES[1]:
            raise InputError(f"{place}, shape is {fields[4]!r}: it must be from {_SHAPES[0]} to {_SHAPES[1]}")
        if numbers["scale"] == 0:
            raise InputError(f"{place}, scale is {fields[5]!r}: it must be > 0 where rate > 0")
    return (*(numbers[name] for name in names[:3]), family, numbers["shape"], numbers["scale"])


def _number(text: str, name: str) -> float:
    if not _is_number(text) or float(text) < 0:
        raise InputError(f"{name} is {text!r}: it must be a finite number >= 0")
    return float(text)


def _is_number(text: str) -> bool:
    try:
        return isfinite(float(text)) and "_" not in text
    except ValueError:
        return False
