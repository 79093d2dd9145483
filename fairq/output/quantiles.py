"""Intervals of a quantile, by inversion of the distribution function, and of its value at a limit."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairq.output.estimate import Estimate
from fairq.output.means import effective_size, t_reach
from fairq.output.samples import checked_groups
from fairq.trend import t_quantile
from fairq.validation import finite_number, proper_fraction

__all__ = ["attainment", "quantile"]

_IN_TAIL = 10  # values that each group must hold beyond the quantile
_ROUNDING = 1e-12


def quantile(groups: Sequence[ArrayLike], level: float, confidence: float = 0.95) -> Estimate:
    """The quantile `level` over few long replications or batches, and its interval by CDF inversion.

    With F_i the share of group i at or below x, and F their mean, a value x is in the interval if
    |F(x) − level| <= t·s(x), s(x) being the standard error of F(x) over the groups, or that at the
    estimate where it is larger (far in the tail few groups have any value, so they agree by chance).
    The estimate is the least value with F >= level.

    Refused where a group holds fewer than 10 values beyond the quantile, and where level ± t·s leaves
    (0, 1), that is where an end would be infinite; `needed` is then the length at which it would take half
    of the tail, the error falling as one over the root of the length.

    Parameters:
        groups: a series of values for each replication or batch (`batches`), warm-up left out.
        level: of the quantile, 0 < level < 1.

    Raises:
        InputError: fewer than two groups, a value that is not finite, a level or confidence outside (0, 1).

    Source: inversion of a test, at each x, of P(X <= x) = level by Student's t over the groups; taking the
    larger of two errors is ours.  benchmarks/coverage.py measures how often the interval covers.

    >>> import numpy as np
    >>> estimate = quantile(np.random.default_rng(1).random((10, 1000)), 0.9)
    >>> estimate.covers(0.9), estimate.half_width < 0.02
    (True, True)
    """
    level, confidence = proper_fraction("level", level), proper_fraction("confidence", confidence)
    found = checked_groups(groups)
    values = np.unique(np.concatenate(found))
    share, error = _distribution(found, values)
    at = int(np.argmax(share >= level - _ROUNDING))
    size, tail = sum(map(len, found)), min(level, 1 - level)
    reach = t_quantile((1 + confidence) / 2, len(found) - 1) * np.maximum(error, error[at])
    refused, needed = _too_little(found, tail, float(reach[at]))
    low, high = (math.nan, math.nan) if refused else _ends(values, share, reach, level)
    return Estimate(
        mean=float(values[at]), low=low, high=high, confidence=confidence, size=size,
        effective_size=effective_size([group <= values[at] for group in found]),
        refused=refused, needed=needed,
    )  # fmt: skip


def attainment(groups: Sequence[ArrayLike], limit: float, confidence: float = 0.95) -> Estimate:
    """The share of values at or below `limit`, and its Student t interval over the groups, cut to 0 .. 1.

    Refused where no value, or every value, is beyond the limit: an interval of no width would say more
    than is known.

    Raises:
        InputError: fewer than two groups, a value or limit that is not finite, another confidence.

    >>> attainment([[1, 2, 3, 9], [1, 2, 8, 9], [1, 2, 3, 9]], 5).mean
    0.6666666666666666
    """
    limit, confidence = finite_number("limit", limit), proper_fraction("confidence", confidence)
    within = [group <= limit for group in checked_groups(groups)]
    shares = np.array([group.mean() for group in within])
    mean, reach, size = float(shares.mean()), t_reach(shares, confidence), sum(map(len, within))
    refused = None
    if not 0 < mean < 1:
        refused = f"{'no' if mean else 'every'} value of {size} is beyond the limit {limit:g}"
    return Estimate(
        mean=mean,
        low=math.nan if refused else max(0.0, mean - reach),
        high=math.nan if refused else min(1.0, mean + reach),
        confidence=confidence,
        size=size,
        effective_size=effective_size(within),
        refused=refused,
        needed=2 * size if refused else None,
    )


def _distribution(
    groups: list[NDArray[np.float64]], values: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """At each of `values`: the mean over groups of the share at or below it, and its standard error."""
    total, squares = np.zeros(len(values)), np.zeros(len(values))
    for k, group in enumerate(groups):  # Welford's update: no table of groups by values
        share = np.searchsorted(np.sort(group), values, side="right") / len(group)
        step = share - total
        total += step / (k + 1)
        squares += step * (share - total)
    return total, np.sqrt(squares / (len(groups) - 1) / len(groups))


def _too_little(
    groups: list[NDArray[np.float64]], tail: float, reach: float
) -> tuple[str | None, int | None]:
    """The reason to refuse an interval and the number of values that would do; None, None for neither."""
    least, size = min(map(len, groups)), sum(map(len, groups))
    if least * tail < _IN_TAIL - _ROUNDING:
        reason = f"the tail holds {least * tail:.3g} values of a replication or batch; {_IN_TAIL} are needed"
        return reason, len(groups) * math.ceil(_IN_TAIL / tail - _ROUNDING)
    if reach >= tail:
        reason = (
            f"an end would be infinite: the error of the share, {reach:.2g}, exceeds the tail, {tail:.2g}"
        )
        return reason, math.ceil(size * (2 * reach / tail) ** 2)
    return None, None


def _ends(
    values: NDArray[np.float64], share: NDArray[np.float64], reach: NDArray[np.float64], level: float
) -> tuple[float, float]:
    """The least and the greatest value that are not excluded; the upper end is where exclusion begins."""
    low = int(np.argmax(share + reach >= level - _ROUNDING))
    below = np.flatnonzero(share - reach < level - _ROUNDING)
    high = int(below[-1]) + 1 if len(below) else 0
    return float(values[low]), float(values[min(high, len(values) - 1)])
