"""The engine against the oracle: times bit for bit, integers exactly, other numbers to 1e-9."""

from __future__ import annotations

from math import floor, isclose, isnan, nan
from typing import Any

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from instances import Instance, instances, random_instance

import fairq
from fairq.result import Result

SEEDS = 2000  # times 11 variants: `make test` runs the first QUICK of them, `make test-slow` the others
QUICK = 500
CHUNK = 250
CHECKED = 5  # check() costs as much as the run: one instance of so many, under every policy

PACK_ORDERS = ("ascending", "descending")
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in oracle.RULES),
    *((name, {"pack_order": order}) for name in ("isjl", "robust-isjl") for order in PACK_ORDERS),
]
WAITS = (0, 0.5, 1, 2.5, 4, 10)  # units of time, times about a step; some end on boundaries, some between
WAITING: list[tuple[str, str, dict[str, Any]]] = [  # policy, the option that is such a time, the others
    ("matched", "", {}),
    ("cluster", "", {}),
    ("cluster", "patience", {}),
    *(("window", "window", {"base": name}) for name in (*oracle.RULES, "isjl", "matched", "cluster")),
    ("window", "window", {"base": "robust-isjl", "min_batch": 2}),
    ("window", "window", {"base": "cluster", "patience": 3}),
    ("window", "window", {"base": "ljf-fair", "max_wait": 6, "min_batch": 3}),
    *((name, "max_wait", {}) for name in ("ljf", "ljf-fair", "isjl", "robust-isjl", "free-ride")),
]
FEWER = 100  # instances for each of those, and three times as many in `make test-slow`
NEED_NO_ALPHA = ("fcfs", "fcfs-static", "sjf", "ljf", "matched")
MAY_EXCEED_ALPHA = ("fcfs", "sjf", "window")

METRICS = ("latency", "wait", "ttft", "tpot")
QUANTILES = {"p50": 50, "p90": 90, "p95": 95, "p99": 99}


def engine_clock(step: tuple[float, float, float]) -> tuple[str | fairq.StepTime, fairq.Cost]:
    """Each of the three ways to say what a step takes has its step times here."""
    cost = fairq.Cost(c=0.25, tau=0.001, price=0.01, worker=0.003)
    if step == (1.0, 0.0, 0.0):
        return "token", cost
    if step == (0.011, 0.0, 0.0005):
        return "cost", fairq.Cost(c=0.011, tau=0.0005, price=0.01, worker=0.003)
    return fairq.StepTime(*step), cost


def policy_options(instance: Instance, policy: str, options: dict[str, Any]) -> dict[str, Any]:
    return (
        options if "robust-isjl" in (policy, options.get("base")) else {**options, "size": instance["size"]}
    )


def run_engine(instance: Instance, policy: str, options: dict[str, Any], **keywords: Any) -> Result:
    workload = fairq.Workload.from_arrays(
        tokens=instance["tokens"],
        arrival=instance["arrival"],
        prompt_tokens=instance["prompt"],
        upper=instance["upper"],
    )
    clock, cost = engine_clock(instance["step"])
    return fairq.simulate(
        workload,
        policy,
        alpha=instance["alpha"],
        workers=instance["workers"],
        batch_size=instance["batch_size"],
        clock=clock,
        cost=cost,
        until=instance["until"],
        **policy_options(instance, policy, options),
        **keywords,
    )


def run_oracle(instance: Instance, policy: str, options: dict[str, Any]) -> oracle.OracleRun:
    return oracle.run(
        instance["tokens"],
        instance["arrival"],
        policy,
        alpha=instance["alpha"],
        workers=instance["workers"],
        batch_size=instance["batch_size"],
        step=instance["step"],
        upper=instance["upper"],
        options=policy_options(instance, policy, options),
        until=instance["until"],
        prompt=instance["prompt"],
    )


