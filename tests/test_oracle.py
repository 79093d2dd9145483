"""The oracle gives the handed cases bit for bit, and its sums agree with a run worked by hand."""

from __future__ import annotations

import oracle
import pytest
from cases_folder import Case, read_cases


def run_case(case: Case) -> oracle.OracleRun:
    step = case["step"]
    return oracle.run(
        case["tokens"],
        case["arrival"],
        case["policy"],
        alpha=case["alpha"],
        workers=case["workers"],
        batch_size=case["batch_size"],
        step=(step["c"], step["b"], step["tau"]),
        upper=case.get("upper"),
        options=case["options"],
        until=case.get("until"),
        dispatch=case.get("dispatch", "central"),
    )


def known(case: Case) -> bool:
    return case["policy"] in oracle.POLICIES


def assert_same_schedule(case: Case) -> None:
    got = run_case(case)
    for column in ("start", "finish", "worker"):
        assert getattr(got, column) == case[column], (column, case)


BATCHING = ("matched", "cluster", "window")


@pytest.mark.parametrize("policy", [name for name in oracle.POLICIES if name not in BATCHING])
def test_core_cases(policy: str) -> None:
    cases = [case for case in read_cases("core.jsonl") if case["policy"] == policy]
    assert len(cases) > 20
    for case in cases:
        assert_same_schedule(case)


def test_every_core_case_is_of_a_known_policy() -> None:
    cases = read_cases("core.jsonl")
    assert len(cases) == 300
    assert all(known(case) for case in cases)


def test_more_cases_that_the_oracle_knows() -> None:
    """All rows of more.jsonl but those of policies that are not there yet."""
    cases = [case for case in read_cases("more.jsonl") if known(case)]
    assert sum(case["until"] is not None for case in cases) == 30
    assert sum(case["dispatch"] != "central" for case in cases) == 72
    assert sum(case["policy"] in BATCHING for case in cases) == 110
    for case in cases:
        assert_same_schedule(case)
        if case["until"] is not None:
            got = run_case(case)
            assert got.progress == case["progress"], case
            assert {name: getattr(got, name) for name in case["counts"]} == case["counts"], case


def test_sums_of_a_run_worked_by_hand() -> None:
    """fcfs, B = 2, tokens 3 1 2 at time 1, a step of 0.5 + 0.25·|S| + 0.0625·|S|·m.

    step  batch (m)   m max  extent  duration                   ends
      1   0:1  1:1      1      0     0.5 + 0.5 + 0.125 = 1.125  2.125
      2   0:2  2:1      2      1     0.5 + 0.5 + 0.25  = 1.25   3.375
      3   0:3  2:2      3      1     0.5 + 0.5 + 0.375 = 1.375  4.75

    Request 2 pays 1 + 1, all of it caused by request 0; in step 1 nobody pays.
    """
    got = oracle.run(
        [3, 1, 2],
        [1.0, 1.0, 1.0],
        "fcfs",
        alpha=0.5,
        workers=1,
        batch_size=2,
        step=(0.5, 0.25, 0.0625),
        prompt=[1, 0, 1],
    )
    assert got.start == [1.0, 1.0, 2.125]
    assert got.finish == [4.75, 2.125, 4.75]
    assert got.start_step == [0, 0, 1]
    assert got.progress == [3, 1, 2]
    assert got.first_token == [3.375, 2.125, 4.75]
    assert (got.steps, got.requests, got.footprint) == (3, 6, 12)
    assert (got.externality, got.intrinsic) == (2, 10)
    assert got.externality_paid == [0, 0, 2]
    assert got.externality_caused == [2.0, 0.0, 0.0]
    assert (got.extent_sum, got.max_extent, got.violations) == (2, 1, 2)
    assert (got.busy_time, got.slot_time) == (3.75, 7.5)
    assert (got.arrived, got.completed, got.running_end, got.queued_end) == (3, 3, 0, 0)
