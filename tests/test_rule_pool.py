"""The pool for Rules under one queue gives the schedules of the pool that asks agents, to the last bit."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import fairq
from fairq.rule_pool import rule_of
from fairq.rules import RULES, RuleAgent

SIMULATE = importlib.import_module("fairq.simulate")  # the name fairq.simulate is the function's

INSTANCES = 150  # times 6 rules; `make test-slow` runs 1000
CLOCKS: tuple[Any, ...] = (
    "token",
    fairq.StepTime(c=0.3),
    fairq.StepTime(c=0.5, b=0.25),
    fairq.StepTime(c=0.02, b=0.01, tau=1e-3),
)
ENDS = (0.0, 1.0, 2.5, 7.25, 20.0, 33.3, 100.0)


def drawn_workload(rng: np.random.Generator) -> fairq.Workload:
    """Few or many requests, at crowded instants, on boundaries or between them, in any order."""
    count = int(rng.integers(1, 80))
    tokens = rng.integers(1, int(rng.choice([3, 10, 100])), count, endpoint=True)
    if rng.random() < 0.4:
        arrival = rng.choice([0.0, 1.0, 2.5, 3.0, 4.0, 7.25, 30.0, 100.0], count)
    else:
        arrival = np.cumsum(rng.exponential(rng.choice([0.5, 5.0, 60.0]), count))
    if rng.random() < 0.3:
        arrival = np.round(2 * arrival) / 2
    order = rng.permutation(count) if rng.random() < 0.3 else np.argsort(arrival, kind="stable")
    return fairq.Workload.from_arrays(tokens=tokens, arrival=arrival[order])


def drawn_settings(rng: np.random.Generator) -> dict[str, Any]:
    """A pool, and what may end waits and the run early."""
    settings: dict[str, Any] = {
        "alpha": float(rng.integers(0, 40)),
        "clock": CLOCKS[rng.integers(len(CLOCKS))],
    }
    workers, batch_size = int(rng.integers(1, 6)), int(rng.integers(1, 6))
    settings |= {"workers": workers, "batch_size": batch_size}
    if rng.random() < 0.2:
        slow = fairq.WorkerGroup(1, batch_size=2, clock=fairq.StepTime(c=0.7, tau=0.01))
        settings["workers"] = [fairq.WorkerGroup(workers), slow]
    if rng.random() < 0.3:
        settings["until"] = float(rng.choice(ENDS))
    for limit in ("queue_limit", "max_queued"):
        if rng.random() < 0.2:
            settings[limit] = int(rng.integers(1, 6))
    return settings


def agree(rule: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    workload, settings = drawn_workload(rng), drawn_settings(rng)
    quick = fairq.simulate(workload, rule, **settings)
    with monkeypatch.context() as patch:
        patch.setattr(SIMULATE, "rule_of", lambda policy: None)
        asked = fairq.simulate(workload, rule, **settings)
    assert quick.schedule is not None
    assert asked.schedule is not None
    assert quick.schedule.frame.equals(asked.schedule.frame)
    assert (quick.schedule.rejected == asked.schedule.rejected).all()
    assert quick.summary.astype(str).equals(asked.summary.astype(str))
    if seed % 10 == 0:
        quick.check()


@pytest.mark.parametrize("rule", RULES)
def test_the_same_schedule(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(INSTANCES):
        agree(rule, seed, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_the_same_schedule_of_many(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(INSTANCES, 1000):
        agree(rule, seed, monkeypatch)


def test_arrivals_and_starts_are_no_events() -> None:
    """On one worker there is an event for each instant with completions, and none besides."""
    module = importlib.import_module("fairq.timeline")
    rung = []
    ring = module.Alarm.ring
    rng = np.random.default_rng(5)
    workload = fairq.Workload.from_arrays(
        tokens=rng.integers(1, 50, 200), arrival=np.cumsum(rng.exponential(3.0, 200))
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module.Alarm, "ring", lambda alarm: (rung.append(alarm), ring(alarm)))
        result = fairq.simulate(workload, "fcfs", batch_size=8)
    assert len(rung) == result.requests["finish"].nunique()


def test_only_a_plain_rule_is_one() -> None:
    class Another(RuleAgent):
        """It may decide otherwise."""

    assert rule_of(RuleAgent(RULES["fcfs"])) is RULES["fcfs"]
    assert rule_of(RuleAgent(RULES["ljf"], max_wait=3.0)) is None
    assert rule_of(Another(RULES["fcfs"])) is None
