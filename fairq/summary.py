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
from fairq.kv import kv_held
from fairq.latencies import LATENCIES, QUANTILES, latency_columns, quantile, statistics_of
from fairq.length_classes import jain_index, length_classes, mean_by_class, slowdown
from fairq.occupancy import Occupancy, occupancy
from fairq.outcomes import OUTCOMES
from fairq.reshaping import billed_after
from fairq.schedule import Schedule
from fairq.stretches import Stretches
from fairq.trend import queue_grows
from fairq.workload import Workload

__all__ = ["LATENCIES", "QUANTILES", "summarise"]

Floats = NDArray[np.float64]


def summarise(
    requests: Mapping[str, NDArray[Any]],
    segments: Mapping[str, NDArray[Any]],
    stretches: Stretches,
    schedule: Schedule,
    workload: Workload,
    *,
    groups: Sequence[WorkerGroup],
    cost: Cost,
    alpha: int | None,
    until: float | None,
    abandon_after: float | None,
) -> pd.Series:
    """The summary's names and values, in the order of docs/metrics.md.

    Parameters:
        requests, segments: the tables' columns, outcomes as codes (`fairq.outcomes`).
        stretches, schedule, workload: what they were derived from.
        groups: the workers.
        cost, alpha: money, and the budget in whole tokens or None.
        until: when the run stopped, by the user's wish or, if `schedule.stopped_at` is a time, at that.
        abandon_after: the age at which requests give up, None if never.

    Whole numbers stay whole; a mean of nothing is NaN.
    """
    books = occupancy(requests, until=until, abandon_after=abandon_after)
    makespan, completed = books.end - books.first, requests["completed"]
    billed = billed_after(workload, requests["progress"])
    earned = np.where(completed, billed, 0)
    parts: dict[str, Any] = _counts(requests)
    parts["unstable"] = not np.isnan(schedule.stopped_at) or _grows(books, until)
    parts |= {"tokens": int(requests["progress"].sum()), "makespan": makespan}
    parts |= {"busy_steps": int(stretches.steps.sum()), "throughput": _ratio(int(billed.sum()), makespan)}
    parts["revenue"] = revenue(workload, cost.price, earned)
    externality = int((stretches.externality * stretches.steps).sum())
    workers = sum(group.count for group in groups)
    parts |= _money(requests, parts["busy_steps"], externality, cost, workers * makespan)
    parts["profit"] = parts["revenue"] - parts["cost"] - np.nan_to_num(parts["cost_workers"])
    parts |= {"externality": externality} | _fairness(stretches, alpha)
    slots = sum(group.count * (group.batch_size or 0) for group in groups)
    used, busy, spread = _step_time(segments, stretches)
    parts["utilisation"] = _ratio(used, slots * makespan)
    parts["busy_fraction"] = _ratio(busy, workers * makespan)
    parts |= _latencies(requests, workload)
    parts |= {"mean_batch": _ratio(used, busy), "mean_extent_by_time": _ratio(spread, busy)}
    parts |= {"mean_queue": books.mean_queue, "mean_in_system": books.mean_in_system}
    held = kv_held(stretches, schedule, workload)
    parts |= {"kv_peak": int(held.peak.max(initial=0)), "kv_mean": held.pooled_mean}
    parts["oldest_age"] = _largest(books.ages(until))
    slowed = mean_by_class(slowdown(requests, groups), length_classes(workload.tokens))
    parts["jain_slowdown"] = jain_index(slowed)
    for outcome in ("rejected", "abandoned"):
        parts[f"{outcome}_share"] = _ratio(parts[outcome], parts["arrived"])
    parts |= per_million(parts, int(earned.sum()))
    parts["stopped_at"] = float(schedule.stopped_at)
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
    order = np.argsort(books.arrival, kind="stable")
    order = order[books.arrival[order] <= horizon]
    return len(order) > 0 and queue_grows(books.arrival[order], books.left_queue[order], horizon)


def _money(
    requests: Mapping[str, NDArray[Any]], busy_steps: int, externality: int, cost: Cost, worker_time: float
) -> dict[str, float]:
    """Theorem 5.1: cost = tau·Q + c·T + tau·E, with Q over the tokens processed."""
    progress = requests["progress"]
    intrinsic = cost.tau * int((progress * (progress + 1) // 2).sum())
    time = cost.c * busy_steps
    return {
        "cost": intrinsic + time + cost.tau * externality,
        "cost_intrinsic": intrinsic,
        "cost_time": time,
        "cost_externality": cost.tau * externality,
        "cost_workers": cost.worker * worker_time,
    }


def _fairness(stretches: Stretches, alpha: int | None) -> dict[str, Any]:
    steps, extent = stretches.steps, stretches.extent
    return {
        "mean_extent": _ratio(int((extent * steps).sum()), int(steps.sum())),
        "max_extent": int(extent.max()) if len(extent) else 0,
        "violations": np.nan if alpha is None else int(steps[extent > alpha].sum()),
    }


def _step_time(segments: Mapping[str, NDArray[Any]], stretches: Stretches) -> tuple[float, float, float]:
    """Slot time used, step time, and the integral of the extent over it, of all workers."""
    duration = segments["end"] - segments["start"]
    weights = (stretches.batch, 1, stretches.extent)
    used, busy, spread = (float((duration * weight).sum()) for weight in weights)
    return used, busy, spread


def _latencies(requests: Mapping[str, NDArray[Any]], workload: Workload) -> dict[str, Any]:
    """Means and quantiles of the latency metrics, and how many have no TPOT."""
    columns = latency_columns(requests, workload)
    parts: dict[str, Any] = {}
    for metric in LATENCIES:
        parts |= statistics_of(metric, columns[metric])
    undefined = requests["completed"] & np.isnan(columns["tpot"])
    parts["tpot_undefined"] = int(undefined.sum())
    parts |= statistics_of("normalised_latency", columns["normalised_latency"])
    return parts | {"wait_p999": quantile(columns["wait"], 0.999)}


def _largest(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.max()) if len(known) else np.nan


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else np.nan
