"""Every metric of a run, formed a second time by plain loops over steps and requests."""

from __future__ import annotations

import math

import metric_runs
import numpy as np
import pytest
import slow_metrics as slow

import fairq
from fairq.classes import request_costs
from fairq.latencies import METRICS, QUANTILES
from fairq.length_classes import length_classes
from fairq.sla import judge
from fairq.subsidy import subsidy_matrix

LIMITS = {"chat": {"latency": 9.0, "ttft": 4.0}, "code": {"tpot": 1.5, "wait": 3.0}, "batch": None}


@pytest.fixture(scope="module")
def runs() -> list[fairq.Result]:
    return list(metric_runs.random_runs(100))


def near(value: object) -> object:
    return pytest.approx(value, rel=1e-9, abs=1e-9, nan_ok=True)


def ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else math.nan


def test_the_runs_are_of_every_kind(runs):
    outcomes = {outcome for run in runs for outcome in run.requests["outcome"]}
    assert outcomes == {"completed", "running", "queued", "rejected", "abandoned", "unreleased"}
    assert {len(run.groups) for run in runs} == {1, 2}
    assert {run.prompt_chunk for run in runs} >= {1, 2, 3}


def test_batch_extent_and_kv_over_the_steps(runs):
    for run in runs:
        steps = slow.all_steps(run)
        busy = sum(step.duration for step in steps)
        expected = {
            "mean_batch": ratio(sum(step.duration * len(step.working) for step in steps), busy),
            "mean_extent_by_time": ratio(sum(step.duration * step.extent for step in steps), busy),
            "kv_mean": ratio(sum(step.duration * slow.held(run, step) for step in steps), busy),
            "kv_peak": max((slow.held(run, step) for step in steps), default=0),
        }
        assert {name: run.summary[name] for name in expected} == near(expected)
        for alpha, share in run.extent_above([0, 1.5, 3, 8]).items():
            above = sum(step.extent > math.floor(alpha) for step in steps)
            assert share == near(above / len(steps) if steps else math.nan)


def test_queue_and_system_over_time(runs):
    for run in runs:
        begin, end = slow.period(run)
        if not end > begin:
            assert math.isnan(run.summary["mean_queue"])
            continue
        assert run.summary["mean_queue"] == near(slow.mean_number(run, begin, end, slow.left_queue))
        assert run.summary["mean_in_system"] == near(slow.mean_number(run, begin, end, slow.left_system))


def test_the_table_of_workers(runs):
    for run in runs:
        table, steps = run.worker_table, slow.all_steps(run)
        begin, end = slow.period(run)
        slots = [group.batch_size for group in run.groups for _ in range(group.count)]
        assert table["completed"].sum() == run.summary["completed"]
        for worker, row in table.iterrows():
            own = [step for step in steps if step.worker == worker]
            busy = sum(step.duration for step in own)
            used = sum(step.duration * len(step.working) for step in own)
            kv = sum(step.duration * slow.held(run, step) for step in own)
            span = end - begin
            assert row["busy_steps"] == len(own)
            assert row["busy_fraction"] == near(busy / span if span > 0 else math.nan)
            assert row["utilisation"] == near(used / (slots[worker] * span) if span > 0 else math.nan)
            assert row["kv_mean"] == near(ratio(kv, busy))
            assert row["kv_peak"] == max((slow.held(run, step) for step in own), default=0)


