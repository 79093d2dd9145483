"""The plainest arrivals: a backlog, a Poisson process, equal gaps."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from fairq.arrivals.process import ArrivalLaw, chunk_sizes, unit_points
from fairq.validation import finite_number

if TYPE_CHECKING:
    from fairq.arrivals.process import Times

__all__ = ["Backlog", "Deterministic", "Poisson", "Steady"]


@dataclass(frozen=True)
class Backlog(ArrivalLaw):
    """All requests are there at time 0.  It has no rate: `scaled` gives it back as it is.

    >>> Backlog().times(np.random.default_rng(0), count=3).tolist()
    [0.0, 0.0, 0.0]
    """

    mean_rate: float = field(default=math.inf, init=False)
    interval_cv: float = field(default=math.nan, init=False)
    dispersion: float = field(default=math.nan, init=False)

    def count_mean(self, time: float) -> float:
        """No number: all requests are there at 0."""
        return math.inf

    def count_variance(self, time: float) -> float:
        """No number: all requests are there at 0."""
        return math.nan

    def scaled(self, rate: float) -> Backlog:
        """The same backlog."""
        finite_number("rate", rate, above=0)
        return self

    def _chunks(self, generator: np.random.Generator, until: float) -> Iterator[Times]:
        for size in chunk_sizes():
            yield np.zeros(size)


@dataclass(frozen=True)
class Steady(ArrivalLaw):
    """A law given by its rate alone: times of a stream of rate 1, divided by it."""

    rate: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", finite_number("rate", self.rate, above=0))

    @property
    def mean_rate(self) -> float:
        """The rate."""
        return self.rate

    @property
    def _pace(self) -> float:
        return self.rate

    def scaled(self, rate: float) -> Steady:
        """The same law at another rate."""
        return replace(self, rate=rate)

    def count_mean(self, time: float) -> float:
        """The rate times `time`."""
        return self.rate * time

    def count_variance(self, time: float) -> float:
        """The index of dispersion times the mean."""
        return self.dispersion * self.count_mean(time)


@dataclass(frozen=True)
class Poisson(Steady):
    """A Poisson process: independent exponential gaps of mean 1/rate, the first from time 0.

    Parameters:
        rate: requests per unit of time, > 0.

    Raises:
        InputError: `rate` is not a finite number > 0.

    >>> slow, fast = (Poisson(rate).times(np.random.default_rng(1), count=9) for rate in (1, 4))
    >>> bool((slow / 4 == fast).all())
    True
    """

    interval_cv: float = field(default=1.0, init=False)
    dispersion: float = field(default=1.0, init=False)

    def _chunks(self, generator: np.random.Generator, until: float) -> Iterator[Times]:
        yield from unit_points(generator)


@dataclass(frozen=True)
class Deterministic(Steady):
    """Request k = 1, 2, ... arrives at k/rate, exactly; nothing is drawn.

    Parameters:
        rate: requests per unit of time, > 0.

    Raises:
        InputError: `rate` is not a finite number > 0.

    >>> Deterministic(4).times(np.random.default_rng(0), until=1).tolist()
    [0.25, 0.5, 0.75, 1.0]
    """

    interval_cv: float = field(default=0.0, init=False)
    dispersion: float = field(default=0.0, init=False)

    def count_mean(self, time: float) -> float:
        """floor(rate · time)."""
        return math.floor(self.rate * time)

    def _chunks(self, generator: np.random.Generator, until: float) -> Iterator[Times]:
        base = 0
        for size in chunk_sizes():
            yield np.arange(base + 1, base + size + 1, dtype=np.float64)
            base += size
