"""Request lengths from any distribution of scipy.stats, by its own name and parameters.

A length is one uniform turned by the inverse distribution function, so two laws drawn
from the same stream share random numbers: a longer-tailed law gives the same request a
longer length.  scipy.stats takes a while to load and is loaded when first needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from fairq.columns import MAX_TOKENS
from fairq.distributions import Distribution
from fairq.errors import InputError
from fairq.validation import finite_number

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LengthLaw"]


@dataclass(frozen=True)
class LengthLaw:
    """A law of request lengths: a scipy.stats distribution, if wanted conditioned on [lo, hi].

    Values are rounded to the nearest whole token, at least 1.

    Parameters:
        dist: the distribution's name in scipy.stats, such as ``"randint"``, ``"gamma"``, ``"lognorm"``.
        parameters: its shape parameters by their scipy names, and `loc` and `scale` where it has them.
        truncate: ``(lo, hi)`` in tokens: the law given that its value lies in [lo, hi], both
            included.  The mass outside is spread over the inside in proportion, not moved to the ends.

    Raises:
        InputError: an unknown distribution or parameter (the nearest is named), a missing or
            forbidden parameter value, `truncate` not two numbers lo <= hi, or no mass between them.

    >>> uniforms = np.array([0.0005, 0.25, 0.9999])
    >>> LengthLaw("randint", {"low": 1, "high": 1001}).tokens(uniforms).tolist()
    [1, 250, 1000]
    >>> LengthLaw("randint", {"low": 1, "high": 1001}, truncate=(11, 20)).tokens(uniforms).tolist()
    [11, 13, 20]
    """

    dist: str
    parameters: Mapping[str, float] = field(default_factory=dict)
    truncate: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", Distribution(self.dist, self.parameters).parameters)
        if self.truncate is not None:
            object.__setattr__(self, "truncate", _checked_bounds(self.truncate))
            if not self._mass() > 0:
                raise InputError(f"truncate is {list(self.truncate)!r}: {self} has no mass there")

    def __str__(self) -> str:
        return str(self._distribution)

    @cached_property
    def _distribution(self) -> Distribution:
        return Distribution(self.dist, self.parameters)

    def tokens(self, uniforms: NDArray[np.float64]) -> NDArray[np.int64]:
        """Whole lengths, one for each uniform (strictly inside (0, 1)), in their order.

        Raises:
            InputError: a drawn value is not finite, not positive, or beyond 100,000,000 tokens.
        """
        with np.errstate(all="ignore"):  # what overflows is refused below, with its value
            values = np.asarray(self._quantiles(uniforms), dtype=np.float64)
        bad = ~((values > 0) & (values <= MAX_TOKENS))
        if bad.any():
            raise InputError(
                f"the law {self} drew {float(values[bad.argmax()])!r}: a length must be > 0 and at most "
                f"{MAX_TOKENS:,} tokens (truncate = [lo, hi] conditions a law on a range)"
            )
        return np.maximum(np.rint(values), 1).astype(np.int64)

    def _quantiles(self, uniforms: NDArray[np.float64]) -> NDArray[np.float64]:
        law = self._distribution.frozen
        if self.truncate is None:
            return np.asarray(law.ppf(uniforms))
        low, high = self.truncate
        below, above = self._ends(law.cdf), self._ends(law.sf)
        # From the nearer tail: 1 - tail would lose the digits that tell far-out values apart.
        if below[0] <= 0.5:
            values = law.ppf(below[0] + uniforms * (below[1] - below[0]))
        else:
            values = _inverse_tail(law.sf, above[0] - uniforms * (above[0] - above[1]), low, high)
        # Against the last bit of ppf alone: the law is conditioned already.
        return np.asarray(np.clip(values, low, high), dtype=np.float64)

    def _ends(self, function: Any) -> tuple[float, float]:
        """`function` (cdf or sf) at lo, for a discrete law just below it to include it, and at hi."""
        if self.truncate is None:
            raise TypeError("a law without truncate has no ends")
        low, high = self.truncate
        start = np.nextafter(low, -np.inf) if self._distribution.is_discrete else low
        return float(function(start)), float(function(high))

    def _mass(self) -> float:
        law = self._distribution.frozen
        below, above = self._ends(law.cdf), self._ends(law.sf)
        return below[1] - below[0] if below[0] <= 0.5 else above[0] - above[1]


def _inverse_tail(tail: Any, targets: NDArray[np.float64], low: float, high: float) -> NDArray[np.float64]:
    """The least value in [low, high] whose `tail` is at most the target, by halving.

    scipy's own inverse of the tail is for many laws the inverse of 1 - target, without its digits.
    """
    lower, upper = np.full(targets.shape, low), np.full(targets.shape, high)
    for _ in range(60):  # a range of 100,000,000 tokens is then cut to 1e-10
        middle = (lower + upper) / 2
        reached = tail(middle) <= targets
        lower, upper = np.where(reached, lower, middle), np.where(reached, middle, upper)
    return np.asarray(upper)


def _checked_bounds(bounds: Any) -> tuple[float, float]:
    """`bounds` as two finite numbers lo <= hi, hi at least one token."""
    if not isinstance(bounds, (list, tuple)) or len(bounds) != 2:
        raise InputError(f"truncate is {bounds!r}: it must be [lo, hi], two numbers of tokens")
    low, high = (finite_number(f"truncate.{i}", bound) for i, bound in enumerate(bounds))
    if low > high or high < 1:
        raise InputError(f"truncate is {list(bounds)!r}: it must be [lo, hi] with lo <= hi and hi >= 1")
    return low, high
