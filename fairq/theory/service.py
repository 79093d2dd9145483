"""Laws of service that the exact results are computed for: exponential, and any law of whole lengths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairq.errors import InputError
from fairq.theory.chains import poisson_masses
from fairq.validation import finite_number, shown, whole_number

__all__ = ["Exponential", "Lengths", "Service", "positive_number"]

_LEAST_MASS = 1e-18
_MOST_VALUES = 20_000_000


class Service(Protocol):
    """What the formulas ask of a law of service times."""

    @property
    def mean(self) -> float:
        """E[S], in units of time."""
        ...

    def moment(self, order: int) -> float:
        """E[S^order]."""
        ...

    def longest_moment(self, count: int, order: int) -> float:
        """E[max^order] of the longest of `count` independent services."""
        ...

    def arrivals_during_longest(self, count: int, rate: float) -> NDArray[np.float64]:
        """P(j Poisson arrivals of `rate` during the longest of `count` services), j = 0, 1, ..."""
        ...


def positive_number(name: str, value: Any) -> float:
    """`value` as a float, if it is a finite number above 0.

    Raises:
        InputError: anything else.

    >>> positive_number("arrival_rate", 2)
    2.0
    """
    number = finite_number(name, value)
    if not number > 0:
        raise InputError(f"{name} is {shown(value)}: it must be a finite number > 0")
    return number


@dataclass(frozen=True, slots=True)
class Exponential:
    """Exponential service: the limit of geometric lengths as their mean grows.

    Parameters:
        mean: E[S] > 0, in units of time.

    Raises:
        InputError: a mean that is not above 0.

    >>> Exponential(2.0).moment(2), Exponential(1.0).longest_moment(2, 1)
    (8.0, 1.5)
    """

    mean: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", positive_number("mean", self.mean))

    def moment(self, order: int) -> float:
        """E[S^k] = k!·mean^k."""
        return float(np.prod(np.arange(1, order + 1)) * self.mean**order)

    def longest_moment(self, count: int, order: int) -> float:
        """First or second moment of the longest of `count`, a sum of exponentials of rates 1, .., count."""
        parts = self.mean / np.arange(1, count + 1)
        return float(parts.sum() if order == 1 else parts.sum() ** 2 + (parts**2).sum())

    def arrivals_during_longest(self, count: int, rate: float) -> NDArray[np.float64]:
        """Poisson arrivals over a sum of exponentials: a sum of geometric numbers, one for each."""
        total = np.ones(1)
        for i in range(1, count + 1):
            more = rate * self.mean / (i + rate * self.mean)
            # The slowest part alone has a tail of more^j: beyond `most` nothing is left of any.
            most = 1 if more == 0 else int(np.log(_LEAST_MASS) / np.log(more)) + 2
            total = np.convolve(total, (1 - more) * more ** np.arange(most))
        return total


@dataclass(frozen=True, slots=True, eq=False)
class Lengths:
    """A law of whole lengths, in steps of one unit of time each: exact on the token clock.

    Parameters:
        values: distinct lengths >= 1, increasing.
        probabilities: of each, >= 0, with sum 1.

    Raises:
        InputError: values that are not as above, or probabilities that are no law.

    >>> law = Lengths([1, 3], [0.5, 0.5])
    >>> law.mean, law.moment(2), law.longest_moment(2, 1)
    (2.0, 5.0, 2.5)
    """

    values: NDArray[np.float64]
    probabilities: NDArray[np.float64]

    def __init__(self, values: Sequence[int] | ArrayLike, probabilities: Sequence[float] | ArrayLike) -> None:
        at, mass = np.asarray(values, dtype=np.float64), np.asarray(probabilities, dtype=np.float64)
        if at.ndim != 1 or at.shape != mass.shape or len(at) == 0:
            raise InputError(f"values has shape {at.shape}, probabilities {mass.shape}: each value needs one")
        if not ((at >= 1) & (at == np.floor(at)) & np.isfinite(at)).all() or (np.diff(at) <= 0).any():
            raise InputError("values must be whole lengths >= 1, increasing")
        if not (mass >= 0).all() or not abs(mass.sum() - 1) < 1e-9:
            raise InputError(f"probabilities must be >= 0 with sum 1, theirs is {float(mass.sum()):g}")
        object.__setattr__(self, "values", at)
        object.__setattr__(self, "probabilities", mass / mass.sum())

    @classmethod
    def fixed(cls, tokens: int) -> Lengths:
        """Every request takes `tokens` steps.

        >>> Lengths.fixed(7).moment(2)
        49.0
        """
        return cls([whole_number("tokens", tokens, at_least=1)], [1.0])

    @classmethod
    def uniform(cls, low: int, high: int) -> Lengths:
        """Whole lengths from `low` to `high`, both included, equally likely.

        >>> Lengths.uniform(1, 5).mean
        3.0
        """
        low = whole_number("low", low, at_least=1)
        high = whole_number("high", high, at_least=low, at_most=low + _MOST_VALUES)
        return cls(np.arange(low, high + 1), np.full(high + 1 - low, 1 / (high + 1 - low)))

    @classmethod
    def geometric(cls, mean: float) -> Lengths:
        """P(k) = (1/mean)(1 − 1/mean)^(k − 1), k = 1, 2, ...: each step is the last with chance 1/mean.

        >>> round(Lengths.geometric(20).moment(2), 6)  # 2·mean² − mean
        780.0
        """
        mean = finite_number("mean", mean, at_least=1)
        if mean == 1:
            return cls.fixed(1)
        most = int(np.log(_LEAST_MASS) / np.log1p(-1 / mean)) + 1
        if most > _MOST_VALUES:
            raise InputError(f"mean is {mean:g}: beyond {_MOST_VALUES / 42:,.0f} use Exponential(mean)")
        mass = np.exp(np.arange(most) * np.log1p(-1 / mean)) / mean
        return cls(np.arange(1, most + 1), mass / mass.sum())

    @classmethod
    def of(cls, tokens: ArrayLike) -> Lengths:
        """The empirical law of a sample of lengths.

        >>> Lengths.of([3, 1, 3, 3]).probabilities.tolist()
        [0.25, 0.75]
        """
        values, counts = np.unique(np.asarray(tokens), return_counts=True)
        return cls(values, counts / max(counts.sum(), 1))

    @classmethod
    def rounded(cls, law: Any) -> Lengths:
        """A frozen continuous law of scipy.stats, rounded to whole lengths, at least 1.

        >>> import scipy.stats
        >>> law = Lengths.rounded(scipy.stats.gamma(1.0628, scale=118.556))  # the paper's LMSYS fit
        >>> round(law.mean, 3)
        126.004
        """
        most = int(min(np.ceil(law.isf(1e-15)), _MOST_VALUES))
        # Each mass from the nearer tail: a difference of values near 1 would have no digits left.
        edges = np.arange(1, most + 1) + 0.5
        below, above = law.cdf(edges), law.sf(edges)
        mass = np.where(below[1:] < 0.5, np.diff(below), -np.diff(above))
        masses = np.concatenate(([below[0]], mass))
        return cls(np.arange(1, most + 1), masses / masses.sum())

    @property
    def mean(self) -> float:
        """E[S], in steps."""
        return self.moment(1)

    def moment(self, order: int) -> float:
        """E[S^order]."""
        return float(self.probabilities @ self.values**order)

    def longest_moment(self, count: int, order: int) -> float:
        """E[max^order] of `count` independent lengths."""
        return float(self._longest(count) @ self.values**order)

    def arrivals_during_longest(self, count: int, rate: float) -> NDArray[np.float64]:
        """A mixture of Poisson laws over the longest of `count`."""
        longest = self._longest(count)
        kept = longest > _LEAST_MASS
        return poisson_masses(rate * self.values[kept], longest[kept])

    def _longest(self, count: int) -> NDArray[np.float64]:
        """The law of the longest of `count`, on `values`."""
        at_most = np.cumsum(self.probabilities)
        return np.diff(np.minimum(at_most, 1.0) ** count, prepend=0.0)
