"""The quality of predictions: kappa, slack, and the packable slack of Section 3.4."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest

import fairq
import fairq.slack
from fairq.slack import _by_length, _by_slack, aggregate_bound, packable_bound, packable_slack


def partitions(items: list[int]) -> Iterator[list[list[int]]]:
    """Every way to put the items into groups."""
    if not items:
        yield []
        return
    head, *rest = items
    for found in partitions(rest):
        yield [[head], *found]
        for at in range(len(found)):
            yield [*found[:at], [head, *found[at]], *found[at + 1 :]]


def least(size: list[int], slack: list[int], batch_size: int, alpha: int) -> int:
    """The packable slack by its definition, over all partitions."""
    return min(
        sum(max(slack[i] for i in group) for group in groups)
        for groups in partitions(list(range(len(size))))
        if all(
            len(group) <= batch_size and max(size[i] for i in group) - min(size[i] for i in group) <= alpha
            for group in groups
        )
    )


def test_the_packable_slack_is_exact_where_it_says_so():
    rng = np.random.default_rng(7)
    for _ in range(200):
        n, batch_size, alpha = int(rng.integers(1, 8)), int(rng.integers(1, 5)), int(rng.integers(0, 6))
        size, slack = rng.integers(1, 12, n), rng.integers(0, 8, n)
        found = packable_slack(size, size + slack, batch_size, alpha)
        assert found.method == "exact"
        assert found.value == least(size.tolist(), slack.tolist(), batch_size, alpha)


def test_the_partitions_for_many_requests_are_valid_and_no_better_than_the_best():
    rng = np.random.default_rng(8)
    for _ in range(200):
        n, batch_size, alpha = int(rng.integers(1, 8)), int(rng.integers(1, 5)), int(rng.integers(0, 6))
        size, slack = rng.integers(1, 12, n), rng.integers(0, 8, n)
        best = least(size.tolist(), slack.tolist(), batch_size, alpha)
        for method in (_by_length, _by_slack):
            found = method(size, slack, batch_size, alpha)
            assert best <= found.value <= slack.sum()
            assert -(-n // batch_size) <= found.groups <= n


def test_one_window_of_equal_errors_is_the_example_of_remark_3_25():
    """All lengths within alpha, all slacks e: ceil(n/B)·e, where the aggregate is n·e."""
    size = np.arange(100, 150)
    found = packable_slack(size, size + 3, batch_size=8, alpha=60)
    assert found.value == math.ceil(50 / 8) * 3
    assert found.groups == 7
    assert found.method in ("by length", "by slack")


def test_without_slack_the_answer_is_exact_for_any_number():
    size = np.arange(1, 1001)
    assert packable_slack(size, size, batch_size=8, alpha=3) == fairq.slack.PackableSlack(0, "exact", 250)


@pytest.mark.parametrize("method", [_by_length, _by_slack])
def test_each_method_is_better_somewhere(method):
    """Lengths 1 2 | 3 in windows of two lengths; by length from the longest: 3 2 | 1."""
    size = {_by_length: np.array([2, 3]), _by_slack: np.array([1, 1, 1, 1])}[method]
    slack = {_by_length: np.array([5, 5]), _by_slack: np.array([9, 1, 9, 1])}[method]
    if method is _by_length:
        size, slack = np.append(size, 1), np.append(slack, 0)
    values = {f: f(size, slack, 2, 1).value for f in (_by_length, _by_slack)}
    assert values[method] == min(values.values()) < max(values.values())


def test_bad_input():
    with pytest.raises(fairq.InputError, match=r"upper\[1\] is 3: it must be >= tokens\[1\], 4"):
        packable_slack([4, 4], [4, 3], 2, 1)
    with pytest.raises(fairq.InputError, match="alpha is -1: it must be a whole number >= 0"):
        packable_slack([4], [4], 2, -1)


def test_predictions_of_a_run_by_hand():
    """B = 2, alpha = 3, o = 6 6 2 2, u = 6 6 2 3 (design.md, section 7): 10 steps, at least 8 are needed.

    kappa = 2/3, slack 1 of 16 tokens; request 3 shares its group with request 2.
    """
    workload = fairq.Workload.from_arrays([6, 6, 2, 2], upper=[6, 6, 2, 3])
    run = fairq.simulate(workload, "robust-isjl", alpha=3, batch_size=2)
    found = run.predictions
    assert run.summary["makespan"] == 10
    assert (found.kappa, found.slack, found.mean_slack) == (2 / 3, 1, 1 / 16)
    assert (found.packable.value, found.packable.method, found.claimed) == (1, "exact", True)
    assert found.packable_bound == pytest.approx(0.75 / (1 + 1 / 8))
    assert found.aggregate_bound == pytest.approx(0.75 / (1 + 2 / 16))
    assert found.measured == 8 / 10


def test_the_bounds_are_those_of_the_paper():
    assert packable_bound(5, 10) == 0.75 / 1.5
    assert math.isnan(packable_bound(5, math.nan))
    assert aggregate_bound(0.0, 16) == 0.75


@pytest.mark.parametrize(
    ("change", "measured", "claimed"),
    [
        ({}, True, True),
        ({"workers": 2}, False, False),
        ({"clock": fairq.StepTime(c=0.5, tau=0.1)}, False, False),
        ({"clock": fairq.StepTime(c=0.5)}, True, True),
        ({"until": 3.0}, False, False),
        ({"policy": "isjl"}, True, False),
        ({"arrival": [0.0, 1.0, 1.0, 2.0]}, True, False),
    ],
)
def test_the_bound_is_claimed_for_the_papers_model_alone(change, measured, claimed):
    arrival, policy = change.pop("arrival", None), change.pop("policy", "robust-isjl")
    workload = fairq.Workload.from_arrays([6, 6, 2, 2], arrival, upper=[6, 6, 2, 3])
    found = fairq.simulate(workload, policy, alpha=3, batch_size=2, **change).predictions
    assert math.isfinite(found.measured) is measured
    assert found.claimed is claimed


def test_a_longer_step_changes_no_ratio():
    workload = fairq.Workload.from_arrays([6, 6, 2, 2], upper=[6, 6, 2, 3])
    ratios = {
        fairq.simulate(
            workload, "robust-isjl", alpha=3, batch_size=2, clock=fairq.StepTime(c=c)
        ).predictions.measured
        for c in (1.0, 0.5, 4.0)
    }
    assert ratios == {0.8}
