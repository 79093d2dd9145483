"""The definitions of the metrics, each on an example worked by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fairq
from fairq.classes import find_classes, revenue
from fairq.latencies import quantile, statistics_of
from fairq.length_classes import jain_index, length_classes
from fairq.occupancy import check_little, occupancy
from fairq.sla import judge

COST = fairq.Cost(c=0.5, tau=0.25, price=2.0, worker=0.125)


@pytest.fixture
def lockstep():
    """FCFS, B = 2, lengths 4 2 3, token clock; request 2 joins at step 3.

    step   working on m of request    extent   KV
    1      0: 1   1: 1                0        2
    2      0: 2   1: 2                0        4
    3      0: 3   2: 1                2        4
    4      0: 4   2: 2                2        6
    5      2: 3                       0        3
    """
    workload = fairq.Workload.from_arrays([4, 2, 3], prompt_tokens=[1, 0, 2], label=["b", "a", "a"])
    return fairq.simulate(workload, "fcfs", alpha=1, batch_size=2, cost=COST, record="segments")


@pytest.fixture
def cut():
    """B = 1, steps of 2, until 9: request 0 runs 0 to 6, request 1 from 6 (a step ends at 8), 2 waits.

    Request 3 arrives after the end.
    """
    workload = fairq.Workload.from_arrays([3, 2, 9, 1], arrival=[0.0, 1.0, 5.5, 9.5])
    return fairq.simulate(
        workload, "fcfs", batch_size=1, clock=fairq.StepTime(c=2.0), until=9.0, record="segments"
    )


def test_the_summary_over_time(lockstep):
    summary = lockstep.summary
    expected = {
        "mean_batch": 9 / 5,
        "mean_extent_by_time": 4 / 5,
        "mean_queue": 2 / 5,  # request 2 waits for 2 of the 5 steps
        "mean_in_system": (4 + 2 + 5) / 5,
        "kv_peak": 6,
        "kv_mean": (2 + 4 + 4 + 6 + 3) / 5,
        "oldest_age": 2.0,
        "wait_p999": 2.0,
        "normalised_latency_mean": (4 / 3 + 2 / 2 + 5 / 1) / 3,
        "normalised_latency_p50": 4 / 3,
        # quarters of three lengths: {2}, {3}, {4}, slowed 1, 5/3 and 1 times
        "jain_slowdown": (11 / 3) ** 2 / (3 * (1 + 25 / 9 + 1)),
    }
    assert {name: summary[name] for name in expected} == pytest.approx(expected)


def test_the_names_of_the_summary_stand_in_the_documented_order(lockstep):
    names = list(lockstep.summary.index)
    assert names[:8] == [
        "arrived", "completed", "running_end", "queued_end", "rejected", "abandoned", "unstable", "tokens",
    ]  # fmt: skip
    assert names[names.index("tpot_undefined") + 1 :] == [
        "normalised_latency_mean", "normalised_latency_p50", "normalised_latency_p90",
        "normalised_latency_p95", "normalised_latency_p99", "wait_p999", "mean_batch", "mean_extent_by_time",
        "mean_queue", "mean_in_system", "kv_peak", "kv_mean", "oldest_age", "jain_slowdown",
        "rejected_share", "abandoned_share", "cost_per_million", "revenue_per_million",
        "profit_per_million", "stopped_at",
    ]  # fmt: skip


def test_averages_weigh_steps_by_their_duration():
    """Steps of 1 + m: request 0 alone would take 2 + 3; with lengths 2 1 the first step is 1 + 2·1 = 3.

    KV 2 for a time of 3 (batch of two at m = 1), 2 for a time of 3 (one at m = 2: 1 + 2).
    """
    workload = fairq.Workload.from_arrays([2, 1])
    run = fairq.simulate(workload, "fcfs", batch_size=2, clock=fairq.StepTime(c=1.0, tau=1.0))
    assert run.summary["makespan"] == 6.0
    assert run.summary["mean_batch"] == pytest.approx((2 * 3 + 1 * 3) / 6)
    assert run.summary["kv_mean"] == pytest.approx(2.0)


def test_a_prompt_in_chunks_is_held_in_tokens():
    """Prompt 5 in chunks of 2, output 2: steps end with 2, 4, 5, 6 and 7 tokens held."""
    workload = fairq.Workload.from_arrays([7], prompt_tokens=[5]).chunk_prompt(2)
    run = fairq.simulate(workload, "fcfs", batch_size=1)
    assert run.summary["busy_steps"] == 5
    assert run.summary["kv_mean"] == pytest.approx((2 + 4 + 5 + 6 + 7) / 5)
    assert run.summary["kv_peak"] == 7


def test_what_waits_at_the_end_counts_until_then(cut):
    summary = cut.summary
    assert [summary[name] for name in ("arrived", "completed", "running_end", "queued_end")] == [3, 1, 1, 1]
    assert summary["mean_queue"] == pytest.approx((5 + 3.5) / 9)  # from 1 to 6, and from 5.5 on
    assert summary["mean_in_system"] == pytest.approx((6 + 8 + 3.5) / 9)
    assert summary["oldest_age"] == 5.0
    assert summary["mean_batch"] == 1.0


def test_slas_at_the_end_of_a_run(cut):
    """By 9 request 0 took 6, request 1 is 8 old and started at age 5, request 2 is 3.5 old."""

    def counts(limits):
        found = judge(cut.requests, cut.workload, np.zeros(4, dtype=np.int64), [limits], cut.horizon)
        return [found.met.sum(), found.missed.sum(), found.censored.sum()]

    assert counts({"latency": 6.0}) == [1, 1, 1]  # 1 is too old already, 2 may still make it
    assert counts({"latency": 8.0}) == [1, 0, 2]
    assert counts({"latency": 3.0}) == [0, 3, 0]
    assert counts({"wait": 4.0}) == [1, 1, 1]
    assert counts({"wait": 5.0}) == [2, 0, 1]  # who has started is judged, finished or not
    assert counts({"ttft": 6.5}) == [1, 1, 1]  # 1 had its first token at 8, at age 7
    assert counts({"normalised_latency": 3.9}) == [1, 1, 1]  # 6/3; already 8/2; so far 3.5/9
    assert counts({"wait": 5.0, "latency": 7.0}) == [1, 1, 1]
    assert counts({}) == counts(None) == [0, 0, 0]


def test_tpot_of_one_token_keeps_its_limit_and_is_counted_apart(lockstep):
    terms = [{"tpot": 0.5}]
    found = judge(lockstep.requests, lockstep.workload, np.zeros(3, dtype=np.int64), terms, None)
    assert found.met.tolist() == [False, False, True]
    assert found.undefined.tolist() == [False, False, True]
    assert found.counts(slice(None), 5.0) == {
        "attainment": 1 / 3, "goodput": 1 / 5, "sla_censored": 0, "sla_undefined": 1,
    }  # fmt: skip


def test_an_sla_on_no_metric_of_ours_is_an_error(lockstep):
    with pytest.raises(
        fairq.InputError, match="unknown metric 'latencies' of an SLA: did you mean 'latency'"
    ):
        judge(lockstep.requests, lockstep.workload, np.zeros(3, dtype=np.int64), [{"latencies": 1.0}], None)


def test_the_cost_of_a_class_is_what_it_brings_and_causes(lockstep):
    """c = 1/2, tau = 1/4.  Request 0 has 10 own tokens, causes 4 and shares 4 steps by two.

    Request 1: 3 own, 2 steps by two.  Request 2: 6 own, 2 steps by two and 1 alone.
    """
    table = lockstep.classes
    assert table.index.tolist() == ["b", "a", "all"]
    assert table["cost"].tolist() == pytest.approx(
        [0.25 * 14 + 0.5 * 2, 0.25 * 9 + 0.5 * 3, 0.25 * 23 + 0.5 * 5]
    )
    assert table["revenue"].tolist() == [8.0, 10.0, 18.0]
    assert table["cost_workers"].tolist() == pytest.approx([0.625 * 4 / 9, 0.625 * 5 / 9, 0.625])
    assert table["profit"].iloc[:2].sum() == pytest.approx(lockstep.summary["profit"])
    assert table["externality_paid"].tolist() == [0, 4, 4]
    assert table["externality_caused"].tolist() == [4.0, 0.0, 4.0]


def test_classes_with_terms_come_first_and_keep_their_prices():
    """Labels c (no terms) and a, b with terms, one without an SLA and one without a price."""
    terms = {"b": fairq.Terms(price=3.0), "a": fairq.Terms(sla={"wait": 1.0})}
    workload = fairq.Workload.from_arrays([9] * 4, label=["c", "a", "c", "b"]).with_terms(terms)
    classes = find_classes(workload)
    assert list(classes.labels) == ["b", "a", "c"]
    assert classes.index.tolist() == [2, 1, 2, 0]
    assert classes.price(2.0).tolist() == [3.0, 2.0, 2.0]
    assert classes.limits() == [None, {"wait": 1.0}, None]
    assert revenue(workload, 2.0, np.array([10, 20, 0, 5])) == 2.0 * 30 + 3.0 * 5


def test_a_run_with_terms_uses_each_class_s_own():
    """B = 1, lengths 4 2 3: chat pays 1 a token and wants a latency of 4, code pays 5 and has no SLA.

    Latencies are 4, 6 and 9: of the two chats one keeps its SLA in a makespan of 9.
    """
    workload = fairq.Workload.from_arrays([4, 2, 3], label=["chat", "code", "chat"]).with_terms(
        {"chat": fairq.Terms(price=1.0, sla={"latency": 4.0}), "code": fairq.Terms(price=5.0)}
    )
    run = fairq.simulate(workload, "fcfs", batch_size=1)
    table = run.classes
    assert run.summary["revenue"] == 7 * 1.0 + 2 * 5.0
    assert table["revenue"].tolist() == [7.0, 10.0, 17.0]
    assert table["attainment"].tolist() == pytest.approx([0.5, np.nan, 0.5], nan_ok=True)
    assert table["goodput"].tolist() == pytest.approx([1 / 9, np.nan, 1 / 9], nan_ok=True)


def test_who_pays_whose_externality(lockstep):
    matrix = lockstep.subsidy([2, 3])
    assert matrix.index.tolist() == matrix.columns.tolist() == ["1-2", "3", "4"]
    assert matrix.to_numpy().tolist() == [[0, 0, 0], [0, 0, 4], [0, 0, 0]]


def test_starvation_by_length():
    """LJF, B = 1, lengths 5 1 1: the short ones wait for 5 and 6."""
    run = fairq.simulate(fairq.Workload.from_arrays([1, 5, 1]), "ljf", batch_size=1)
    table = run.length_classes([1])
    assert table.index.tolist() == ["1", "2-5"]
    assert table["oldest_age"].tolist() == [6.0, 0.0]
    assert table["wait_p999"].tolist() == [6.0, 0.0]
    assert table["slowdown_mean"].tolist() == [(6 + 7) / 2, 1.0]


def test_classes_of_length_by_quarters():
    classes = length_classes(np.arange(1, 9))
    assert classes.names == ["1-2", "3-4", "5-6", "7-8"]
    assert classes.index.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert length_classes(np.array([5, 5, 5])).names == ["1-5"]
    assert length_classes(np.zeros(0, dtype=np.int64)).names == ["1"]
    assert length_classes(np.array([3, 4]), [10, 20]).names == ["1-4"]


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([0], r"edges\[0\] is 0: it must be a whole number >= 1"),
        ([3, 3], r"edges\[1\] is 3: it must exceed the one before, 3"),
        ([2.5], r"edges\[0\] is 2.5: it must be a whole number >= 1"),
        (range(1, 2000), "edges has 1999 entries: at most 999 are allowed"),
    ],
)
def test_edges_that_are_not_allowed(edges, message):
    with pytest.raises(fairq.InputError, match=message):
        length_classes(np.array([4]), edges)


def test_the_table_of_workers_by_hand():
    """Two workers, B = 1, lengths 4 and 2: the second idles for half of the time."""
    run = fairq.simulate(fairq.Workload.from_arrays([4, 2]), "fcfs", workers=2, batch_size=1)
    table = run.worker_table
    assert table["completed"].tolist() == [1, 1]
    assert table["busy_fraction"].tolist() == table["utilisation"].tolist() == [1.0, 0.5]
    assert table["kv_peak"].tolist() == [4, 2]
    assert table["kv_mean"].tolist() == [2.5, 1.5]


def test_windows_by_hand(cut):
    """Windows [0, 4.5) and [4.5, 9]: 1 waits from 1 to 6, 2 from 5.5; the last step ends at 8."""
    table = cut.windows(2)
    assert table["arrived"].tolist() == [2, 1]
    assert table["completed"].tolist() == [0, 1]
    assert table["mean_queue"].tolist() == pytest.approx([3.5 / 4.5, (1.5 + 3.5) / 4.5])
    assert table["busy_fraction"].tolist() == pytest.approx([1.0, 3.5 / 4.5])
    assert table["latency_p50"].iloc[0] == 6.0
    assert np.isnan(table["latency_p50"].iloc[1])
    with pytest.raises(fairq.InputError, match="count is 0: it must be a whole number >= 1"):
        cut.windows(0)


def test_extents_above_any_alpha(lockstep):
    assert lockstep.extent_above(1.9).to_dict() == {1.9: 0.4}
    assert lockstep.extent_above([0, 2]).tolist() == [0.4, 0.0]
    assert lockstep.extent_above([1]).iloc[0] * 5 == lockstep.summary["violations"]
    with pytest.raises(fairq.InputError, match="alpha is -1: it must be a finite number >= 0"):
        lockstep.extent_above([-1])


def test_jain_index():
    assert jain_index(np.array([1.0, 0.0, 0.0, 0.0])) == 0.25
    assert np.isnan(jain_index(np.array([np.nan])))


def test_quantiles_are_values_that_occurred():
    values = np.append(np.arange(1.0, 1001.0), np.nan)
    assert quantile(values, 0.999) == 999.0
    assert statistics_of("wait", values)["wait_p50"] == 500.0
    assert np.isnan(quantile(np.array([np.nan]), 0.5))


@pytest.mark.parametrize("until", [None, 3.0])
def test_a_run_without_requests_has_metrics(until):
    run = fairq.simulate(
        fairq.Workload.empty(), "isjl", alpha=3, batch_size=4, until=until, record="segments"
    )
    run.check()
    summary = run.summary
    assert summary["unstable"] is False
    assert summary["kv_peak"] == 0
    for name in ("mean_queue", "mean_in_system", "mean_batch", "kv_mean", "oldest_age", "jain_slowdown",
                 "rejected_share", "cost_per_million", "stopped_at"):  # fmt: skip
        assert np.isnan(summary[name])
    assert run.classes.index.tolist() == ["all"]
    assert run.length_classes()["arrived"].tolist() == [0]
    assert run.subsidy().to_numpy().tolist() == [[0.0]]
    assert run.worker_table["completed"].tolist() == [0]
    assert run.windows(2)["arrived"].tolist() == [0, 0]
    assert np.isnan(run.extent_above([1]).iloc[0])
    assert np.isnan(run.predictions.kappa)


def test_a_run_that_kept_its_summary_alone_says_what_is_missing():
    run = fairq.simulate(fairq.Workload.from_arrays([2]), "fcfs", batch_size=1, record="summary")
    for ask in (
        lambda: run.classes, run.length_classes, run.subsidy, lambda: run.worker_table, run.windows,
        lambda: run.extent_above([1]), lambda: run.occupancy,
    ):  # fmt: skip
        with pytest.raises(fairq.RecordError, match="not recorded: record is 'summary'"):
            ask()
    assert run.jain == 1.0


def test_littles_law_finds_a_damaged_summary_or_table(cut):
    books = occupancy(cut.requests, until=cut.horizon)
    check_little(cut.summary, cut.requests, books, cut.stretches)
    wrong = pd.Series(cut.summary.to_dict() | {"mean_queue": 1.0})
    with pytest.raises(fairq.CheckError, match=r"mean_queue is 1\.0, the tables have 0\.94"):
        check_little(wrong, cut.requests, books, cut.stretches)
    late = cut.requests.assign(finish=cut.requests["finish"] + 1)
    damaged = occupancy(late, until=cut.horizon)
    summary = cut.summary.to_dict() | {"mean_in_system": damaged.mean_in_system}
    with pytest.raises(fairq.CheckError, match="requests were served for 9"):
        check_little(summary, late, damaged, cut.stretches)


def test_an_overloaded_run_is_unstable_and_a_backlog_is_not():
    """Arrivals of one token each at 1 and at 2 per step of a worker that does one a step."""
    for gap, unstable in ((0.5, True), (1.0, False), (0.0, False)):
        workload = fairq.Workload.from_arrays([1] * 400, arrival=gap * np.arange(400))
        summary = fairq.simulate(workload, "fcfs", batch_size=1).summary
        assert summary["unstable"] is unstable


def test_a_class_called_all_is_not_the_row_of_all_requests():
    """One by one: the request of class `all` ends at 3, the other at 5."""
    workload = fairq.Workload.from_arrays([3, 2], label=["all", "x"])
    table = fairq.simulate(workload, "fcfs", batch_size=1).classes
    assert table.index.tolist() == ["all", "x", "(all)"]
    assert table["latency_mean"].tolist() == [3.0, 5.0, 4.0]
    with pytest.raises(fairq.InputError, match="'all' is the row of all requests together"):
        workload.with_terms({"all": fairq.Terms(price=1.0)})
