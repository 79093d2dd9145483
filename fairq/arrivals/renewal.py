"""Independent gaps of one law.

Source of the count moments: D. R. Cox, Renewal Theory (1962), sections 4.2 and 4.5.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fairq.arrivals.process import ArrivalLaw, chunk_sizes, running_sums
from fairq.distributions import Distribution
from fairq.errors import InputError
from fairq.streams import open_uniforms
from fairq.validation import finite_number

if TYPE_CHECKING:
    from fairq.arrivals.process import Times

__all__ = ["Renewal"]


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
