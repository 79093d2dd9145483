"""The summary of a run: counts, money, fairness, and quantiles of the four latencies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairq.cost import Cost
from fairq.groups import WorkerGroup
from fairq.stretches import Stretches

__all__ = ["LATENCIES", "QUANTILES", "summarise"]

LATENCIES = ("latency", "wait", "ttft", "tpot")
QUANTILES = {"p50": 0.50, "p90": 0.90, "p95": 0.95, "p99": 0.99}


def summarise(
    requests: pd.DataFrame,
    segments: pd.DataFrame,
    stretches: Stretches,
    *,
    groups: Sequence[WorkerGroup],
    cost: Cost,
    alpha: int | None,
    until: float | None,
    stopped_at: float,
    billed: NDArray[np.int64],
) -> pd.Series:
    """The summary's names and values, in the order of the documentation.

    `billed` are the billed tokens that each request's progress amounts to: the progress itself, unless
    prompts are taken in chunks.  Whole numbers stay whole; a mean of nothing is NaN.
    """
    makespan = _makespan(requests, until)
    workers = sum(group.count for group in groups)
    slots = sum(group.count * (group.batch_size or 0) for group in groups)
    tokens = int(requests["progress"].sum())
    completed = requests["completed"].to_numpy()
    parts: dict[str, Any] = _counts(requests)
    parts |= {"tokens": tokens, "makespan": makespan, "busy_steps": int(stretches.steps.sum())}
    parts["throughput"] = _ratio(int(billed.sum()), makespan)
    parts["revenue"] = cost.price * int(billed[completed].sum())
    externality = int((stretches.externality * stretches.steps).sum())
    parts |= _money(requests, parts["busy_steps"], externality, cost, workers * makespan)
    parts["profit"] = parts["revenue"] - parts["cost"] - np.nan_to_num(parts["cost_workers"])
    parts |= {"externality": externality} | _fairness(stretches, alpha)
    duration = (segments["end"] - segments["start"]).to_numpy()
    used = float((duration * segments["batch"].to_numpy()).sum())
    parts["utilisation"] = _ratio(used, slots * makespan)
    parts["busy_fraction"] = _ratio(float(duration.sum()), workers * makespan)
    for metric in LATENCIES:
        parts |= _latency(metric, requests[metric].to_numpy())
    one_token = completed & np.isnan(requests["tpot"].to_numpy())
    parts["tpot_undefined"] = int(one_token.sum())
    parts["stopped_at"] = stopped_at
    return pd.Series(parts, dtype=object, name="summary")


def _counts(requests: pd.DataFrame) -> dict[str, Any]:
    counts = requests["outcome"].value_counts()
    ends = {"completed": "completed", "running_end": "running", "queued_end": "queued"}
    ends |= {"rejected": "rejected", "abandoned": "abandoned"}
    parts = {name: int(counts[outcome]) for name, outcome in ends.items()}
    return {"arrived": sum(parts.values()), **parts}


def _makespan(requests: pd.DataFrame, until: float | None) -> float:
    """Last completion less first arrival, or `until` less first arrival; NaN if nobody arrived by then."""
    first = requests["arrival"].min()
    last = requests["finish"].max() if until is None else until
    return float(last - first) if last >= first else np.nan


def _money(
    requests: pd.DataFrame, busy_steps: int, externality: int, cost: Cost, worker_time: float
) -> dict[str, float]:
    """Theorem 5.1: cost = tau·Q + c·T + tau·E, with Q over the tokens processed."""
    progress = requests["progress"].to_numpy()
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


def _latency(metric: str, column: NDArray[np.float64]) -> dict[str, float]:
    values = column[~np.isnan(column)]
    if len(values) == 0:
        return dict.fromkeys([f"{metric}_mean", *(f"{metric}_{name}" for name in QUANTILES)], np.nan)
    cuts = np.quantile(values, list(QUANTILES.values()), method="inverted_cdf").tolist()
    parts = {f"{metric}_mean": float(values.mean())}
    return parts | {f"{metric}_{name}": cut for name, cut in zip(QUANTILES, cuts, strict=True)}


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else np.nan