def test_length_classes_slowdown_and_starvation(runs):
    for run in runs:
        edges = [3, 8]
        table = run.length_classes(edges)
        group = np.searchsorted([*edges, 10**9], run.workload.tokens)
        ages, slowed = slow.ages(run), slow.slowdowns(run)
        waits = run.requests["wait"].tolist()
        for k in range(len(table)):
            own = [i for i in range(len(group)) if group[i] == k]
            row = table.iloc[k]
            arrived = [ages[i] for i in own if not math.isnan(ages[i])]
            assert row["arrived"] == len(arrived)
            assert row["oldest_age"] == near(max(arrived, default=math.nan))
            assert row["wait_p999"] == near(slow.quantile([waits[i] for i in own], 0.999))
            assert row["slowdown_mean"] == near(slow.mean([slowed[i] for i in own]))
            assert row["slowdown_p99"] == near(slow.quantile([slowed[i] for i in own], 0.99))
        known = [age for age in ages if not math.isnan(age)]
        assert run.summary["oldest_age"] == near(max(known, default=math.nan))


def test_jain_index_of_the_quarters(runs):
    for run in runs:
        group, slowed = length_classes(run.workload.tokens).index, slow.slowdowns(run)
        means = [slow.mean([s for s, k in zip(slowed, group, strict=True) if k == at]) for at in set(group)]
        means = [value for value in means if not math.isnan(value)]
        expected = sum(means) ** 2 / (len(means) * sum(x * x for x in means)) if means else math.nan
        assert run.jain == near(expected)


def test_the_subsidy_matrix(runs):
    for run in runs:
        classes = length_classes(run.workload.tokens, [2, 6])
        matrix = run.subsidy([2, 6])
        expected = slow.subsidy(run, classes.index.tolist(), len(classes))
        assert matrix.to_numpy().tolist() == [near(row) for row in expected]
        assert matrix.to_numpy().sum() == near(run.summary["externality"])
        paid = run.requests["externality_paid"].groupby(classes.index).sum()
        caused = run.requests["externality_caused"].groupby(classes.index).sum()
        assert matrix.to_numpy().sum(axis=1)[paid.index].tolist() == near(paid.tolist())
        assert matrix.to_numpy().sum(axis=0)[caused.index].tolist() == near(caused.tolist())


def test_the_subsidy_matrix_of_many_classes_is_summed_in_pieces(runs, monkeypatch):
    monkeypatch.setattr("fairq.subsidy._PIECE", 8)
    for run in runs[:40]:
        group = np.arange(len(run.workload)) % 3
        matrix = subsidy_matrix(run.stretches, run.schedule, group, 3)
        assert matrix.tolist() == [near(row) for row in slow.subsidy(run, group.tolist(), 3)]


def test_each_request_is_charged_what_it_causes(runs):
    for run in runs:
        charged = request_costs(run.stretches, run.schedule, run.requests, run.cost)
        assert charged.tolist() == near(slow.costs(run))
        assert charged.sum() == near(run.summary["cost"])


def test_the_table_of_classes(runs):
    for run in runs:
        table, rows = run.classes, run.requests.to_dict("records")
        charged, ages = slow.costs(run), slow.ages(run)
        begin, end = slow.period(run)
        output = run.workload.output_tokens
        assert table.index[-1] == "all"
        for label, row in table.iterrows():
            own = [r for r in rows if label in ("all", run.workload.label[r["request"]])]
            assert row["arrived"] == sum(r["outcome"] != "unreleased" for r in own)
            for outcome in ("completed", "running", "queued", "rejected", "abandoned"):
                assert row[outcome] == sum(r["outcome"] == outcome for r in own)
            done = [r for r in own if r["completed"]]
            billed = sum(int(run.workload.billed_tokens[r["request"]]) for r in done)
            assert row["revenue"] == near(2.0 * billed)
            assert row["cost"] == near(sum(charged[r["request"]] for r in own))
            assert row["revenue_per_million"] == near(2e6 if billed else math.nan)
            tokens = sum(slow.tokens_held(run, r["request"], r["progress"]) for r in own)
            assert row["tokens"] == tokens
            assert row["throughput"] == near(tokens / (end - begin) if end > begin else math.nan)
            known = [ages[r["request"]] for r in own if not math.isnan(ages[r["request"]])]
            assert row["oldest_age"] == near(max(known, default=math.nan))
            for metric in METRICS:
                if metric == "normalised_latency":
                    values = [r["latency"] / output[r["request"]] for r in own]
                else:
                    values = [r[metric] for r in own]
                assert row[f"{metric}_mean"] == near(slow.mean(values))
                for name, level in QUANTILES.items():
                    assert row[f"{metric}_{name}"] == near(slow.quantile(values, level))
        for name in ("revenue", "cost", "profit"):
            assert table[name].iloc[-1] == near(run.summary[name])
            assert table[name].iloc[:-1].sum() == near(run.summary[name])


