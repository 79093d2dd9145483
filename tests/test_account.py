"""The account, on schedules worked by hand."""

import numpy as np
import pandas as pd
import pytest

import fairq
from fairq.account import account
from fairq.schedule import Schedule

COST = fairq.Cost(c=0.5, tau=0.25, price=2.0, worker=0.1)


@pytest.fixture
def lockstep():
    """FCFS, B = 2, lengths 4 2 3, token clock: request 2 joins at step 2, beside request 0 at progress 2.

    steps 1 2: {0, 1}, both at m = 1, 2; steps 3 4: {0, 2}, m = 3 4 and 1 2 (extent 2, externality 2 each);
    step 5: {2}, m = 3.
    """
    workload = fairq.Workload.from_arrays(tokens=[4, 2, 3], prompt_tokens=[1, 0, 2])
    return fairq.simulate(workload, "fcfs", alpha=1, batch_size=2, cost=COST, record="segments")


def test_the_requests_of_a_small_schedule(lockstep):
    table = lockstep.requests.set_index("request")
    assert table["start"].tolist() == [0, 0, 2]
    assert table["finish"].tolist() == [4, 2, 5]
    assert table["start_step"].tolist() == [0, 0, 2]
    assert table["first_token"].tolist() == [2, 1, 5]  # the end of step prompt_tokens + 1
    assert table["ttft"].tolist() == [2, 1, 5]
    assert table["wait"].tolist() == [0, 0, 2]
    assert table["tpot"].iloc[:2].tolist() == [1.0, 1.0]  # (4 − 2)/(3 − 1), (2 − 1)/(2 − 1)
    assert np.isnan(table["tpot"].iloc[2])  # one output token
    assert table["externality_paid"].tolist() == [0, 0, 4]
    assert table["externality_caused"].tolist() == [4, 0, 0]


def test_the_summary_of_a_small_schedule(lockstep):
    """Q = 10 + 3 + 6 = 19, T = 5, E = 4; 9 tokens."""
    summary = lockstep.summary
    expected = {
        "arrived": 3, "completed": 3, "running_end": 0, "queued_end": 0, "tokens": 9, "makespan": 5.0,
        "busy_steps": 5, "throughput": 9 / 5, "revenue": 18.0, "cost": 0.25 * 19 + 0.5 * 5 + 0.25 * 4,
        "cost_intrinsic": 4.75, "cost_time": 2.5, "cost_externality": 1.0, "cost_workers": 0.5,
        "profit": 18 - 8.25 - 0.5, "externality": 4, "mean_extent": 4 / 5, "max_extent": 2, "violations": 2,
        "utilisation": 9 / 10, "busy_fraction": 1.0, "latency_mean": (4 + 2 + 5) / 3, "latency_p50": 4.0,
        "latency_p90": 5.0, "wait_mean": 2 / 3, "ttft_mean": 8 / 3, "tpot_mean": 1.0, "tpot_undefined": 1,
    }  # fmt: skip
    assert {name: summary[name] for name in expected} == pytest.approx(expected)
    assert list(summary.index[:24]) == [
        "arrived", "completed", "running_end", "queued_end", "rejected", "abandoned", "unstable", "tokens",
        "makespan", "busy_steps", "throughput", "revenue", "cost", "cost_intrinsic", "cost_time",
        "cost_externality", "cost_workers", "profit", "externality", "mean_extent", "max_extent",
        "violations", "utilisation", "busy_fraction",
    ]  # fmt: skip


def test_the_segments_of_a_small_schedule(lockstep):
    expected = pd.DataFrame(
        {
            "worker": [0, 0, 0],
            "start": [0.0, 2.0, 4.0],
            "end": [2.0, 4.0, 5.0],
            "steps": [2, 2, 1],
            "batch": [2, 2, 1],
            "min_progress": [0, 0, 2],
            "max_progress": [0, 2, 2],
        }
    )
    pd.testing.assert_frame_equal(lockstep.segments, expected)


def test_the_externality_caused_is_split_among_those_at_the_maximum():
    """Requests 0 and 1 start together, ahead of request 3: they share its externality until 1 has finished.

    B = 3, lengths 5 3 1 4 FCFS: step 1: {0, 1, 2}; steps 2 3: {0, 1, 3}, extent 1, externality 1 each,
    split in two; steps 4 5: {0, 3}, externality 1 each, all caused by 0.
    """
    workload = fairq.Workload.from_arrays(tokens=[5, 3, 1, 4])
    table = fairq.simulate(workload, "fcfs", batch_size=3).requests
    assert table["externality_caused"].tolist() == [1 + 2, 1, 0, 0]
    assert table["externality_paid"].tolist() == [0, 0, 0, 4]


