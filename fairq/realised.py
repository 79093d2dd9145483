"""Arrivals as they were drawn, in the three numbers in which a law of arrivals is asked for."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from fairq.workload import Workload

__all__ = ["Realised", "realised"]

_FEWEST_WINDOWS = 10


@dataclass(frozen=True)
class Realised:
    """What a workload's arrivals turned out to be.

    Attributes:
        requests: how many.
        rate: arrivals per unit of time, (n − 1)/(last − first); NaN where all come at one time.
        cv: standard deviation over mean of the gaps (divisor n − 2); NaN with fewer than two gaps.
        dispersion: variance over mean of the counts in successive windows; NaN with fewer than ten.
        window: their width: about sqrt(n) windows fill the span, of whole periods where there is one.
    """

    requests: int
    rate: float
    cv: float
    dispersion: float
    window: float

    def to_dict(self) -> dict[str, float | None]:
        """The same, ready for JSON: None where a figure is not defined."""
        return {name: None if math.isnan(value) else value for name, value in asdict(self).items()}


def realised(workload: Workload, period: float = 0.0) -> Realised:
    """The realised rate, interval CV and index of dispersion for counts.

    Parameters:
        period: of the law of arrivals, 0 if it has none.  Counts vary with the time of day; over whole
            periods only the law's own dispersion is left.

    >>> import fairq
    >>> found = realised(fairq.Workload.from_arrays([1] * 5, arrival=[0, 1, 2, 3, 4]))
    >>> found.rate, found.cv
    (1.0, 0.0)
    """
    arrival = np.sort(workload.arrival)
    count, span = len(arrival), float(np.ptp(arrival)) if len(arrival) else 0.0
    if span <= 0:
        return Realised(count, math.nan, math.nan, math.nan, math.nan)
    gaps = np.diff(arrival)
    cv = float(gaps.std(ddof=1) / gaps.mean()) if len(gaps) > 1 else math.nan
    dispersion, window = _dispersion(arrival - arrival[0], span, period)
    return Realised(count, (count - 1) / span, cv, dispersion, window)


def _dispersion(since: np.ndarray, span: float, period: float) -> tuple[float, float]:
    window = span / max(math.isqrt(len(since)), _FEWEST_WINDOWS)
    if period > 0:
        window = period * math.ceil(window / period)
    windows = int(span / window + 1e-9)
    if windows < _FEWEST_WINDOWS:
        return math.nan, window
    counts = np.diff(np.searchsorted(since, window * np.arange(windows + 1)))
    return float(counts.var(ddof=1) / counts.mean()), window
