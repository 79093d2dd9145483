"""Means over independent replications, with Student t intervals.

A replication is one number: the observations inside it are not independent, the
replications are.  Policies of one study face the same workloads (common random numbers),
so two of them are compared by the differences within replications, which vary less.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from fairq.errors import InputError

__all__ = ["Interval", "intervals", "jackknife_ratio", "mean_interval", "paired_difference", "summarise"]


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its confidence interval, in the unit of the values.

    Attributes:
        mean: the estimate, NaN for no values.
        low, high: ends of the interval, NaN where fewer than two values were given.
        n: number of values behind it.
    """

    mean: float
    low: float
    high: float
    n: int

    @property
    def known(self) -> bool:
        """Whether there are interval ends, that is at least two values.

        >>> mean_interval([3.0]).known
        False
        """
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def half_width(self) -> float:
        """Half the interval's length; NaN without an interval.

        >>> Interval(5.0, 4.0, 6.0, 3).half_width
        1.0
        """
        return (self.high - self.low) / 2

    @property
    def sign(self) -> int:
        """1 or −1 where the whole interval lies on one side of 0, else 0.

        >>> Interval(-2.0, -3.0, -1.0, 5).sign, Interval(0.5, -1.0, 2.0, 5).sign
        (-1, 0)
        """
        return int(self.low > 0) - int(self.high < 0)


def mean_interval(values: Iterable[float], confidence: float = 0.95) -> Interval:
    """Mean of `values` and its Student t interval; NaN values are left out and not counted.

    Parameters:
        values: one number per replication.
        confidence: probability with which the interval covers the mean, 0 < confidence < 1.

    Raises:
        InputError: a confidence outside (0, 1).

    >>> interval = mean_interval([1.0, 2.0, 3.0])
    >>> interval.mean, round(interval.low, 3), round(interval.high, 3), interval.n
    (2.0, -0.484, 4.484, 3)
    """
    sample = np.asarray(list(values), dtype=float)
    sample = sample[~np.isnan(sample)]
    if not len(sample):
        _student(1, confidence)
        return Interval(math.nan, math.nan, math.nan, 0)
    mean = float(np.mean(sample))
    reach = _student(len(sample), confidence) * _standard_error(sample)
    return Interval(mean, mean - reach, mean + reach, len(sample))


def _student(n: int, confidence: float) -> float:
    """The t quantile for a two-sided interval from n values, NaN for n < 2."""
    if not 0 < confidence < 1:
        raise InputError(f"confidence is {confidence!r}: it must be a number between 0 and 1, exclusive")
    return float(stats.t.ppf((1 + confidence) / 2, n - 1)) if n > 1 else math.nan


def _standard_error(sample: np.ndarray) -> float:
    """Standard error of the mean, NaN for a single value."""
    return float(np.std(sample, ddof=1) / math.sqrt(len(sample))) if len(sample) > 1 else math.nan


def paired_difference(
    runs: pd.DataFrame, metric: str, cell: int, other: int, confidence: float = 0.95
) -> Interval:
    """Mean of `metric` in `cell` less that in `other`, over the replications that have both.

    Parameters:
        runs: a row per cell and replication, as `runs.csv`.

    >>> runs = pd.DataFrame({"cell": [0, 0, 1, 1], "replication": [0, 1, 0, 1], "cost": [5.0, 9, 4, 8]})
    >>> paired_difference(runs, "cost", 0, 1)
    Interval(mean=1.0, low=1.0, high=1.0, n=2)
    """
    first, second = (runs[runs["cell"] == which].set_index("replication")[metric] for which in (cell, other))
    return mean_interval(first - second, confidence)


def jackknife_ratio(top: Sequence[float], bottom: Sequence[float], confidence: float = 0.95) -> Interval:
    """Mean of `top` divided by mean of `bottom`, over replications that have both.

    The interval is Student's over jackknife pseudo-values (Quenouille, Tukey), which is
    sound while the mean of `bottom` lies well away from 0; the ends are NaN where its own
    interval reaches 0, or where there are fewer than two replications.

    >>> jackknife_ratio([4.0, 8.0, 6.0], [2.0, 4.0, 3.0])
    Interval(mean=2.0, low=2.0, high=2.0, n=3)
    """
    upper, lower = np.asarray(top, dtype=float), np.asarray(bottom, dtype=float)
    ratio, n = float(upper.mean() / lower.mean()), len(upper)
    if n < 2 or not mean_interval(lower, confidence).sign:
        return Interval(ratio, math.nan, math.nan, n)
    left_out = (upper.sum() - upper) / (lower.sum() - lower)
    spread = mean_interval(n * ratio - (n - 1) * left_out, confidence)
    return Interval(ratio, ratio - spread.half_width, ratio + spread.half_width, n)


def summarise(
    runs: pd.DataFrame, keys: Sequence[str], metrics: Sequence[str], confidence: float = 0.95
) -> pd.DataFrame:
    """A tidy table: for every cell and metric the mean over replications and its interval.

    Parameters:
        runs: a row per cell and replication, as `runs.csv`.
        keys: columns that identify a cell, ``"cell"`` first; repeated in every row.
        metrics: columns to average, in the order wanted.

    Returns:
        columns `keys`, then metric, n, mean, ci_low, ci_high.

    >>> runs = pd.DataFrame({"cell": [0, 0], "policy": ["ljf", "ljf"], "cost": [1.0, 1.0]})
    >>> print(summarise(runs, ["cell", "policy"], ["cost"]).to_string(index=False))
     cell policy metric  n  mean  ci_low  ci_high
        0    ljf   cost  2   1.0     1.0      1.0
    """
    rows = []
    for _, group in runs.groupby("cell", sort=False):
        identity = {key: group[key].iloc[0] for key in keys}
        for metric in metrics:
            interval = mean_interval(group[metric], confidence)
            estimate = {
                "n": interval.n,
                "mean": interval.mean,
                "ci_low": interval.low,
                "ci_high": interval.high,
            }
            rows.append({**identity, "metric": metric, **estimate})
    return pd.DataFrame(rows, columns=[*keys, "metric", "n", "mean", "ci_low", "ci_high"])


def intervals(summary: pd.DataFrame) -> dict[tuple[int, str], Interval]:
    """The estimates that a tidy summary holds, by cell and metric.

    >>> runs = pd.DataFrame({"cell": [0, 0], "cost": [1.0, 2.0]})
    >>> intervals(summarise(runs, ["cell"], ["cost"]))[0, "cost"].mean
    1.5
    """
    names = ("cell", "metric", "mean", "ci_low", "ci_high", "n")
    columns = (summary[name].tolist() for name in names)
    return {(cell, metric): Interval(*numbers) for cell, metric, *numbers in zip(*columns, strict=True)}
