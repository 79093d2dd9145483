"""The workloads that the benchmarks run."""

from __future__ import annotations

import numpy as np

import fairq

__all__ = ["backlog", "lengths", "poisson"]


def lengths(requests: int, seed: int = 1) -> np.ndarray:
    """Token totals like the paper's LMSYS sample: gamma(1.0628, 118.556), whole and at least 1."""
    rng = np.random.default_rng(seed)
    return np.maximum(1, np.rint(rng.gamma(1.0628, 118.556, requests))).astype(np.int64)


def backlog(requests: int) -> fairq.Workload:
    """Everything arrives at 0."""
    return fairq.Workload.from_arrays(tokens=lengths(requests))


def poisson(requests: int, *, load: float, workers: int, batch_size: int) -> fairq.Workload:
    """Poisson arrivals at `load` on the token clock: token rate over workers·batch_size."""
    tokens = lengths(requests)
    rate = load * workers * batch_size / tokens.mean()
    gaps = np.random.default_rng(2).exponential(1 / rate, requests)
    return fairq.Workload.from_arrays(tokens=tokens, arrival=np.cumsum(gaps))
