"""The invariants of a run, verified from its tables: one function a rule."""

from __future__ import annotations

from collections.abc import Callable
from math import floor
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fairq.cost import max_feature
from fairq.errors import CheckError
from fairq.groups import per_worker
from fairq.occupancy import check_little
from fairq.outcomes import ended_as
from fairq.schedule import Schedule
from fairq.stretches import Stretches, find_stretches

if TYPE_CHECKING:
    from fairq.result import Result

__all__ = ["check_result"]

_ENDS = ("completed", "running_end", "queued_end", "rejected", "abandoned")
_CLOSE = 1e-9  # relative: sums of floats in another order


def check_result(result: Result) -> None:
    """Verify every rule on the tables of `result`.

    The schedule is built anew from the requests table, so a damaged table is found whatever the
    account said; sums are formed in another way than the account's.

    Raises:
        CheckError: a rule is broken; `rule` names it.
        RecordError: the run kept no requests table.
    """
    table = result.requests
    _conservation(result, table)
    _release(table)
    _stays(result, table)
    started = table[table["worker"] >= 0]
    request, worker, start_step, progress = (
        started[name].to_numpy(np.int64)  # the table has some of them in fewer bits
        for name in ("request", "worker", "start_step", "progress")
    )
    start, finish = started["start"].to_numpy(), started["finish"].to_numpy()
    schedule = Schedule(request, worker, start_step, progress, start, finish)
    stretches = find_stretches(schedule, per_worker(result.groups)[1])
    _capacity(result, stretches)
    _contiguity(started, stretches)
    _fairness(result, stretches)
    _cost_identity(result, table, stretches)
    check_little(result.summary, table, result.occupancy, stretches)
    if result.record == "segments":
        _segments(result, stretches)


def _demand(holds: bool, rule: str, detail: Callable[[], str]) -> None:
    if not holds:
        raise CheckError(rule, detail())


def _conservation(result: Result, table: pd.DataFrame) -> None:
    """Every request is there once, with its tokens, and is completed, running or queued."""
    summary, workload = result.summary, result.workload
    same = (
        np.array_equal(table["request"], np.arange(len(workload)))
        and np.array_equal(table["tokens"], workload.tokens)
        and np.array_equal(table["arrival"], workload.arrival)
    )
    _demand(same, "conservation", lambda: "the requests table does not hold the workload's requests")
    counts = {name: summary[name] for name in _ENDS}
    _demand(
        summary["arrived"] == sum(counts.values()),
        "conservation",
        lambda: f"arrived is {summary['arrived']} but {counts}",
    )
    done = table["completed"].to_numpy()
    whole = (table["progress"] == table["tokens"]).to_numpy()
    odd = np.flatnonzero((done != whole) | (done == table["finish"].isna().to_numpy()))
    _demand(len(odd) == 0, "conservation", lambda: f"request {odd[0]} is completed without all of its tokens")
    _demand(int(done.sum()) == summary["completed"], "conservation", lambda: "completed is miscounted")
    _demand(
        int(table["progress"].sum()) == summary["tokens"], "conservation", lambda: "tokens are miscounted"
    )
    _outcomes(table)
    if result.horizon is None:
        served = done | ended_as(table, "rejected", "abandoned")
        _demand(bool(served.all()), "conservation", lambda: "a request was not served by a run without end")


def _outcomes(table: pd.DataFrame) -> None:
    """What became of a request is what its row shows."""
    outcome, started = table["outcome"], (table["worker"] >= 0).to_numpy()
    done = table["completed"].to_numpy()
    odd = np.flatnonzero(
        (ended_as(table, "completed") != done) | (ended_as(table, "running") != (started & ~done))
    )
    _demand(
        len(odd) == 0,
        "conservation",
        lambda: f"request {odd[0]} is called {outcome[odd[0]]}, which its row does not show",
    )


def _release(table: pd.DataFrame) -> None:
    early = np.flatnonzero((table["start"] < table["arrival"]).to_numpy())
    _demand(len(early) == 0, "release", lambda: f"request {early[0]} starts before its arrival")


def _stays(result: Result, table: pd.DataFrame) -> None:
    """A request is on a worker of the pool from a step of it on, or on none."""
    started = table["worker"] >= 0
    fits = (
        (table["worker"] < result.workers)
        & ((table["start_step"] >= 0) == started)
        & (table["start"].notna() == started)
        & table["progress"].between(0, table["tokens"])
        & (started | (table["progress"] == 0))
    )
    odd = np.flatnonzero(~fits.to_numpy())
    _demand(len(odd) == 0, "contiguity", lambda: f"request {odd[0]} has no consistent stay on a worker")