def expected_metrics(instance: Instance, run: oracle.OracleRun) -> dict[str, list[float]]:
    """The four times of each request, NaN where there is none."""
    arrival, first, finish = instance["arrival"], run.first_token, run.finish
    prompt = instance["prompt"] or [0] * len(arrival)
    later = [o - p - 1 for o, p in zip(instance["tokens"], prompt, strict=True)]
    return {
        "latency": [nan if f is None else f - a for f, a in zip(finish, arrival, strict=True)],
        "wait": [nan if s is None else s - a for s, a in zip(run.start, arrival, strict=True)],
        "ttft": [nan if f is None else f - a for f, a in zip(first, arrival, strict=True)],
        "tpot": [
            nan if f is None or t is None or k == 0 else (f - t) / k
            for f, t, k in zip(finish, first, later, strict=True)
        ],
    }


def expected_summary(instance: Instance, run: oracle.OracleRun) -> dict[str, float]:
    """The summary from the oracle's sums, for a run in which a step was finished."""
    cost = engine_clock(instance["step"])[1]
    last = max((f for f in run.finish if f is not None), default=nan)
    makespan = (last if instance["until"] is None else instance["until"]) - min(instance["arrival"])
    workers, batch_size = instance["workers"], instance["batch_size"]
    finished = zip(instance["tokens"], run.finish, strict=True)
    revenue = cost.price * sum(o for o, finish in finished if finish is not None)
    steps_cost = cost.c * run.steps + cost.tau * run.footprint
    workers_cost = cost.worker * workers * makespan
    summary = {
        "makespan": makespan,
        "throughput": run.requests / makespan,
        "revenue": revenue,
        "cost": steps_cost,
        "cost_intrinsic": cost.tau * run.intrinsic,
        "cost_time": cost.c * run.steps,
        "cost_externality": cost.tau * run.externality,
        "cost_workers": workers_cost,
        "profit": revenue - steps_cost - workers_cost,
        "mean_extent": run.extent_sum / run.steps,
        "utilisation": run.slot_time / (workers * batch_size * makespan),
        "busy_fraction": run.busy_time / (workers * makespan),
    }
    for metric, values in expected_metrics(instance, run).items():
        known = sorted(value for value in values if not isnan(value))
        summary[f"{metric}_mean"] = sum(known) / len(known) if known else nan
        for name, percent in QUANTILES.items():
            rank = -(-percent * len(known) // 100)
            summary[f"{metric}_{name}"] = known[rank - 1] if known else nan
    return summary


def close(got: float, expected: float) -> bool:
    if isnan(expected):
        return isnan(got)
    return isclose(got, expected, rel_tol=1e-9, abs_tol=1e-12)


def with_none(column: Any) -> list[float | None]:
    return [None if isnan(value) else value for value in column.tolist()]


def assert_same_requests(result: Result, instance: Instance, expected: oracle.OracleRun) -> None:
    table = result.requests
    assert with_none(table["start"]) == expected.start
    assert with_none(table["finish"]) == expected.finish
    assert with_none(table["first_token"]) == expected.first_token
    assert table["worker"].tolist() == expected.worker
    assert table["start_step"].tolist() == expected.start_step
    assert table["progress"].tolist() == expected.progress
    assert table["completed"].tolist() == [finish is not None for finish in expected.finish]
    assert table["externality_paid"].tolist() == expected.externality_paid
    caused = table["externality_caused"].tolist()
    assert all(close(*pair) for pair in zip(caused, expected.externality_caused, strict=True))
    for metric, values in expected_metrics(instance, expected).items():
        assert all(close(*pair) for pair in zip(table[metric].tolist(), values, strict=True)), metric


def assert_same_summary(result: Result, instance: Instance, expected: oracle.OracleRun) -> None:
    summary = result.summary
    for name in ("arrived", "completed", "running_end", "queued_end", "externality"):
        assert summary[name] == getattr(expected, name), name
    assert summary["busy_steps"] == expected.steps
    assert summary["tokens"] == expected.requests
    assert summary["violations"] == expected.violations
    if expected.steps:
        assert summary["max_extent"] == expected.max_extent
        for name, value in expected_summary(instance, expected).items():
            assert close(summary[name], value), (name, summary[name], value)


def assert_agrees(instance: Instance, policy: str, options: dict[str, Any], *, check: bool) -> None:
    result = run_engine(instance, policy, options)
    expected = run_oracle(instance, policy, options)
    try:
        assert_same_requests(result, instance, expected)
        assert_same_summary(result, instance, expected)
        assert policy in MAY_EXCEED_ALPHA or expected.max_extent <= floor(instance["alpha"])
        if check:
            result.check()
    except Exception as error:
        error.add_note(f"{policy} {options} on {instance}")
        raise


@pytest.mark.parametrize(
    "first",
    [
        *range(0, QUICK, CHUNK),
        *(pytest.param(first, marks=pytest.mark.slow) for first in range(QUICK, SEEDS, CHUNK)),
    ],
)
@pytest.mark.parametrize(("policy", "options"), VARIANTS)
def test_seeded_instances(policy: str, options: dict[str, Any], first: int) -> None:
    for seed in range(first, first + CHUNK):
        instance = random_instance(np.random.default_rng(seed))
        assert_agrees(instance, policy, options, check=seed % CHECKED == 0)


@settings(max_examples=200)
@given(instances(), st.sampled_from(VARIANTS))
def test_drawn_instances(instance: Instance, variant: tuple[str, dict[str, str]]) -> None:
    """The same by Hypothesis, which shrinks what it finds to a small instance."""
    assert_agrees(instance, *variant, check=True)


@pytest.mark.parametrize("policy", NEED_NO_ALPHA)
def test_without_alpha_nothing_is_counted_as_a_violation(policy: str) -> None:
    for seed in range(40):
        instance = {**random_instance(np.random.default_rng(seed)), "alpha": None}
        result = run_engine(instance, policy, {})
        assert_same_requests(result, instance, run_oracle(instance, policy, {}))
        assert isnan(result.summary["violations"])
        result.check()


@pytest.mark.parametrize(("policy", "options"), VARIANTS)
def test_segments_add_up_to_the_steps(policy: str, options: dict[str, Any]) -> None:
    for seed in range(40):
        instance = random_instance(np.random.default_rng(seed))
        result = run_engine(instance, policy, options, record="segments")
        expected = run_oracle(instance, policy, options)
        parts = result.segments
        extent = parts["max_progress"] - parts["min_progress"]
        assert parts["steps"].sum() == expected.steps
        assert (parts["steps"] * parts["batch"]).sum() == expected.requests
        assert (parts["steps"] * extent).sum() == expected.extent_sum
        assert extent.max() == expected.max_extent or parts.empty
        assert close(((parts["end"] - parts["start"]) * parts["batch"]).sum(), expected.slot_time)
        result.check()


@pytest.mark.parametrize(
    "first", [0, *(pytest.param(part * FEWER, marks=pytest.mark.slow) for part in (1, 2, 3))]
)
@pytest.mark.parametrize(("policy", "time", "options"), WAITING)
def test_policies_that_wait(policy: str, time: str, options: dict[str, Any], first: int) -> None:
    for seed in range(first, first + FEWER):
        rng = np.random.default_rng([seed, 7])
        instance = random_instance(rng)
        given = dict(options)
        if time:
            given[time] = float(rng.choice(WAITS)) * sum(instance["step"]) * float(rng.choice([1, 1, 1.3]))
        assert_agrees(instance, policy, given, check=seed % CHECKED == 0)


def hand_worked(tokens: list[int], arrival: list[float]) -> Instance:
    return {
        "tokens": tokens,
        "arrival": arrival,
        "upper": None,
        "size": "tokens",
        "prompt": None,
        "alpha": 3,
        "workers": 2,
        "batch_size": 2,
        "step": (1.0, 0.0, 0.0),
        "until": None,
    }


# A cohort can start all it reserved by the time it gives back, unless something longer arrives and goes
# first: too rare a thing to leave to chance.  In both instances 8 leads 6, and their pack is 4 (d = 1).


def test_what_a_cohort_gives_back_starts_elsewhere_at_that_instant() -> None:
    """On worker 0: 4: 0-4, 8: 1-9; at 4, with 3 tokens of 8 done, 21 goes ahead of 6, and 20 to worker 1.

    At 5 the 8 has alpha + 1 tokens: 6 comes back, and joins the 20 at its boundary.
    """
    instance = hand_worked([8, 6, 4, 20, 21], [0, 0, 0, 4, 4])
    assert_agrees(instance, "isjl", {}, check=True)
    expected = run_oracle(instance, "isjl", {})
    assert expected.start == [1, 5, 0, 4, 4]
    assert expected.worker == [0, 1, 0, 1, 0]


def test_workers_asked_before_the_give_back_are_asked_again() -> None:
    """Worker 0 runs 10: 0-10.  On worker 1: 4: 5-9, 8: 6-14, and at 9 the 20 goes ahead of 6.

    At 10 worker 0 is asked first and finds nothing; then worker 1 gives 6 back; then 0 takes it.
    """
    instance = hand_worked([10, 8, 6, 4, 20], [0, 5, 5, 5, 9])
    assert_agrees(instance, "isjl", {}, check=True)
    expected = run_oracle(instance, "isjl", {})
    assert expected.start == [0, 6, 10, 5, 9]
    assert expected.worker == [0, 1, 0, 1, 1]


def test_workers_asked_after_the_give_back_are_asked_before_those_asked_ahead_of_it() -> None:
    """As before, but worker 2 idles: at 10 it comes after worker 1 in the round in which that gives 6 back.

    Worker 0, which idles from 10 on as well, would be asked again only in the next round.
    """
    instance = {**hand_worked([10, 8, 6, 4, 20], [0, 5, 5, 5, 9]), "workers": 3}
    assert_agrees(instance, "isjl", {}, check=True)
    expected = run_oracle(instance, "isjl", {})
    assert expected.start == [0, 6, 10, 5, 9]
    assert expected.worker == [0, 1, 2, 1, 1]


def test_an_idle_worker_whose_cohort_waits_leaves_an_arrival_to_the_next() -> None:
    """8 leads 6, and the pack of 2 and 3 makes d = 2: at 2 worker 0 has an empty batch, and no slot to spare.

    So the 6 that arrives at 2 starts at 2 on worker 1.
    """
    instance = hand_worked([2, 8, 3, 6, 6], [0, 0, 0, 0, 2])
    assert_agrees(instance, "isjl", {}, check=True)
    expected = run_oracle(instance, "isjl", {})
    assert expected.start == [0, 2, 2, 5, 2]
    assert expected.worker == [0, 0, 0, 0, 1]


@pytest.mark.parametrize("first", [0, *(pytest.param(300 * k, marks=pytest.mark.slow) for k in range(1, 20))])
def test_crowded_cohorts(first: int) -> None:
    """Many short cohorts side by side on one grid: give-backs that reach other workers are common here."""
    for seed in range(first, first + 300):
        rng = np.random.default_rng([seed, 99])
        count = int(rng.integers(8, 26))
        tokens = [int(each) for each in rng.choice((4, 6, 8, 10, 20, 21, 5, 7, 12, 3, 2), count)]
        arrival = sorted(float(each) for each in rng.integers(0, 12, count))
        instance = {**hand_worked(tokens, arrival), "workers": int(rng.integers(3, 5))}
        instance["batch_size"] = int(rng.integers(2, 4))
        assert_same_starts(instance, ("isjl", "free-ride")[seed % 2])


def assert_same_starts(instance: Instance, policy: str) -> None:
    result, expected = run_engine(instance, policy, {}), run_oracle(instance, policy, {})
    assert with_none(result.requests["start"]) == expected.start, instance
    assert result.requests["worker"].tolist() == expected.worker, instance
