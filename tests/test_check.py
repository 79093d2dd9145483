"""`result.check()` finds each kind of damage and names the rule."""

import dataclasses

import numpy as np
import pytest

import fairq


@pytest.fixture
def result():
    rng = np.random.default_rng(3)
    workload = fairq.Workload.from_arrays(
        tokens=rng.integers(1, 40, 60), arrival=np.sort(rng.integers(0, 200, 60))
    )
    run = fairq.simulate(workload, "isjl", alpha=10, workers=2, batch_size=4, record="segments")
    run.check()
    return run


def damage(table, row, column, value):
    table.loc[row, column] = value


def shift(result, column, by):
    damage(result.requests, 7, column, result.requests.loc[7, column] + by)


DAMAGES = {
    "start before the arrival": ("release", lambda r: shift(r, "start", -1e4)),
    "a finish at the wrong time": ("contiguity", lambda r: shift(r, "finish", 1)),
    "a start at no boundary": ("contiguity", lambda r: shift(r, "start", 0.25)),
    "a request twice": ("conservation", lambda r: damage(r.requests, 4, "request", 3)),
    "tokens changed": ("conservation", lambda r: damage(r.requests, 4, "tokens", 999)),
    "completed without its tokens": ("conservation", lambda r: damage(r.requests, 4, "progress", 0)),
    "an unknown worker": ("contiguity", lambda r: damage(r.requests, 4, "worker", 2)),
    "another worker": (None, lambda r: damage(r.requests, 4, "worker", 1 - r.requests.loc[4, "worker"])),
    "a later step": (None, lambda r: shift(r, "start_step", 1)),
    "externality moved": ("cost identity", lambda r: damage(r.requests, 4, "externality_paid", 10_000)),
    "externality caused moved": ("cost identity", lambda r: damage(r.requests, 4, "externality_caused", 1e4)),
    "cost": ("cost identity", lambda r: r.summary.update({"cost": r.summary["cost"] * 1.001})),
    "a part of the cost": ("cost identity", lambda r: r.summary.update({"cost_time": 0.0})),
    "violations": ("violations", lambda r: r.summary.update({"violations": 3})),
    "busy steps": ("cost identity", lambda r: r.summary.update({"busy_steps": 1})),
    "counts": ("conservation", lambda r: r.summary.update({"completed": 59})),
    "tokens in all": ("conservation", lambda r: r.summary.update({"tokens": 1})),
    "a segment": ("contiguity", lambda r: damage(r.segments, 2, "batch", 4 + r.segments.loc[2, "batch"])),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_found(result, name):
    rule, do = DAMAGES[name]
    do(result)
    with pytest.raises(fairq.CheckError) as caught:
        result.check()
    assert caught.value.rule == (rule or caught.value.rule)
    assert "\n" not in str(caught.value)


def test_a_lost_request_is_found(result):
    tables = {"requests": result.requests.drop(index=3)}
    with pytest.raises(fairq.CheckError, match="conservation"):
        dataclasses.replace(result, _tables=tables).check()


def test_a_batch_over_capacity_is_found():
    workload = fairq.Workload.from_arrays(tokens=[4, 4, 4])
    result = fairq.simulate(workload, "fcfs", batch_size=3)
    object.__setattr__(result, "groups", (fairq.WorkerGroup(1, 2, result.clock),))
    with pytest.raises(fairq.CheckError, match="capacity"):
        result.check()


def test_a_broken_promise_is_found():
    workload = fairq.Workload.from_arrays(tokens=[9, 2, 9])
    result = fairq.simulate(workload, "fcfs", alpha=1, batch_size=2)
    result.check()  # fcfs promises nothing: its violations are only counted
    object.__setattr__(result, "guarded", True)
    with pytest.raises(fairq.CheckError, match="fairness"):
        result.check()


def test_an_unserved_request_of_an_endless_run_is_found():
    workload = fairq.Workload.from_arrays(tokens=[9, 2, 9])
    result = fairq.simulate(workload, "fcfs", batch_size=1, until=3.0)
    result.check()
    object.__setattr__(result, "until", None)
    with pytest.raises(fairq.CheckError, match="conservation"):
        result.check()


def test_a_run_that_kept_no_table_cannot_be_checked():
    result = fairq.simulate(fairq.Workload.from_arrays(tokens=[1]), "fcfs", batch_size=1, record="summary")
    with pytest.raises(fairq.RecordError, match="'requests'"):
        result.check()