def test_the_rent_of_workers_goes_by_slot_time(runs):
    for run in runs:
        steps = slow.all_steps(run)
        spent = [(step.duration, i) for step in steps for i in step.working]
        if not spent:  # then all that arrived share it
            spent = [(1, i) for i, age in enumerate(slow.ages(run)) if not math.isnan(age)]
        used = sum(time for time, _ in spent)
        for label, row in run.classes.iterrows():
            own = sum(time for time, i in spent if label in ("all", run.workload.label[i]))
            assert row["cost_workers"] == near(run.summary["cost_workers"] * own / used if used else math.nan)


def test_verdicts_on_slas(runs):
    for run in runs:
        index = np.array([list(LIMITS).index(label) for label in run.workload.label])
        found = judge(run.requests, run.workload, index, list(LIMITS.values()), run.horizon)
        for row in run.requests.to_dict("records"):
            request = row["request"]
            limits = LIMITS[run.workload.label[request]]
            said = [bool(flags[request]) for flags in (found.met, found.missed, found.censored)]
            if limits is None or row["outcome"] == "unreleased":
                assert said == [False] * 3
            else:
                verdict = slow.verdict(run, row, limits)
                assert said == [verdict == word for word in ("met", "missed", "open")]
            one_token = row["completed"] and math.isnan(row["tpot"])
            expects = bool(limits and "tpot" in limits and one_token and found.met[request])
            assert found.undefined[request] == expects


def test_windows_over_the_run(runs):
    for run in runs:
        begin, end = slow.period(run)
        if not end > begin:
            continue
        table, count = run.windows(4), 4
        edges = np.linspace(begin, end, count + 1)
        rows = run.requests.to_dict("records")
        assert table["completed"].sum() == run.summary["completed"]
        if not run.schedule.abandoned.size:  # who gives up may arrive after the last completion
            assert table["arrived"].sum() == run.summary["arrived"]
        for k, row in table.iterrows():
            inside = [r for r in rows if edges[k] <= r["arrival"] < edges[k + 1]]
            inside += [r for r in rows if k == count - 1 and r["arrival"] == edges[-1]]
            assert row["arrived"] == len(inside)
            assert row["latency_p90"] == near(slow.quantile([r["latency"] for r in inside], 0.9))
            queue = slow.mean_number(run, edges[k], edges[k + 1], slow.left_queue)
            assert row["mean_queue"] == near(queue)
            segments = run.segments
            overlap = np.minimum(segments["end"], edges[k + 1]) - np.maximum(segments["start"], edges[k])
            overlap = overlap.clip(lower=0)
            busy = overlap.sum()
            assert row["busy_fraction"] == near(busy / run.workers / (edges[k + 1] - edges[k]))
            if busy > 1e-9:
                assert row["mean_batch"] == near((overlap * segments["batch"]).sum() / busy)


def test_shares_and_money_per_million(runs):
    for run in runs:
        summary = run.summary
        for outcome in ("rejected", "abandoned"):
            share = ratio(summary[outcome], summary["arrived"])
            assert summary[f"{outcome}_share"] == near(share)
        done = run.requests["completed"].to_numpy()
        million = int(run.workload.billed_tokens[done].sum()) / 1e6
        for name in ("cost", "revenue", "profit"):
            assert summary[f"{name}_per_million"] == near(ratio(summary[name], million))
