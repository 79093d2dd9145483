"""A Poisson process with a day: its rate goes up and down as a sine."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fairq.arrivals.intervals import periodic_interval_cv
from fairq.arrivals.process import ArrivalLaw, unit_points
from fairq.errors import InputError
from fairq.validation import finite_number

if TYPE_CHECKING:
    from fairq.arrivals.process import Times

__all__ = ["Sinusoid"]

_CELLS = 4096
_ROUNDS = 80


@dataclass(frozen=True)
class Sinusoid(ArrivalLaw):
    """A Poisson process of rate ``rate·(1 + amplitude·sin(2·pi·t/period))`` at time t.

    Times are drawn by inversion of the integrated rate (Newton's method between two bounds).

    Parameters:
        rate: its mean, > 0.
        amplitude: relative to it, from 0 to 1.
        period: of the sine, > 0, as 86400 for a day in seconds.

    Raises:
        InputError: a value that is not allowed.

    >>> day = Sinusoid(rate=2, amplitude=0.5, period=24)
    >>> round(day.count_mean(12) - day.count_mean(0), 3), round(day.count_mean(24), 3)
    (31.639, 48.0)
    """

    rate: float
    amplitude: float
    period: float = 86400.0

    def __post_init__(self) -> None:
        for name in ("rate", "period"):
            object.__setattr__(self, name, finite_number(name, getattr(self, name), above=0))
        amplitude = finite_number("amplitude", self.amplitude, at_least=0)
        if amplitude > 1:
            raise InputError(f"amplitude is {self.amplitude!r}: it must be a number from 0 to 1, of the rate")
        object.__setattr__(self, "amplitude", amplitude)

    @property
    def mean_rate(self) -> float:
        """The rate over a period."""
        return self.rate

    @property
    def interval_cv(self) -> float:
        """Of the gaps in the long run, the period cut into 4096 pieces."""
        angles = (np.arange(_CELLS) + 0.5) / _CELLS * 2 * math.pi
        rates = self.rate * (1 + self.amplitude * np.sin(angles))
        return periodic_interval_cv(np.full(_CELLS, self.period / _CELLS), rates)

    @property
    def dispersion(self) -> float:
        """1: counts from time 0, and over whole periods, are Poisson."""
        return 1.0

    def count_mean(self, time: float) -> float:
        """The integral of the rate up to `time`."""
        angle = 2 * math.pi * math.fmod(time, self.period) / self.period
        return self.rate * (time + self.amplitude * self.period / (2 * math.pi) * (1 - math.cos(angle)))

    def count_variance(self, time: float) -> float:
        """The same as the mean."""
        return self.count_mean(time)

    def scaled(self, rate: float) -> Sinusoid:
        """The same day with another mean rate; the period stays."""
        return replace(self, rate=rate)

    def _chunks(self, generator: np.random.Generator, until: float) -> Iterator[Times]:
        whole = self.rate * self.period
        for points in unit_points(generator):
            cycles = np.floor(points / whole)
            angles = _angles((points / whole - cycles) * 2 * math.pi, self.amplitude)
            yield (cycles + angles / (2 * math.pi)) * self.period


def _angles(targets: Times, amplitude: float) -> Times:
    """The x with x + amplitude·(1 − cos x) = target, for targets in [0, 2·pi]."""
    found = targets - amplitude * (1 - np.cos(targets))
    moving = np.arange(len(targets))
    low, high, x = np.maximum(targets - 2 * amplitude, 0), targets, np.maximum(found, 0)
    for _ in range(_ROUNDS):  # about six are needed where the rate is not near 0
        excess = x + amplitude * (1 - np.cos(x)) - targets[moving]
        low, high = np.where(excess < 0, x, low), np.where(excess < 0, high, x)
        step = x - excess / np.maximum(1 + amplitude * np.sin(x), 1e-300)
        following = np.where((step >= low) & (step <= high), step, (low + high) / 2)
        found[moving] = following
        still = np.abs(following - x) > 4e-15
        moving, low, high, x = moving[still], low[still], high[still], following[still]
        if not len(moving):
            break
    return found
