"""The engine gives the handed cases bit for bit, and every one of these runs passes its check."""

from __future__ import annotations

import math

import pytest
from cases_folder import Case, read_cases

import fairq
from fairq.policy import POLICIES


def run_case(case: Case) -> fairq.Result:
    step = case["step"]
    workload = fairq.Workload.from_arrays(
        tokens=case["tokens"], arrival=case["arrival"], upper=case.get("upper")
    )
    return fairq.simulate(
        workload,
        case["policy"],
        alpha=case["alpha"],
        workers=case["workers"],
        batch_size=case["batch_size"],
        clock=fairq.StepTime(step["c"], step["b"], step["tau"]),
        until=case.get("until"),
        dispatch=case.get("dispatch", "central"),
        record="segments",
        **case["options"],
    )


def assert_same_schedule(case: Case) -> fairq.Result:
    result = run_case(case)
    result.check()
    for column in ("start", "finish"):
        times = [None if math.isnan(time) else time for time in result.requests[column]]
        assert times == case[column], (column, case)
    assert result.requests["worker"].tolist() == case["worker"], case
    return result


BATCHING = {"matched": 30, "cluster": 40, "window": 40}


@pytest.mark.parametrize("policy", [name for name in POLICIES if name not in BATCHING])
def test_core_cases(policy: str) -> None:
    cases = [case for case in read_cases("core.jsonl") if case["policy"] == policy]
    assert len(cases) > 20
    for case in cases:
        assert_same_schedule(case)


@pytest.mark.parametrize(("policy", "rows"), BATCHING.items())
def test_cases_of_policies_that_batch(policy: str, rows: int) -> None:
    cases = [case for case in read_cases("more.jsonl") if case["policy"] == policy]
    assert len(cases) == rows
    for case in cases:
        assert_same_schedule(case)


@pytest.mark.parametrize("dispatch", ["round-robin", "jsq", "least-work", "length-class"])
def test_cases_of_dispatchers(dispatch: str) -> None:
    cases = [case for case in read_cases("more.jsonl") if case["dispatch"] == dispatch]
    assert len(cases) == 18
    for case in cases:
        assert_same_schedule(case)


def test_cases_with_until() -> None:
    cases = [case for case in read_cases("more.jsonl") if case["until"] is not None]
    assert len(cases) == 30
    for case in cases:
        result = assert_same_schedule(case)
        assert result.requests["progress"].tolist() == case["progress"], case
        assert {name: result.summary[name] for name in case["counts"]} == case["counts"], case


def test_the_cost_clock_is_the_step_time_without_b() -> None:
    for case in read_cases("core.jsonl"):
        step = case["step"]
        if step["b"] == 0 and step["tau"] > 0:
            workload = fairq.Workload.from_arrays(
                tokens=case["tokens"], arrival=case["arrival"], upper=case["upper"]
            )
            settings = {name: case[name] for name in ("alpha", "workers", "batch_size")} | case["options"]
            money = fairq.Cost(c=step["c"], tau=step["tau"])
            result = fairq.simulate(workload, case["policy"], clock="cost", cost=money, **settings)
            assert result.requests["finish"].tolist() == case["finish"], case
