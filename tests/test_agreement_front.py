"""The engine against the oracle: dispatchers, limits, abandonment and unlike workers, bit for bit."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
import oracle
import pytest
from instances import STEPS, Instance, random_instance

import fairq

SEEDS = 30  # instances for each policy and dispatcher, and eight times as many in `make test-slow`
DISPATCHERS = ("central", "round-robin", "random", "power-of-two", "jsq", "least-work", "length-class")
POLICIES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("fcfs", {}),
    ("ljf-fair", {"max_wait": 5}),
    ("isjl", {}),
    ("robust-isjl", {"pack_order": "descending", "max_wait": 3}),
    ("free-ride", {}),
    ("matched", {}),
    ("cluster", {"patience": 2.5}),
    ("window", {"window": 3, "base": "isjl"}),
)


def draw_front(rng: np.random.Generator, instance: Instance) -> dict[str, Any]:
    """What is in front of the workers, as the oracle takes it."""
    unit = sum(instance["step"])
    front = {"seed": int(rng.integers(5)), "replication": int(rng.integers(3))}
    if rng.random() < 0.4:
        front["queue_limit"] = int(rng.integers(1, 7))
    if rng.random() < 0.6:
        front["abandon_after"] = float(rng.choice([0, 1, 2, 3.7, 5, 12])) * unit
    return front


def draw_groups(rng: np.random.Generator, instance: Instance) -> list[tuple[int, int, Any]]:
    """Groups of (count, batch size, step), alike in half of the instances."""
    if rng.random() < 0.5:
        return [(instance["workers"], instance["batch_size"], instance["step"])]
    return [
        (int(rng.integers(1, 3)), int(rng.integers(1, 5)), STEPS[int(rng.integers(len(STEPS)))])
        for _ in range(int(rng.integers(1, 4)))
    ]


def assert_agrees(policy: str, options: dict[str, Any], dispatch: str, seed: int) -> bool:
    """Whether somebody was rejected or left; that is rightly so only if the test says it."""
    rng = np.random.default_rng([seed, 11])
    instance = random_instance(rng)
    front, groups = draw_front(rng, instance), draw_groups(rng, instance)
    workload = fairq.Workload.from_arrays(
        tokens=instance["tokens"], arrival=instance["arrival"], upper=instance["upper"]
    )
    workers = [fairq.WorkerGroup(count, size, clock=fairq.StepTime(*step)) for count, size, step in groups]
    shared = {"until": instance["until"], "dispatch": dispatch, **front}
    result = fairq.simulate(
        workload, policy, alpha=instance["alpha"], workers=workers, record="segments", **shared, **options
    )
    expected = oracle.run(
        instance["tokens"],
        instance["arrival"],
        policy,
        alpha=instance["alpha"],
        groups=[(size, step) for count, size, step in groups for _ in range(count)],
        upper=instance["upper"],
        options=options,
        **shared,
    )
    result.check()
    table = result.requests
    told = (policy, options, dispatch, front, groups, instance)
    for column in ("start", "finish"):
        times = [None if np.isnan(time) else time for time in table[column]]
        assert times == getattr(expected, column), (column, told)
    assert table["worker"].tolist() == expected.worker, told
    assert table["progress"].tolist() == expected.progress, told
    for name in ("rejected", "abandoned"):
        assert np.flatnonzero(table["outcome"] == name).tolist() == sorted(getattr(expected, name)), told
        assert result.summary[name] == len(getattr(expected, name))
    assert result.summary["queued_end"] == expected.queued_end
    return bool(expected.rejected or expected.abandoned)


@pytest.mark.parametrize(
    "first", [0, *(pytest.param(part * SEEDS, marks=pytest.mark.slow) for part in range(1, 9))]
)
@pytest.mark.parametrize("dispatch", DISPATCHERS)
@pytest.mark.parametrize(("policy", "options"), POLICIES)
def test_the_front_of_the_pool(policy: str, options: dict[str, Any], dispatch: str, first: int) -> None:
    lossy = [assert_agrees(policy, options, dispatch, seed) for seed in range(first, first + SEEDS)]
    assert SEEDS // 10 < sum(lossy) < SEEDS


def test_a_leader_that_leaves_frees_its_cohort() -> None:
    """alpha 3, B 2: 8 leads 6, their pack is 4 and d = 1; but 8 and 6 leave at 0.5, before they can start."""
    settings: dict[str, Any] = {"alpha": 3, "abandon_after": 0.5}
    workload = fairq.Workload.from_arrays(tokens=[8, 6, 4])
    result = fairq.simulate(workload, "isjl", batch_size=2, **settings)
    assert result.requests["outcome"].tolist() == ["abandoned", "abandoned", "completed"]
    assert oracle.run([8, 6, 4], [0, 0, 0], "isjl", batch_size=2, **settings).abandoned == [0, 1]
    assert oracle.Front().queue_limit == inf
