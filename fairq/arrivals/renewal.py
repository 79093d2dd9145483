"""Arrivals without memory beyond the last one: backlog, Poisson, deterministic, renewal, batch Poisson.

Source of the count variances: D. R. Cox, Renewal Theory (1962), sections 4.2 and 4.5.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fairq.arrivals.process import ArrivalLaw, chunk_sizes, exponentials, running_sums, unit_points
from fairq.distributions import Distribution
from fairq.errors import InputError
from fairq.streams import open_uniforms
from fairq.validation import finite_number, whole_number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairq.arrivals.process import Times

__all__ = ["Backlog", "BatchPoisson", "Deterministic", "Poisson", "Renewal"]


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
class _Steady(ArrivalLaw):
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

    def scaled(self, rate: float) -> _Steady:
        """The same law at another rate."""
        return replace(self, rate=rate)

    def count_mean(self, time: float) -> float:
        """The rate times `time`."""
        return self.rate * time

    def count_variance(self, time: float) -> float:
        """The index of dispersion times the mean."""
        return self.dispersion * self.count_mean(time)


@dataclass(frozen=True)
class Poisson(_Steady):
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
class Deterministic(_Steady):
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


@dataclass(frozen=True)
class Renewal(ArrivalLaw):
    """Independent gaps of one law, the first from time 0 (an ordinary renewal process).

    The law is a distribution of scipy.stats, at its own mean or stretched to a rate, or the gamma law
    of a rate and a coefficient of variation (`cv`; 1 is Poisson's, more is burstier; serving tools call
    1/cv² burstiness).

    Parameters:
        dist: a distribution's name in scipy.stats; None: gamma by `rate` and `cv`.
        parameters: its parameters by scipy's names.
        rate: requests per unit of time, > 0; with `dist`, None keeps the gaps as they are.
        cv: of the gaps, > 0; not with `dist`.

    Raises:
        InputError: a value that is not allowed, both or neither of `dist` and `cv`, gaps that can be
            negative, or whose mean is not a finite number > 0.

    >>> law = Renewal("lognorm", {"s": 1.0}, rate=40)
    >>> law.mean_rate, round(law.interval_cv, 3)
    (40.0, 1.311)
    """

    dist: str | None = None
    parameters: Mapping[str, float] = field(default_factory=dict)
    rate: float | None = None
    cv: float | None = None

    def __post_init__(self) -> None:
        if (self.dist is None) == (self.cv is None):
            raise InputError("dist is to be given, or rate and cv: one of the two, not both")
        for name in ("rate", "cv"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, finite_number(name, getattr(self, name), above=0))
        if self.cv is not None and self.rate is None:
            raise InputError("rate is missing: cv needs it beside it")
        if self.cv is not None and self.parameters:
            raise InputError(f"{next(iter(self.parameters))} is a parameter of a dist: cv needs none")
        law = self._law
        if law.support[0] < 0:
            raise InputError(f"dist is {law}: its values can be negative, which a gap cannot")
        if not (0 < law.mean < math.inf):
            raise InputError(f"dist is {law}: its mean is {law.mean!r}; it must be a finite number > 0")

    @cached_property
    def _law(self) -> Distribution:
        if self.cv is None:
            return Distribution(str(self.dist), self.parameters)
        square = self.cv * self.cv
        return Distribution("gamma", {"a": 1 / square, "scale": square})

    @property
    def mean_rate(self) -> float:
        """The rate, or one over the mean gap."""
        return 1 / self._law.mean if self.rate is None else self.rate

    @property
    def _pace(self) -> float:
        mean = 1.0 if self.cv is not None else self._law.mean
        return 1.0 if self.rate is None else self.rate * mean

    @property
    def interval_cv(self) -> float:
        """`cv`, or that of the distribution."""
        return math.sqrt(self._law.variance) / self._law.mean if self.cv is None else self.cv

    @property
    def dispersion(self) -> float:
        """The square of the interval CV."""
        return self.interval_cv**2

    def count_mean(self, time: float) -> float:
        """The rate times `time` + (cv² − 1)/2, up to a term that vanishes as time grows."""
        square = self.dispersion
        return self.mean_rate * time + ((square - 1) / 2 if math.isfinite(square) else 0.0)

    def count_variance(self, time: float) -> float:
        """cv²·rate·time + 1/12 + (5/4)·cv⁴ − (2/3)·mu3/mean³, up to a term that vanishes as time grows."""
        third = self._law.third / self._law.mean**3
        return self.dispersion * (self.mean_rate * time + 1.25 * self.dispersion) + 1 / 12 - 2 * third / 3

    def scaled(self, rate: float) -> Renewal:
        """The same gaps, stretched to another rate."""
        return replace(self, rate=finite_number("rate", rate, above=0))

    def _chunks(self, generator: np.random.Generator, until: float) -> Iterator[Times]:
        base = 0.0
        for size in chunk_sizes():
            times = running_sums(base, self._law.quantiles(open_uniforms(generator, size)))
            base = float(times[-1])
            yield times


@dataclass(frozen=True)
class BatchPoisson(_Steady):
    """Groups of requests at the times of a Poisson process; those of a group arrive together.

    Parameters:
        rate: requests (not groups) per unit of time, > 0.
        size: how many arrive together, a whole number >= 1, or a discrete `Distribution` of that.

    Raises:
        InputError: a value that is not allowed, or sizes below 1 or without a mean.

    >>> BatchPoisson(rate=8, size=4).dispersion
    4.0
    >>> str(BatchPoisson(8, Distribution("geom", {"p": 0.5})).size)
    'geom(p=0.5)'
    """

    size: int | Distribution = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        size = self.size
        if not isinstance(size, Distribution):
            object.__setattr__(self, "size", whole_number("size", size, at_least=1))
        elif not size.is_discrete or size.support[0] < 1 or not math.isfinite(size.mean):
            raise InputError(
                f"size is {size}: it must be a discrete distribution of values >= 1 with a mean "
                "(loc = 1 moves one that begins at 0)"
            )

    @property
    def _moments(self) -> tuple[float, float]:
        """Mean and mean square of the size."""
        if isinstance(self.size, Distribution):
            return self.size.mean, self.size.variance + self.size.mean**2
        return float(self.size), float(self.size**2)

    @property
    def interval_cv(self) -> float:
        """sqrt(2·E[size] − 1): of E[size] gaps one is exponential, the others are 0."""
        return math.sqrt(2 * self._moments[0] - 1)

    @property
    def dispersion(self) -> float:
        """E[size²] / E[size], for counts over any time."""
        return self._moments[1] / self._moments[0]

    def _chunks(self, generator: np.random.Generator, until: float) -> Iterator[Times]:
        base, mean = 0.0, self._moments[0]
        for size in chunk_sizes():
            uniforms = open_uniforms(generator, 2 * size).reshape(-1, 2)  # gap and size of each group
            epochs = running_sums(base, exponentials(uniforms[:, 0]))
            base = float(epochs[-1])
            yield np.repeat(epochs * mean, self._sizes(uniforms[:, 1]))

    def _sizes(self, uniforms: Times) -> NDArray[np.int64]:
        if isinstance(self.size, Distribution):
            return self.size.quantiles(uniforms).astype(np.int64)
        return np.full(len(uniforms), self.size)
