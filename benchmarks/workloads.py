"""The workloads that the benchmarks run, made before anything is timed."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import fairq
from fairq.errors import InputError

__all__ = ["TABLE", "backlog", "lengths", "poisson", "single_slots", "stable_load"]

TABLE = Path(__file__).resolve().parent.parent / "scenarios" / "stability" / "results.csv"
"""What the study of the stability region kept: the loads between which a policy stops keeping up."""

MEAN_LONG = 1000.0
"""Tokens of a request of the M/M/8 queue, on average: long, so that whole tokens are nearly exponential."""


def lengths(requests: int, seed: int = 1) -> NDArray[np.int64]:
    """Token totals like the paper's LMSYS sample: gamma(1.0628, 118.556), whole and at least 1."""
    rng = np.random.default_rng(seed)
    return np.maximum(1, np.rint(rng.gamma(1.0628, 118.556, requests))).astype(np.int64)


def backlog(requests: int) -> fairq.Workload:
    """Everything arrives at 0."""
    return fairq.Workload.from_arrays(tokens=lengths(requests))


def poisson(requests: int, *, load: float, workers: int, batch_size: int) -> fairq.Workload:
    """Poisson arrivals at the offered load `load` on the token clock: token rate over workers·batch_size."""
    return _arriving(lengths(requests), load * workers * batch_size)


def single_slots(requests: int, *, load: float = 0.9, workers: int = 8) -> fairq.Workload:
    """An M/M/c queue: exponential lengths of mean 1,000 tokens, to be served with B = 1.

    >>> workload = single_slots(100_000)
    >>> round(float(workload.tokens.sum() / workload.arrival.max() / 8), 2)  # the load that arrived
    0.9
    """
    drawn = np.random.default_rng(3).exponential(MEAN_LONG, requests)
    return _arriving(np.maximum(1, np.rint(drawn)).astype(np.int64), load * workers)


def _arriving(tokens: NDArray[np.int64], token_rate: float) -> fairq.Workload:
    gaps = np.random.default_rng(2).exponential(tokens.mean() / token_rate, len(tokens))
    return fairq.Workload.from_arrays(tokens=tokens, arrival=np.cumsum(gaps))


def stable_load(policy: str, alpha: float | None, workers: int) -> tuple[float, float]:
    """The offered loads between which a policy stops keeping up, as the stability study found them.

    B = 32, token clock, the paper's LMSYS lengths; of the pools studied (1, 8 and 64 workers) the largest
    that has no more than `workers`.

    Raises:
        InputError: the study has no such policy.

    >>> stable_load("isjl", 100.0, 8)[0] < 1 / 1.6
    True
    """
    with TABLE.open(newline="", encoding="utf-8") as table:
        rows = [row for row in csv.DictReader(table) if row["part"] == "region"]
    key = (policy, "" if alpha is None else f"{alpha:g}")
    found = [row for row in rows if (row["policy"], row["alpha"]) == key and int(row["workers"]) <= workers]
    if not found:
        raise InputError(f"policy is {policy!r}, alpha {alpha!r}: {TABLE.name} of the study has no such row")
    row = max(found, key=lambda row: int(row["workers"]))
    return float(row["load_low"]), float(row["load_high"])
