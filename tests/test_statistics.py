"""Intervals over replications: against scipy, by hand, and by their coverage."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fairq import InputError
from fairq.statistics import intervals, jackknife_ratio, mean_interval, paired_difference, summarise

SAMPLES = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30)


@given(SAMPLES, st.sampled_from([0.8, 0.95, 0.99]))
def test_mean_interval_is_scipys(values: list[float], confidence: float) -> None:
    interval = mean_interval(values, confidence)
    error = stats.sem(values)
    low, high = stats.t.interval(confidence, len(values) - 1, loc=np.mean(values), scale=error or 1.0)
    if not error:  # scipy has no interval of no width
        low = high = np.mean(values)
    assert interval.n == len(values)
    assert interval.mean == pytest.approx(np.mean(values), rel=1e-12, abs=1e-9)
    assert (interval.low, interval.high) == pytest.approx((low, high), rel=1e-9, abs=1e-6)


def test_nan_values_are_left_out_and_not_counted() -> None:
    assert mean_interval([1.0, math.nan, 3.0]) == mean_interval([1.0, 3.0])


def test_one_value_has_no_interval_and_none_no_mean() -> None:
    one, none = mean_interval([4.0]), mean_interval([math.nan])
    assert (one.mean, one.n, one.known, one.sign) == (4.0, 1, False, 0)
    assert (math.isnan(none.mean), none.n, none.known) == (True, 0, False)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95, math.nan])
def test_confidence_is_a_probability(confidence: float) -> None:
    with pytest.raises(InputError, match=r"confidence is .*: it must be a number between 0 and 1"):
        mean_interval([1.0, 2.0], confidence)


def test_intervals_cover_as_often_as_they_say() -> None:
    samples = np.random.default_rng(11).exponential(size=(4000, 40))
    hits = sum(interval.low <= 1 <= interval.high for interval in map(mean_interval, samples))
    error = math.sqrt(0.95 * 0.05 / len(samples))
    # with 40 skew values the t interval falls about 1.5 points short; it must not fall further
    assert 0.93 - 3 * error < hits / len(samples) < 0.95 + 3 * error


def runs_of(**columns: list[float]) -> pd.DataFrame:
    return pd.DataFrame({"cell": [0, 0, 0, 1, 1, 1], "replication": [0, 1, 2, 2, 1, 0], **columns})


def test_paired_difference_pairs_by_replication() -> None:
    runs = runs_of(cost=[10.0, 20.0, 30.0, 29.0, 18.0, 7.0])
    assert paired_difference(runs, "cost", 0, 1) == mean_interval([3.0, 2.0, 1.0])


def test_summary_is_tidy_and_can_be_read_back() -> None:
    runs = runs_of(policy=["a"] * 3 + ["b"] * 3, cost=[1.0, 2, 3, 4, 5, math.nan], steps=[1.0] * 6)
    summary = summarise(runs, ["cell", "policy"], ["cost", "steps"])
    assert list(summary.columns) == ["cell", "policy", "metric", "n", "mean", "ci_low", "ci_high"]
    assert summary[["cell", "metric"]].to_numpy().tolist() == [
        [0, "cost"],
        [0, "steps"],
        [1, "cost"],
        [1, "steps"],
    ]
    assert intervals(summary)[1, "cost"] == mean_interval([4.0, 5.0])


def test_jackknife_ratio_covers_the_ratio_of_the_means() -> None:
    generator = np.random.default_rng(5)
    hits, repeats = 0, 1000
    for _ in range(repeats):
        bottom = generator.normal(10, 2, 20)
        interval = jackknife_ratio((3 * bottom + generator.normal(0, 2, 20)).tolist(), bottom.tolist())
        hits += interval.low <= 3 <= interval.high
    assert hits / repeats > 0.95 - 4 * math.sqrt(0.95 * 0.05 / repeats)


def test_jackknife_ratio_has_no_interval_where_the_divisor_may_be_nothing() -> None:
    interval = jackknife_ratio([1.0, 1.0, 1.0], [-1.0, 5.0, 1.0])
    assert interval.mean == pytest.approx(0.6)
    assert not interval.known
