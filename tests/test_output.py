"""Statistics of output: by hand, by what they must not depend on, and by their coverage of exact queues."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_imports import imported_modules

import fairq.output
from benchmarks.coverage import coverage, main, multi_server_waits, single_server_waits, wilson
from fairq import InputError
from fairq.output import (
    Estimate,
    attainment,
    batches,
    best,
    effective_size,
    fixed_cut,
    mean_of_batches,
    mean_of_replications,
    mser5,
    no_cut,
    paired_differences,
    quantile,
    until_precise,
)

RNG = np.random.default_rng(7)
GROUPS = list(RNG.exponential(size=(8, 400)))
ESTIMATORS: list[Callable[..., Estimate]] = [
    mean_of_replications,
    lambda groups, confidence=0.95: quantile(groups, 0.9, confidence),
]


def test_the_mean_by_hand() -> None:
    # means 1, 2, 3: standard deviation 1, error 1/sqrt(3); t at 0.975 with 2 degrees is 4.302653
    estimate = mean_of_replications([[0, 2], [2, 2], [3, 3]])
    assert estimate.mean == 2
    assert estimate.half_width == pytest.approx(4.30265273 / math.sqrt(3))
    # values 0 2 2 2 3 3: variance 6/5 (sum 12, squares 30 − 24); of the mean 1/3
    assert estimate.effective_size == pytest.approx(1.2 * 3)


def test_independent_values_have_about_their_number_as_effective_size() -> None:
    sizes = [effective_size(RNG.random((40, 50))) for _ in range(200)]
    ratio = 2000 / np.array(sizes)  # the variance of a mean is estimated without bias, its inverse is not
    assert abs(ratio.mean() - 1) < 4 * ratio.std(ddof=1) / math.sqrt(len(ratio))


def test_correlated_batch_means_are_refused_with_twice_the_length() -> None:
    refused = mean_of_batches(np.arange(100.0))
    # batch means rise by 10 from 4.5: C = 1 − 9·100/(2·8250) = 0.945; bound 2.326·sqrt(8/99) = 0.661
    assert refused.refused == "neighbouring batch means are correlated (0.95 > 0.66): batches are too short"
    assert (refused.mean, refused.needed) == (49.5, 200)
    assert math.isnan(refused.low)
    assert mean_of_batches(np.arange(100.0) % 10).refused is None


@pytest.mark.parametrize("estimator", ESTIMATORS)
@given(scale=st.sampled_from([0.125, 4.0, 1024.0]), shift=st.integers(-50, 50))
def test_intervals_move_with_shift_and_scale(
    estimator: Callable[..., Estimate], scale: float, shift: int
) -> None:
    one, other = estimator(GROUPS), estimator([scale * group + shift for group in GROUPS])
    moved = [scale * value + shift for value in (one.mean, one.low, one.high)]
    assert [other.mean, other.low, other.high] == pytest.approx(moved)
    assert other.effective_size == pytest.approx(one.effective_size)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_intervals_of_more_confidence_hold_those_of_less(estimator: Callable[..., Estimate]) -> None:
    found = [estimator(GROUPS, confidence) for confidence in (0.5, 0.8, 0.9, 0.95)]
    for inner, outer in pairwise(found):
        assert outer.low <= inner.low <= inner.mean <= inner.high <= outer.high
    assert found[0].half_width < found[-1].half_width


def test_the_quantile_by_hand() -> None:
    # Two groups of 1..40, one with 21 values at or below 20 (a second 20 for its 21): the shares at 20 are
    # 20/40 and 21/40, their mean 0.5125 and error 0.0125, t at 0.75 with 1 degree is 1, so the values x
    # with |F(x) − 0.5| <= 0.0125 are kept.  F(19) = 19/40 = 0.475 is out, F(20) − 0.0125 = 0.5 is not below.
    first = np.arange(1.0, 41)
    second = np.where(first == 21, 20.0, first)
    estimate = quantile([first, second], 0.5, confidence=0.5)
    assert (estimate.mean, estimate.low, estimate.high) == (20, 20, 20)


def test_the_estimate_is_the_least_value_that_reaches_the_level() -> None:
    pooled = np.concatenate(GROUPS)
    assert quantile(GROUPS, 0.9).mean == np.quantile(pooled, 0.9, method="inverted_cdf")


def test_a_thin_tail_is_refused_with_the_length_that_would_do() -> None:
    estimate = quantile(np.random.default_rng(0).random((5, 100)), 0.99)
    assert estimate.refused == "the tail holds 1 values of a replication or batch; 10 are needed"
    assert estimate.needed == 5 * 1000  # 10 of 100 in each


def test_an_infinite_end_is_refused() -> None:
    groups = [np.arange(200.0) + 300 * (k == 0) for k in range(4)]  # one batch holds the whole tail
    estimate = quantile(groups, 0.9)
    assert estimate.refused is not None
    assert estimate.refused.startswith("an end would be infinite")
    assert math.isnan(estimate.high)
    assert estimate.needed is not None
    assert estimate.needed > 4 * estimate.size  # the error exceeds the tail, half of it is wanted


def test_a_quantile_on_an_atom_has_the_atom() -> None:
    groups = [np.concatenate([np.zeros(300), group]) for group in GROUPS]
    estimate = quantile(groups, 0.1)
    assert (estimate.low, estimate.mean, estimate.high) == (0, 0, 0)


def test_attainment_by_hand_and_its_refusal() -> None:
    estimate = attainment([[1, 9], [1, 1], [9, 9]], 5)
    assert (estimate.mean, estimate.low, estimate.high) == (0.5, 0, 1)  # 0.5 ± 4.30·0.29, cut
    sure = attainment([[1, 2], [1, 1]], 5)
    assert (sure.mean, sure.refused, sure.needed) == (1, "no value of 4 is beyond the limit 5", 8)
    assert attainment([[7, 8], [9, 9]], 5).refused == "every value of 4 is beyond the limit 5"


def test_mser_finds_the_step_and_says_so() -> None:
    warm_up = mser5([9.0] * 20 + [1.0, 2.0, 3.0, 2.0, 2.0] * 40, times=np.arange(220.0))
    assert (warm_up.index, warm_up.time, warm_up.refused) == (20, 20.0, None)
    assert "first 20 of 220" in warm_up.reason


def test_mser_is_the_least_of_its_definition() -> None:
    values = RNG.normal(size=200) + 5 * np.exp(-np.arange(200) / 15)
    means = values.reshape(-1, 5).mean(axis=1)
    direct = [means[cut:].var() / (40 - cut) for cut in range(35)]
    assert mser5(values).index == 5 * int(np.argmin(direct))


def test_half_rule_and_too_few_values() -> None:
    drifting = mser5(np.concatenate([np.arange(60.0), np.full(40, 100.0)]))
    assert drifting.index == 60
    assert drifting.refused == "the cut, 60 of 100 values, lies beyond half of the run: it is too short"
    assert drifting.needed == 200
    assert mser5([1.0] * 49).needed == 50
    assert mser5([0.1] * 100).index == 0  # equal values tie, whatever the rounding of their sums


def test_stated_cut_and_none() -> None:
    assert fixed_cut(2.0, [1.0, 2.0, 2.0, 3.0]).index == 1
    assert (no_cut().index, no_cut().refused) == (0, None)
    with pytest.raises(InputError, match=r"time is 4.0: it must be <= 3.0"):
        fixed_cut(4.0, [1.0, 3.0])


def test_differences_by_hand() -> None:
    found = paired_differences({"a": [1.0, 2, 3], "b": [2.0, 4, 6], "c": [1.0, 2, 3]}, "a")
    first, second = found
    # gaps 1, 2, 3 at confidence 1 − 0.05/2: t at 0.9875 with 2 degrees, s/sqrt(3) = 0.57735
    t = 6.2053468  # solves P(T <= t) = 1/2 + t/(2 sqrt(2 + t²)) = 0.9875
    assert t / (2 * math.sqrt(2 + t * t)) == pytest.approx(0.4875, abs=1e-8)
    assert first.estimate.half_width == pytest.approx(t / math.sqrt(3), rel=1e-6)
    # p = 1 − T/sqrt(2 + T²) with T = 2·sqrt(3); Holm doubles the least of two
    assert first.p_value == pytest.approx(2 * (1 - math.sqrt(12 / 14)))
    assert (second.estimate.mean, second.p_value, second.differs) == (0, 1, False)


def test_best_excludes_only_what_is_surely_worse() -> None:
    noise = RNG.normal(size=20)
    results = {"a": noise, "b": noise + 0.01 * RNG.normal(size=20), "c": noise + 1}
    found = best(results)
    assert {"a", "b"} >= set(found.may_be)
    assert found.leader in found.may_be
    assert best(results, largest=True).may_be == ("c",)


def test_the_best_is_seldom_excluded() -> None:
    rng, repeats = np.random.default_rng(3), 1000
    kept = sum("a" in best({name: rng.normal(size=8) for name in "abc"}).may_be for _ in range(repeats))
    assert kept / repeats > 0.95 - 4 * math.sqrt(0.95 * 0.05 / repeats)


def test_stopping_looks_at_growing_lengths_only() -> None:
    asked: list[int] = []

    def more(count: int) -> np.ndarray:
        asked.append(count)
        return np.full(count, 2.0)

    def estimate(run: np.ndarray) -> Estimate:
        reach = 10 / len(run)
        return Estimate(mean=2.0, low=2 - reach, high=2 + reach, confidence=0.95, size=len(run))

    # 10/n <= 2·0.05/1.05 from n = 105 on
    stopped = until_precise(more, estimate, relative=0.05, first=30, growth=2)
    assert (stopped.lengths, asked, stopped.is_precise) == ((30, 60, 120), [30, 30, 60], True)
    bounded = until_precise(more, estimate, absolute=0.01, first=30, growth=3, at_most=100)
    assert (bounded.lengths, bounded.is_precise) == ((30, 90, 100), False)


def test_a_refused_estimate_is_not_precise() -> None:
    stopped = until_precise(np.arange, mean_of_batches, relative=0.5, first=100, at_most=100)
    assert not stopped.is_precise


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mean_of_replications([[1.0]]), "groups holds 1: an interval needs at least 2"),
        (lambda: mean_of_replications([[1.0], []]), r"groups\[1\] has shape \(0,\)"),
        (lambda: mean_of_replications([[1.0], [math.nan]]), r"groups\[1\]\[0\] is nan"),
        (lambda: mean_of_replications([[1.0], ["x"]]), r"groups\[1\] is \['x'\]: it must hold numbers"),
        (lambda: quantile(GROUPS, 1.0), "level is 1.0: it must be > 0 and < 1"),
        (lambda: quantile(GROUPS, 0.5, 95), "confidence is 95: it must be > 0 and < 1"),
        (lambda: batches([1.0], 2), "count is 2: it must be at most the number of values, 1"),
        (lambda: batches([1.0], 1), "count is 1: it must be a whole number >= 2"),
        (lambda: mser5([1.0, 2.0], [1.0]), "times holds 1: it must hold one for each of the 2 values"),
        (lambda: mser5([1.0, 2.0], [2.0, 1.0]), "times are out of order"),
        (lambda: best({"a": [1.0, 2.0]}), "results holds 1: a comparison needs at least 2 policies"),
        (lambda: best({"a": [1.0, 2.0], "b": [1.0]}), "results holds replications a: 2, b: 1"),
        (lambda: paired_differences({"isjl": [1, 2], "ljf": [1, 2]}, "isjk"), "did you mean 'isjl'"),
        (lambda: until_precise(np.zeros, mean_of_batches), "relative and absolute are None"),
        (lambda: until_precise(np.zeros, mean_of_batches, relative=0), "relative is 0"),
        (lambda: until_precise(lambda _: [1.0], mean_of_batches, absolute=1), "more gave 1 values"),
    ],
)
def test_bad_input_is_one_line(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_output_never_imports_the_engine() -> None:
    named = set().union(*map(imported_modules, Path(fairq.output.__path__[0]).glob("*.py")))
    ours = {name for name in named if name.startswith("fairq") and not name.startswith("fairq.output")}
    assert ours == {"fairq.errors", "fairq.trend", "fairq.validation"}
    assert "scipy.stats" not in named


def test_both_recursions_agree_on_one_server() -> None:
    gaps, service = RNG.exponential(size=500), RNG.exponential(size=500)
    assert multi_server_waits(gaps, service, 1) == pytest.approx(single_server_waits(gaps, service))


def test_wilson_holds_the_share_and_the_benchmark_prints(capsys: pytest.CaptureFixture[str]) -> None:
    low, high = wilson(95, 100)
    assert low < 0.95 < high
    assert main(["--customers", "2000", "--repeats", "2"]) == 0
    assert "| M/D/8 | p99 |" in capsys.readouterr().out
    assert main(["--customers", "1"]) == 2


@pytest.mark.slow
@pytest.mark.parametrize("queue", ["M/M/8", "M/D/8"])
def test_intervals_cover_exact_waits(queue: str) -> None:
    found = coverage(queue, customers=100_000, repeats=100)
    for key in ("mean", "p95"):
        row = found[key]
        assert row.given >= 0.9 * row.repeats
        assert wilson(row.hits, row.given)[1] >= 0.92
