"""The account in machine code against the one of record: the same tables and summary, to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from instances import random_instance
from test_agreement import VARIANTS, engine_clock, policy_options
from test_compiled import draw_pool, large_instance, workload_of

import fairq
from fairq.account import Account, account
from fairq.result import Result
from fairq.schedule import Schedule

pytest.importorskip("numba", reason="the compiled engine needs Numba: pip install 'fairq[fast]'")

SEEDS = 1_200  # `make test` runs the first QUICK of them, `make test-slow` the others
QUICK = 240
CHUNK = 120


def both(
    schedule: Schedule, workload: fairq.Workload, groups: Any, record: str = "requests", **keywords: Any
) -> tuple[Account, Account]:
    """What machine code makes of a schedule, and what the arrays do."""
    cost = fairq.Cost(c=0.25, tau=0.001, price=0.01, worker=0.003)
    ours = account(schedule, workload, groups=groups, cost=cost, record=record, compiled=True, **keywords)
    return ours, account(schedule, workload, groups=groups, cost=cost, **keywords)


def assert_same_summary(ours: Any, theirs: Any, told: object = None) -> None:
    assert list(ours.index) == list(theirs.index)
    for name, value in theirs.items():
        assert type(ours[name]) is type(value), (name, told)
        assert ours[name] == value or (np.isnan(ours[name]) and np.isnan(value)), (name, told)


def assert_same(result: Result, told: object = None) -> None:
    """`result` is of the SimPy engine, whose schedule both accounts are given."""
    assert result.schedule is not None
    keywords = {"until": result.horizon, "abandon_after": result.abandon_after}
    alpha = None if result.alpha is None else int(result.alpha)
    for record in ("requests", "summary"):
        ours, theirs = both(result.schedule, result.workload, result.groups, record, alpha=alpha, **keywords)
        assert_same_summary(ours.summary, theirs.summary, told)
        if record == "requests":
            assert list(ours.request_columns) == list(theirs.request_columns)
            for name, column in theirs.request_columns.items():
                assert ours.request_columns[name].dtype == column.dtype
                assert ours.request_columns[name].tobytes() == column.tobytes(), (name, told)


@pytest.mark.parametrize(
    "first",
    [
        *range(0, QUICK, CHUNK),
        *(pytest.param(first, marks=pytest.mark.slow) for first in range(QUICK, SEEDS, CHUNK)),
    ],
)
def test_seeded_instances(first: int) -> None:
    """All policies that both engines run, clocks, groups, limits, prompts; every fourth one in chunks."""
    for seed in range(first, first + CHUNK):
        rng = np.random.default_rng(seed)
        instance = random_instance(rng)
        pool = draw_pool(rng, instance)
        policy, options = VARIANTS[seed % len(VARIANTS)]
        options = policy_options(instance, policy, options)
        workload = workload_of(instance)
        if seed % 4 == 3:
            workload = workload.chunk_prompt(int(rng.integers(2, 9)))
        clock, cost = engine_clock(instance["step"])
        result = fairq.simulate(
            workload, policy, alpha=instance["alpha"], batch_size=instance["batch_size"], clock=clock,
            cost=cost, until=instance["until"], **pool, **options,
        )  # fmt: skip
        assert_same(result, (seed, policy, options, pool, instance))


@pytest.mark.parametrize("policy", ["fcfs", "isjl", "ljf"])
def test_thousands_of_requests_on_many_workers_that_differ(policy: str) -> None:
    instance = large_instance()
    workload = fairq.Workload.from_arrays(
        instance["tokens"], instance["arrival"], prompt_tokens=instance["tokens"] // 3
    )
    groups = [
        fairq.WorkerGroup(3, 8, fairq.StepTime(0.1, 0.03, 0.007)),
        fairq.WorkerGroup(90, 2, fairq.StepTime(c=0.5)),
    ]
    for until in (None, 5_000.0):
        assert_same(fairq.simulate(workload, policy, alpha=60, workers=groups, until=until))


def test_a_backlog_whose_requests_start_together() -> None:
    """Hundreds share what the oldest cause; one worker in three is never used."""
    rng = np.random.default_rng(5)
    workload = fairq.Workload.from_arrays(rng.integers(1, 60, 2_000))
    assert_same(fairq.simulate(workload, "fcfs", workers=3, batch_size=700, clock=fairq.StepTime(tau=0.1)))


def test_an_empty_schedule() -> None:
    workload = fairq.Workload.from_arrays([2, 3], arrival=[5.0, 6.0])
    assert_same(fairq.simulate(workload, "fcfs", batch_size=2, until=1.0))
    assert_same(fairq.simulate(fairq.Workload.empty(), "fcfs", batch_size=2))


def test_a_schedule_in_any_order_and_with_a_hole() -> None:
    """Worker 1 counts two steps in which nobody ran; stays stand in no order."""
    workload = fairq.Workload.from_arrays([3, 2, 4], arrival=[0.0, 0.0, 6.0])
    schedule = Schedule(
        request=np.array([2, 0, 1]), worker=np.array([1, 1, 0]), start_step=np.array([5, 0, 0]),
        steps=np.array([4, 3, 2]), start=np.array([6.0, 0.0, 0.0]), finish=np.array([10.0, 3.0, 2.0]),
    )  # fmt: skip
    ours, theirs = both(schedule, workload, [fairq.WorkerGroup(2, 1, fairq.StepTime(c=1.0))])
    assert_same_summary(ours.summary, theirs.summary)
    assert ours.requests.equals(theirs.requests)
    assert ours.requests["first_token"].tolist() == [1.0, 1.0, 7.0]


def test_what_is_summed_over_tokens_squared_is_summed_in_64_bits() -> None:
    """The table holds tokens in 32 bits; a request of 100,000 has Q = 100,000·100,001/2 > 2^31."""
    workload = fairq.Workload.from_arrays([100_000, 1])
    for engine in ("simpy", "compiled"):
        run = fairq.simulate(workload, "fcfs", batch_size=1, clock=fairq.StepTime(c=1.0), engine=engine)
        assert run.requests["tokens"].dtype == run.requests["progress"].dtype == np.int32
        assert run.summary["cost_intrinsic"] == pytest.approx(1e-6 * (100_000 * 100_001 // 2 + 1))
        assert run.classes["cost"].iloc[-1] == pytest.approx(run.summary["cost"])
        assert run.length_classes()["slowdown_mean"].tolist() == [100_001.0, 1.0]
        run.check()


def test_the_engine_that_ran_says_which_account_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    from fairq.compiled import accounting

    seen, keep = [], accounting.keep_books
    monkeypatch.setattr(
        accounting, "keep_books", lambda *given, **named: (seen.append(named), keep(*given, **named))[1]
    )
    workload = fairq.Workload.from_arrays([3, 1], prompt_tokens=[2, 0])
    for record in ("summary", "requests", "segments"):
        fairq.simulate(workload, "fcfs", batch_size=2, engine="compiled", record=record)
        fairq.simulate(workload, "fcfs", batch_size=2, engine="simpy", record=record)
    fairq.simulate(workload.chunk_prompt(2), "fcfs", batch_size=2, engine="compiled")
    assert seen == [{"shares": False}, {"shares": True}]
