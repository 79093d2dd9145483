"""The summary of a run: counts, money, fairness, latencies, and what the workers and the queue held."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairq.classes import per_million, revenue
from fairq.cost import Cost
from fairq.groups import WorkerGroup
from fairq.latencies import LATENCIES, METRICS, QUANTILES, latency_column, statistics_of
from fairq.length_classes import jain_index, length_classes, mean_by_class, slowdown
from fairq.occupancy import Occupancy, occupancy
from fairq.outcomes import OUTCOMES
from fairq.reshaping import billed_after
from fairq.totals import Totals, total
from fairq.trend import queue_grows
from fairq.workload import Workload

__all__ = ["LATENCIES", "QUANTILES", "summarise"]

Floats = NDArray[np.float64]

_FURTHER = {"wait": {"p999": 0.999}}  # quantiles of one metric only


def summarise(
    requests: Mapping[str, NDArray[Any]],
    totals: Totals,
    workload: Workload,
    *,
    groups: Sequence[WorkerGroup],
    cost: Cost,
    alpha: int | None,
    until: float | None,
    abandon_after: float | None,
    stopped_at: float,
) -> pd.Series:
    """The summary's names and values, in the order of docs/metrics.md.

    Parameters:
        requests: the table's columns, outcomes as codes (`fairq.outcomes`).
        totals: sums over the steps of all workers.
        workload: the requests.
        groups: the workers.
        cost, alpha: money, and the budget in whole tokens or None.
        until: when the run stopped, by the user's wish or, if `stopped_at` is a time, at that.
        abandon_after: the age at which requests give up, None if never.
        stopped_at: when a queue over its limit ended the run; NaN where none did.

    Whole numbers stay whole; a mean of nothing is NaN.
    """
    books = occupancy(requests, until=until, abandon_after=abandon_after)
    makespan, completed = books.end - books.first, requests["completed"]
    billed = billed_after(workload, requests["progress"])
    earned = billed * completed
    parts: dict[str, Any] = _counts(requests)
    parts["unstable"] = not np.isnan(stopped_at) or _grows(books, until)
    parts |= {"tokens": int(requests["progress"].sum()), "makespan": makespan}
    parts |= {"busy_steps": totals.steps, "throughput": _ratio(int(billed.sum()), makespan)}
    parts["revenue"] = revenue(workload, cost.price, earned)
    workers = sum(group.count for group in groups)
    parts |= _money(requests, totals, cost, workers * makespan)
    parts["profit"] = parts["revenue"] - parts["cost"] - np.nan_to_num(parts["cost_workers"])
    parts |= {"externality": totals.externality} | _fairness(totals, alpha)
    slots = sum(group.count * (group.batch_size or 0) for group in groups)
    used, busy = total(totals.slot_times), total(totals.busy_times)
    parts["utilisation"] = _ratio(used, slots * makespan)
    parts["busy_fraction"] = _ratio(busy, workers * makespan)
    parts |= _latencies(requests, workload)
    parts["mean_batch"] = _ratio(used, busy)
    parts["mean_extent_by_time"] = _ratio(total(totals.extent_times), busy)
    parts |= {"mean_queue": books.mean_queue, "mean_in_system": books.mean_in_system}
    parts |= {"kv_peak": totals.kv_peak, "kv_mean": _ratio(total(totals.kv_times), total(totals.kv_busy))}
    parts["oldest_age"] = float(np.fmax.reduce(books.ages(until), initial=np.nan))
    slowed = mean_by_class(slowdown(requests, groups), length_classes(workload.tokens))
    parts["jain_slowdown"] = jain_index(slowed)
    for outcome in ("rejected", "abandoned"):
        parts[f"{outcome}_share"] = _ratio(parts[outcome], parts["arrived"])
    parts |= per_million(parts, int(earned.sum()))
    parts["stopped_at"] = float(stopped_at)
    return pd.Series(parts, dtype=object, name="summary")


def _counts(requests: Mapping[str, NDArray[Any]]) -> dict[str, int]:
    """How many arrived, and what became of them."""
    counts = np.bincount(requests["outcome"], minlength=len(OUTCOMES)).tolist()
    names = ("completed", "running_end", "queued_end", "rejected", "abandoned")
    parts = dict(zip(names, counts, strict=False))  # who was not released is not counted
    return {"arrived": sum(parts.values()), **parts}


def _grows(books: Occupancy, until: float | None) -> bool:
    """Whether the queue grew throughout the arrival period (`fairq.trend.queue_grows`)."""
    horizon = min(float(books.arrival.max(initial=-np.inf)), np.inf if until is None else until)
    arrival, left = books.arrival, books.left_queue
    if (arrival[1:] < arrival[:-1]).any():
        order = np.argsort(arrival, kind="stable")
        arrival, left = arrival[order], left[order]
    arrived = int(np.searchsorted(arrival, horizon, side="right"))
    return arrived > 0 and queue_grows(arrival[:arrived], left[:arrived], horizon)


def _money(
    requests: Mapping[str, NDArray[Any]], totals: Totals, cost: Cost, worker_time: float
) -> dict[str, float]:
    """Theorem 5.1: cost = tau·Q + c·T + tau·E, with Q over the tokens processed."""
    progress = requests["progress"].astype(np.int64)
    intrinsic = cost.tau * ((int(progress @ progress) + int(progress.sum())) // 2)
    time = cost.c * totals.steps
    return {
        "cost": intrinsic + time + cost.tau * totals.externality,
        "cost_intrinsic": intrinsic,
        "cost_time": time,
        "cost_externality": cost.tau * totals.externality,
        "cost_workers": cost.worker * worker_time,
    }


def _fairness(totals: Totals, alpha: int | None) -> dict[str, Any]:
    return {
        "mean_extent": _ratio(totals.extent, totals.steps),
        "max_extent": totals.max_extent,
        "violations": np.nan if alpha is None else totals.violations,
    }


def _latencies(requests: Mapping[str, NDArray[Any]], workload: Workload) -> dict[str, Any]:
    """Means and quantiles of the latency metrics, and how many have no TPOT."""
    parts: dict[str, Any] = {}
    for metric in METRICS:
        column = latency_column(metric, requests, workload)
        parts |= statistics_of(metric, column, QUANTILES | _FURTHER.get(metric, {}))
        if metric == "tpot":
            parts["tpot_undefined"] = int((requests["completed"] & np.isnan(column)).sum())
    return parts | {"wait_p999": parts.pop("wait_p999")}


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else np.nan
