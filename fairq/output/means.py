"""Intervals of a mean: from independent replications, or from few long batches of one run."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairq.output.estimate import Estimate
from fairq.output.samples import batches, checked_groups, series
from fairq.trend import t_quantile
from fairq.validation import proper_fraction

__all__ = ["effective_size", "mean_of_batches", "mean_of_replications"]

_LAG_BOUND = 2.3263478740408408  # standard normal quantile 0.99: one good run in 100 is refused


def mean_of_replications(groups: Sequence[ArrayLike], confidence: float = 0.95) -> Estimate:
    """The mean over independent replications and its Student t interval.

    Parameters:
        groups: a series of values for each replication, warm-up left out; every replication counts the same.
        confidence: probability of covering, 0 < confidence < 1.

    Raises:
        InputError: fewer than two replications, a value that is not finite, another confidence.

    >>> estimate = mean_of_replications([[0, 2], [1, 3], [2, 4]])
    >>> estimate.mean, round(estimate.low, 3), round(estimate.high, 3)
    (2.0, -0.484, 4.484)
    """
    confidence, found = proper_fraction("confidence", confidence), checked_groups(groups)
    means = np.array([group.mean() for group in found])
    mean, reach = float(means.mean()), t_reach(means, confidence)
    return Estimate(
        mean=mean,
        low=mean - reach,
        high=mean + reach,
        confidence=confidence,
        size=sum(map(len, found)),
        effective_size=effective_size(found),
    )


def mean_of_batches(values: ArrayLike, count: int = 10, confidence: float = 0.95) -> Estimate:
    """The mean of one run and its interval from `count` batch means, refused where they are correlated.

    The lag-1 check is von Neumann's: C = 1 − sum (Z_(i+1) − Z_i)² / (2 sum (Z_i − Z)²) has mean 0 and
    variance (count − 2)/(count² − 1) for independent normal batch means; a C beyond its quantile 0.99 says
    that the batches are too short.

    Parameters:
        values: of one run, in the order of time, warm-up left out.
        count: number of batches; 10 to 32 is usual.

    Raises:
        InputError: as `batches`, or a confidence outside (0, 1).

    Source: Law, Simulation Modeling and Analysis, 5th ed., section 9.5.3; Fishman, Grouping observations
    in digital simulation, Management Science 24 (1978).

    >>> mean_of_batches([0, 2, 1, 3, 0, 2, 1, 3], count=4).mean
    1.5
    """
    found = batches(values, count)
    estimate = mean_of_replications(found, confidence)
    lag = _von_neumann(np.array([batch.mean() for batch in found]))
    bound = _LAG_BOUND * math.sqrt((count - 2) / (count**2 - 1))
    if count < 3 or lag <= bound:
        return estimate
    return Estimate(
        mean=estimate.mean,
        confidence=estimate.confidence,
        size=estimate.size,
        effective_size=estimate.effective_size,
        refused=f"neighbouring batch means are correlated ({lag:.2f} > {bound:.2f}): batches are too short",
        needed=2 * len(series("values", values)),
    )


def effective_size(groups: Sequence[ArrayLike]) -> float:
    """How many independent values would give the mean the same standard error.

    The variance of all values over the variance of the mean, which is that of the groups' means over their
    number.  The number of values itself where the means do not differ at all.

    Raises:
        InputError: fewer than two groups, or a value that is not finite.

    >>> effective_size([[0.0, 0.0], [1.0, 1.0]])  # two values said twice; variance 1/3 over 1/4
    1.3333333333333333
    """
    found = checked_groups(groups)
    means = np.array([group.mean() for group in found])
    of_mean = float(means.var(ddof=1)) / len(means)
    pooled = np.concatenate(found)
    return float(pooled.var(ddof=1)) / of_mean if of_mean else float(len(pooled))


def t_reach(values: NDArray[np.float64], confidence: float) -> float:
    """How far Student's interval of the mean of independent `values` reaches to either side.

    >>> round(t_reach(np.array([1.0, 2.0, 3.0]), 0.95), 3)
    2.484
    """
    error = float(values.std(ddof=1)) / math.sqrt(len(values))
    return t_quantile((1 + confidence) / 2, len(values) - 1) * error


def _von_neumann(means: NDArray[np.float64]) -> float:
    spread = float(np.sum((means - means.mean()) ** 2))
    return 1 - float(np.sum(np.diff(means) ** 2)) / (2 * spread) if spread else 0.0
