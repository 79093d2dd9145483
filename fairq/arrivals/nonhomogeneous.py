"""A Poisson process whose rate follows a table of times."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fairq.arrivals.intervals import periodic_interval_cv
from fairq.arrivals.pieces import Pieces
from fairq.arrivals.process import ArrivalLaw, unit_points
from fairq.arrivals.tables import numbers
from fairq.errors import InputError, unknown_name
from fairq.validation import finite_number, shown

if TYPE_CHECKING:
    from fairq.arrivals.process import Times

__all__ = ["Nonhomogeneous"]

_SHAPES = ("constant", "linear")
_CELLS = 256  # pieces of constant rate that stand for one of linear rate, in the interval CV alone


@dataclass(frozen=True, init=False)  # its first argument has the name of a method
class Nonhomogeneous(ArrivalLaw):
    """A Poisson process whose rate is a table: constant between its times, or linear.

    The table is one period and begins anew at its last time, unless `repeat` is false: nothing
    arrives after it then.  A constant table with as many rates as times has no end: the last rate goes on
    for ever.  Times are drawn by inversion of the integrated rate, so that where the rate is 0
    nothing arrives, exactly.

    Parameters:
        times: increasing, the first 0.
        rates: requests per unit of time, each >= 0, not all 0.  ``"constant"``: ``rates[k]`` from
            ``times[k]`` to ``times[k + 1]``, so one fewer than the times (or as many, see above).
            ``"linear"``: ``rates[k]`` at ``times[k]``, so as many.
        shape: ``"constant"`` or ``"linear"``.
        repeat: whether the table is a period; None: yes, if it has an end.
        rate: mean rate; the rates are multiplied to have it.  None: as they are.

    Raises:
        InputError: an empty table, times or rates that are not allowed, an unknown shape, or
            `repeat` of a table without an end.

    >>> law = Nonhomogeneous(times=[0, 8, 16, 24], rates=[0, 30, 12])
    >>> law.mean_rate
    14.0
    >>> bool(((law.times(np.random.default_rng(3), until=240) % 24) >= 8).all())
    True
    """

    at: tuple[float, ...]
    rates: tuple[float, ...]
    shape: str = "constant"
    repeat: bool | None = None
    rate: float | None = None

    def __init__(
        self,
        times: Sequence[float],
        rates: Sequence[float],
        shape: str = "constant",
        repeat: bool | None = None,
        rate: float | None = None,
    ) -> None:
        given = {"at": numbers("times", times), "rates": numbers("rates", rates, at_least=0)}
        rate = None if rate is None else finite_number("rate", rate, above=0)
        for name, value in (given | {"shape": shape, "repeat": repeat, "rate": rate}).items():
            object.__setattr__(self, name, value)
        self._check()

    def _check(self) -> None:
        times, rates = self.at, self.rates
        if self.shape not in _SHAPES:
            raise unknown_name("shape", self.shape, _SHAPES)
        if self.repeat not in (None, True, False):
            raise InputError(f"repeat is {shown(self.repeat)}: it must be true or false")
        allowed = (len(times),) if self.shape == "linear" else (len(times) - 1, len(times))
        if len(rates) not in allowed:
            wanted = " or ".join(str(number) for number in allowed)
            raise InputError(
                f"rates has {len(rates)} values and times {len(times)}: a {self.shape} table of that many "
                f"times needs {wanted}"
            )
        if times[0] != 0:
            raise InputError(f"times.0 is {times[0]!r}: it must be 0, where the table begins")
        for index in range(1, len(times)):
            if times[index] <= times[index - 1]:
                raise InputError(f"times.{index} is {times[index]!r}: it must be > {times[index - 1]!r}")
        if not any(rates) or (self.shape == "linear" and len(rates) < 2):
            raise InputError(f"rates is {shown(list(rates))}: at least one must be > 0, for some time")
        if self._is_open and self.repeat:
            raise InputError("repeat is True: a table of as many rates as times has no end to begin anew at")

    @property
    def _is_open(self) -> bool:
        return self.shape == "constant" and len(self.rates) == len(self.at)

    @property
    def _repeats(self) -> bool:
        return not self._is_open if self.repeat is None else self.repeat

    @cached_property
    def _pieces(self) -> Pieces:
        return self._pieces_with(1.0 if self.rate is None else self.rate / self._table_rate)

    def _pieces_with(self, factor: float) -> Pieces:
        """The table with its rates multiplied."""
        edges, rates = np.array(self.at), np.array(self.rates) * factor
        if self.shape == "linear":
            return Pieces.between(edges, rates[:-1], rates[1:])
        if self._is_open and rates[-1] == 0:
            rates = rates[:-1]
        elif self._is_open:
            edges = np.append(edges, np.inf)
        return Pieces.between(edges, rates)

    @cached_property
    def _table_rate(self) -> float:
        """The mean rate that the table itself says."""
        if self._is_open and self.rates[-1] > 0:
            return self.rates[-1]
        plain = self._pieces_with(1.0)
        return float(plain.masses[-1] / plain.edges[-1])

    @property
    def mean_rate(self) -> float:
        """Over the table, or the last rate where that goes on for ever."""
        return self._table_rate if self.rate is None else self.rate

    @property
    def period(self) -> float:
        """The table's last time, 0 where nothing repeats."""
        return self.at[-1] if self._repeats else 0.0

    @property
    def interval_cv(self) -> float:
        """Of the gaps in the long run, a linear piece cut into 256; NaN where nothing repeats."""
        if not self._repeats:
            return math.nan
        pieces = self._pieces
        lengths = np.diff(pieces.edges)
        if self.shape == "constant":
            return periodic_interval_cv(lengths, pieces.rates)
        middle = (np.arange(_CELLS) + 0.5) / _CELLS
        rates = pieces.rates[:, None] + (pieces.slopes * lengths)[:, None] * middle
        return periodic_interval_cv(np.repeat(lengths / _CELLS, _CELLS), rates.ravel())

    @property
    def dispersion(self) -> float:
        """1: counts from time 0, and over whole periods, are Poisson."""
        return 1.0

    def count_mean(self, time: float) -> float:
        """The integral of the rate up to `time`."""
        if not self._repeats:
            return float(self._pieces.integral(np.array([time]))[0])
        cycles, rest = divmod(time, self.period)
        return float(cycles * self._pieces.masses[-1] + self._pieces.integral(np.array([rest]))[0])

    def count_variance(self, time: float) -> float:
        """The same as the mean."""
        return self.count_mean(time)

    def scaled(self, rate: float) -> Nonhomogeneous:
        """The rates multiplied; the table's times stay, so the same day has more requests."""
        return Nonhomogeneous(self.at, self.rates, self.shape, self.repeat, rate)

    def _chunks(self, generator: np.random.Generator, until: float) -> Iterator[Times]:
        whole = float(self._pieces.masses[-1])
        for points in unit_points(generator):
            if self._repeats:
                cycles = np.floor(points / whole)
                yield cycles * self.period + self._pieces.inverse(points - cycles * whole)
            else:
                inside = points[points <= whole]
                yield self._pieces.inverse(inside)
                if len(inside) < len(points):
                    return
