"""The interval CV of a Poisson process whose rate repeats: from the mean time to the next arrival."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from fairq.arrivals.process import Times

__all__ = ["periodic_interval_cv"]


def periodic_interval_cv(lengths: Times, rates: Times) -> float:
    """The long-run CV of the gaps, where the rate is ``rates[k]`` for ``lengths[k]`` and then begins anew.

    With h(t) the mean time from t to the next arrival, h' = rate·h − 1, and the mean of h over a period
    is E[gap²]/(2·E[gap]) (the inspection paradox: a gap is met in proportion to its length).

    Parameters:
        lengths: > 0, of every piece.
        rates: >= 0, not all 0.

    >>> round(periodic_interval_cv(np.array([3.0]), np.array([5.0])), 12)
    1.0
    """
    # Backwards through a piece: h(begin) = none·h(end) + some, its integral = some·h(end) + rest.
    none = np.exp(-rates * lengths)
    safe = np.where(rates > 0, rates, 1.0)
    some = np.where(rates > 0, -np.expm1(-rates * lengths) / safe, lengths)
    rest = np.where(rates > 0, (lengths - some) / safe, lengths * lengths / 2)
    factor, shift = 1.0, 0.0
    for kept, added in zip(none[::-1].tolist(), some[::-1].tolist(), strict=True):
        factor, shift = kept * factor, kept * shift + added
    ahead = shift / (1 - factor)  # h at the end of the period, which is h at its beginning
    total = 0.0
    for kept, added, more in zip(none[::-1].tolist(), some[::-1].tolist(), rest[::-1].tolist(), strict=True):
        total += added * ahead + more
        ahead = kept * ahead + added
    period = float(lengths.sum())
    rate = float(rates @ lengths) / period
    return math.sqrt(max(2 * rate * total / period - 1, 0.0))