def test_an_idle_gap_restarts_the_clock_and_a_start_at_the_boundary_does_not():
    """Steps of 0.1: the third ends at 0.1 × 3 = 0.30000000000000004, one product from a base of 0."""
    workload = fairq.Workload.from_arrays(tokens=[2, 1, 1], arrival=[0.0, 0.2, 5.05])
    table = fairq.simulate(workload, "fcfs", batch_size=1, clock=fairq.StepTime(c=0.1)).requests
    assert table["start"].tolist() == [0.0, 0.2, 5.05]
    assert table["finish"].tolist() == [0.2, 0.1 * 3, 5.05 + 0.1]


def test_finite_runs_count_whole_steps_only():
    """B = 1, steps of 2, until = 5: request 0 (3 tokens) ends its second step at 4, its third would at 6."""
    workload = fairq.Workload.from_arrays(tokens=[3, 2, 9], arrival=[0.0, 1.0, 5.5])
    result = fairq.simulate(
        workload, "fcfs", batch_size=1, clock=fairq.StepTime(c=2.0), until=5.0, record="segments"
    )
    result.check()
    table, summary = result.requests, result.summary
    assert table["progress"].tolist() == [2, 0, 0]
    assert table["worker"].tolist() == [0, -1, -1]
    assert table["start_step"].tolist() == [0, -1, -1]
    assert table["completed"].tolist() == [False, False, False]
    assert table["first_token"].iloc[0] == 2.0
    assert table[["finish", "latency"]].isna().all(axis=None)
    counts = [summary[name] for name in ("arrived", "completed", "running_end", "queued_end")]
    assert counts == [2, 0, 1, 1]
    assert (summary["makespan"], summary["tokens"], summary["busy_steps"]) == (5.0, 2, 2)
    assert summary["cost_intrinsic"] == pytest.approx(1e-6 * 3)  # Q over the two tokens processed
    assert summary["utilisation"] == pytest.approx(4 / 5)


def test_what_happens_at_until_still_happens_but_no_step_starts():
    workload = fairq.Workload.from_arrays(tokens=[2, 2, 2], arrival=[0.0, 1.0, 2.0])
    result = fairq.simulate(workload, "fcfs", batch_size=1, until=2.0)
    result.check()
    assert result.requests["completed"].tolist() == [True, False, False]
    counts = [result.summary[name] for name in ("arrived", "completed", "running_end", "queued_end")]
    assert counts == [3, 1, 0, 2]


@pytest.mark.parametrize("until", [None, 3.0])
def test_an_empty_workload_is_a_valid_run(until):
    result = fairq.simulate(
        fairq.Workload.empty(), "isjl", alpha=3, batch_size=4, until=until, record="segments"
    )
    result.check()
    assert result.summary["arrived"] == result.summary["busy_steps"] == 0
    assert np.isnan(result.summary["latency_mean"])
    assert np.isnan(result.summary["makespan"])
    assert len(result.requests) == len(result.segments) == 0


def test_until_before_the_first_arrival():
    result = fairq.simulate(
        fairq.Workload.from_arrays(tokens=[2], arrival=[7.0]), "fcfs", batch_size=1, until=1.0
    )
    result.check()
    assert result.summary["arrived"] == 0
    assert result.requests["worker"].tolist() == [-1]


def test_a_quantile_is_an_observed_value():
    workload = fairq.Workload.from_arrays(tokens=range(1, 101))
    summary = fairq.simulate(workload, "fcfs", batch_size=100).summary
    assert [summary[f"latency_{name}"] for name in ("p50", "p90", "p95", "p99")] == [50, 90, 95, 99]


def test_the_account_takes_any_schedule_of_stays():
    """A schedule written by hand, as another engine would: two workers, a step of 1."""
    workload = fairq.Workload.from_arrays(tokens=[2, 3])
    schedule = Schedule(
        request=np.array([0, 1]),
        worker=np.array([1, 0]),
        start_step=np.array([0, 0]),
        steps=np.array([2, 3]),
        start=np.array([0.0, 0.0]),
        finish=np.array([2.0, 3.0]),
    )
    books = account(
        schedule, workload, groups=[fairq.WorkerGroup(2, 1, fairq.StepTime(c=1.0))], cost=fairq.Cost()
    )
    assert books.summary["busy_steps"] == 5
    assert books.segments["worker"].tolist() == [0, 1]
    assert schedule.frame["finish"].tolist() == [2.0, 3.0]