def _capacity(result: Result, stretches: Stretches) -> None:
    slots = np.array(per_worker(result.groups)[0])
    over = np.flatnonzero(stretches.batch > slots[stretches.worker])
    _demand(
        len(over) == 0,
        "capacity",
        lambda: (
            f"worker {stretches.worker[over[0]]} runs {stretches.batch[over[0]]} requests in slots "
            f"for {slots[stretches.worker[over[0]]]}"
        ),
    )


def _contiguity(started: pd.DataFrame, stretches: Stretches) -> None:
    """Steps follow each other without holes, and times are the clock's at the boundaries they name."""
    total = int(np.max(stretches.end, initial=0))
    _demand(
        int(stretches.steps.sum()) == total,
        "contiguity",
        lambda: f"a worker's step counts have holes: {total} counted, {int(stretches.steps.sum())} run",
    )
    at = stretches.stays
    request = started["request"].to_numpy()[at]
    finish = started["finish"].to_numpy()[at]
    done = ~np.isnan(finish)
    late = np.flatnonzero(finish[done] != stretches.time_at(stretches.end[done]))
    _demand(
        len(late) == 0,
        "contiguity",
        lambda: f"request {request[done][late[0]]} does not finish at the end of its last step",
    )
    index = np.searchsorted(stretches.first, stretches.begin)
    begins = stretches.start_times()[index]
    off = np.flatnonzero(started["start"].to_numpy()[at] != begins)
    _demand(
        len(off) == 0, "contiguity", lambda: f"request {request[off[0]]} does not start at a step boundary"
    )
    before = stretches.worker[1:] == stretches.worker[:-1]
    back = np.flatnonzero(before & (stretches.start_times()[1:] < stretches.end_times()[:-1]))
    _demand(
        len(back) == 0, "contiguity", lambda: f"worker {stretches.worker[back[0]]} runs two steps at once"
    )


def _fairness(result: Result, stretches: Stretches) -> None:
    """The count of violations; and constraint (1) where the policy promises it."""
    counted = result.summary["violations"]
    if result.alpha is None:
        _demand(bool(np.isnan(counted)), "violations", lambda: f"violations is {counted} without an alpha")
        return
    alpha = floor(result.alpha)
    over = int(stretches.steps[stretches.extent > alpha].sum())
    _demand(counted == over, "violations", lambda: f"violations is {counted}, the tables have {over}")
    _demand(
        not (result.guarded and over),
        "fairness",
        lambda: (
            f"{over} steps have an extent over alpha = {result.alpha}, which {result.policy} promises to keep"
        ),
    )


def _cost_identity(result: Result, table: pd.DataFrame, stretches: Stretches) -> None:
    """Theorem 5.1: the cost step by step is tau·Q + c·T + tau·E, and both splits of E add up to it."""
    summary, cost = result.summary, result.cost
    footprint = int(max_feature(stretches.steps, stretches.batch, stretches.largest).sum())
    busy = int(stretches.steps.sum())
    _demand(summary["busy_steps"] == busy, "cost identity", lambda: "busy_steps is miscounted")
    direct = cost.c * busy + cost.tau * footprint
    _demand(
        _close(direct, summary["cost"]),
        "cost identity",
        lambda: f"steps cost {direct}, not {summary['cost']}",
    )
    parts = summary[["cost_intrinsic", "cost_time", "cost_externality"]].sum()
    _demand(
        _close(parts, direct),
        "cost identity",
        lambda: f"the parts of the cost add up to {parts}, not {direct}",
    )
    externality = summary["externality"]
    paid, caused = int(table["externality_paid"].sum()), float(table["externality_caused"].sum())
    _demand(paid == externality, "cost identity", lambda: f"externality paid is {paid}, not {externality}")
    _demand(
        _close(caused, externality),
        "cost identity",
        lambda: f"externality caused is {caused}, not {externality}",
    )
    if result.alpha is not None and result.guarded:
        bound = floor(result.alpha) * summary["tokens"]
        _demand(externality <= bound, "cost identity", lambda: f"E is {externality}, over alpha·O = {bound}")


def _segments(result: Result, stretches: Stretches) -> None:
    table = result.segments
    same = (
        len(table) == len(stretches.first)
        and np.array_equal(table["worker"], stretches.worker)
        and np.array_equal(table["steps"], stretches.steps)
        and np.array_equal(table["batch"], stretches.batch)
        and np.array_equal(table["start"], stretches.start_times())
        and np.array_equal(table["end"], stretches.end_times())
        and np.array_equal(table["max_progress"] - table["min_progress"], stretches.extent)
    )
    _demand(same, "contiguity", lambda: "the segments are not those of the requests table")


def _close(one: float, other: float) -> bool:
    return abs(one - other) <= _CLOSE * max(abs(one), abs(other), 1e-300)
