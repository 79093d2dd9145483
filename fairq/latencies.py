"""The latency metrics of a run's requests, and their means and quantiles, in all or by group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import ceil
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairq.terms import SLA_METRICS
from fairq.workload import Workload

__all__ = [
    "LATENCIES",
    "METRICS",
    "QUANTILES",
    "group_positions",
    "known",
    "latency_column",
    "latency_columns",
    "quantile",
    "quantiles",
    "statistics_by_group",
    "statistics_of",
]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

LATENCIES = ("latency", "wait", "ttft", "tpot")
"""The metrics that are columns of the requests table."""

METRICS = SLA_METRICS
"""All latency metrics; an SLA may limit any of them."""

_FEW = 50

QUANTILES = {"p50": 0.50, "p90": 0.90, "p95": 0.95, "p99": 0.99}
"""Suffixes of the quantiles that a summary holds of each metric."""


def latency_columns(requests: Mapping[Any, Any] | pd.DataFrame, workload: Workload) -> dict[str, Floats]:
    """The metrics of `METRICS` by name, an entry per request, NaN where a request has none.

    The normalised latency is the latency per output token (finish − arrival)/output, in the clock's
    unit per token.

    Source: Yu et al., Orca, OSDI 2022, and Kwon et al., PagedAttention, SOSP 2023, who plot it.

    >>> import fairq
    >>> workload = fairq.Workload.from_arrays(tokens=[4, 2], prompt_tokens=[2, 0])
    >>> run = fairq.simulate(workload, "fcfs", batch_size=1)
    >>> latency_columns(run.requests, workload)["normalised_latency"].tolist()
    [2.0, 3.0]
    """
    return {name: latency_column(name, requests, workload) for name in METRICS}


def latency_column(name: str, requests: Mapping[Any, Any] | pd.DataFrame, workload: Workload) -> Floats:
    """One of `latency_columns`."""
    if name != "normalised_latency":
        return np.asarray(requests[name])
    normalised: Floats = np.asarray(requests["latency"]) / workload.output_tokens
    return normalised


def quantile(values: Floats, level: float) -> float:
    """The ceil(np)-th smallest of the n `values` that are not NaN, p = `level`; NaN of none.

    >>> quantile(np.array([5.0, np.nan, 1.0, 3.0]), 0.5)
    3.0
    """
    return quantiles(known(values), [level])[0]


def quantiles(values: Floats, levels: Sequence[float]) -> list[float]:
    """The ceil(np)-th smallest of the n `values`, none of them NaN, for each p of `levels`; NaN of none.

    >>> quantiles(np.array([5.0, 1.0, 3.0]), [0.5, 0.9])
    [3.0, 5.0]
    """
    count = len(values)
    if count == 0:
        return [np.nan] * len(levels)
    ranks = [max(ceil(count * level - 1), 0) for level in levels]
    left, low = values.copy(), 0
    if _mostly_ties(values):
        left.partition(ranks)
    else:  # one rank at a time, in what is above the last one, is quicker, but for values that are equal
        for rank in sorted(set(ranks)):
            left[low:].partition(rank - low)
            low = rank + 1
    cuts: list[float] = left[ranks].tolist()
    return cuts


def _mostly_ties(values: Floats) -> bool:
    """Whether of a few dozen of `values` more than half are equal to others."""
    few = values[:: len(values) // _FEW + 1]
    return 2 * len(np.unique(few)) < len(few)


def known(values: Floats) -> Floats:
    """Those of `values` that are not NaN; the array itself where all are."""
    missing = np.isnan(values)
    return values[~missing] if missing.any() else values


def statistics_of(metric: str, column: Floats, levels: Mapping[str, float] = QUANTILES) -> dict[str, float]:
    """``<metric>_mean`` and the quantiles ``<metric>_p50`` ... of the entries that are not NaN.

    A quantile p of n values is the ceil(np)-th smallest: a value that occurred.  Of no values, NaN.

    Parameters:
        metric, column: its name, and its values by request.
        levels: the quantiles, by the suffix of their names.

    >>> statistics_of("wait", np.array([1.0, np.nan, 3.0]))["wait_mean"]
    2.0
    """
    values = known(column)
    names = [f"{metric}_{name}" for name in levels]
    mean = float(values.mean()) if len(values) else np.nan
    cuts = quantiles(values, list(levels.values()))
    return {f"{metric}_mean": mean} | dict(zip(names, cuts, strict=True))


def group_positions(group: Ints, count: int) -> list[Ints]:
    """For each of the groups 0 .. `count` − 1 the positions at which `group` names it, in order.

    >>> [at.tolist() for at in group_positions(np.array([1, -1, 0, 1]), 2)]
    [[2], [0, 3]]
    """
    order = np.argsort(group, kind="stable")
    bounds = np.searchsorted(group[order], np.arange(count + 1))
    return [order[low:high] for low, high in pairwise(bounds)]


def statistics_by_group(columns: Mapping[str, Floats], positions: list[Ints]) -> pd.DataFrame:
    """A row per group: mean and quantiles of each of `columns` over the group's positions.

    >>> waits = {"wait": np.array([1.0, 5.0, 3.0])}
    >>> statistics_by_group(waits, [np.array([0, 2]), np.array([1])])["wait_mean"].tolist()
    [2.0, 5.0]
    """
    parts = {name: [statistics_of(name, column[at]) for at in positions] for name, column in columns.items()}
    return pd.concat([pd.DataFrame(rows) for rows in parts.values()], axis=1)
