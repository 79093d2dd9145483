"""What every statistic of this package returns: an estimate with its interval, or the reason for none."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Estimate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """An estimate with a confidence interval, in the unit of the values.

    Attributes:
        mean: the estimate (of a quantile: the quantile).
        low, high: ends of the interval, NaN where it is refused.
        confidence: probability with which the interval should cover the truth.
        size: number of values behind it.
        effective_size: how many independent values would tell as much; NaN where that is unknown.
        refused: why there is no interval; None where there is one.
        needed: number of values in all that would do, as far as these tell; None where they do not.

    >>> Estimate(mean=2.0, low=1.0, high=3.0, confidence=0.95, size=10, effective_size=4.0).half_width
    1.0
    """

    mean: float
    low: float = math.nan
    high: float = math.nan
    confidence: float
    size: int
    effective_size: float = math.nan
    refused: str | None = None
    needed: int | None = None

    @property
    def half_width(self) -> float:
        """Half the interval's length; NaN where it is refused."""
        return (self.high - self.low) / 2

    def covers(self, value: float) -> bool:
        """Whether the interval holds `value`; a refused one holds nothing."""
        return self.low <= value <= self.high
