"""Small runs of every kind to form metrics of: several workers, ends, labels, chunks, losses."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from instances import random_instance

import fairq

POLICIES = ("fcfs", "sjf", "ljf", "ljf-fair", "isjl", "free-ride", "fcfs-static")
LABELS = ("chat", "code", "batch")


def random_runs(count: int, seed: int = 5) -> Iterator[fairq.Result]:
    """`count` seeded runs of small instances."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield random_run(rng)


def random_run(rng: np.random.Generator) -> fairq.Result:
    one = random_instance(rng)
    workload = fairq.Workload.from_arrays(
        one["tokens"], one["arrival"], one["prompt"], upper=one["upper"],
        label=rng.choice(LABELS, size=len(one["tokens"])).tolist(),
    )  # fmt: skip
    if rng.random() < 0.3:
        workload = workload.chunk_prompt(int(rng.integers(2, 6)))
    law = fairq.StepTime(*one["step"])
    workers: int | list[fairq.WorkerGroup] = one["workers"]
    if rng.random() < 0.3:
        other = fairq.StepTime(c=0.5, b=0.25, tau=0.0625)
        workers = [fairq.WorkerGroup(one["workers"]), fairq.WorkerGroup(1, one["batch_size"] + 1, other)]
    losses = {}
    if rng.random() < 0.3:
        losses["queue_limit"] = int(rng.integers(1, 6))
    if rng.random() < 0.3:
        losses["abandon_after"] = float(rng.integers(0, 8)) * law.of(1, 1, 1)
    return fairq.simulate(
        workload, str(rng.choice(POLICIES)), alpha=one["alpha"], workers=workers,
        batch_size=one["batch_size"], clock=law, until=one["until"], record="segments",
        cost=fairq.Cost(c=0.5, tau=0.25, price=2.0, worker=0.125), **losses,
    )  # fmt: skip
