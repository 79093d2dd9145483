"""The one account: from a schedule, everything a run reports, in array operations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairq.cost import Cost
from fairq.groups import WorkerGroup, per_worker
from fairq.outcomes import as_categories, outcome_codes
from fairq.schedule import Schedule
from fairq.stretches import Stretches, find_stretches
from fairq.summary import summarise
from fairq.totals import totals_of
from fairq.workload import Workload

__all__ = ["Account", "Books", "account"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_PART = 50_000  # stays; several workers' are cut together up to so many, to keep arrays in the cache


@dataclass(frozen=True, eq=False, slots=True)
class Account:
    """What a schedule amounts to: `summary`, and the columns of the tables, framed when asked for."""

    summary: pd.Series
    request_columns: Mapping[str, NDArray[Any]]
    segment_columns: Mapping[str, NDArray[Any]]

    @property
    def requests(self) -> pd.DataFrame:
        """A row per request."""
        columns = dict(self.request_columns)
        return pd.DataFrame(columns | {"outcome": as_categories(columns["outcome"])})

    @property
    def segments(self) -> pd.DataFrame:
        """A row per constant stretch."""
        return pd.DataFrame(self.segment_columns)


def account(
    schedule: Schedule,
    workload: Workload,
    *,
    groups: Sequence[WorkerGroup],
    cost: Cost,
    alpha: int | None = None,
    until: float | None = None,
    abandon_after: float | None = None,
    segments: bool = True,
) -> Account:
    """Derive requests, segments and summary from `schedule`.

    Parameters:
        schedule: the stays, whoever made them.
        workload: the requests they serve.
        groups: the workers, each group with its batch size and the clock that its times follow.
        cost: money per step, per token, per worker and unit of time.
        alpha: fairness budget in whole tokens; steps whose extent exceeds it are counted.
        until: when the run stopped, in the clock's unit; None served everything.
        abandon_after: the age at which requests gave up; None if they never did.
        segments: whether the table of stretches is wanted.

    Source: equations (3) to (7) and Theorem 5.1 of the paper; the split of the externality is ours.
    """
    laws = per_worker(groups)[1]
    books = Books.blank(len(workload))
    parts, tables = [], []
    for low, high, part in _by_workers(schedule, len(laws)):
        stretches = find_stretches(part, laws[low:high])
        parts.append(totals_of(stretches, part, workload, alpha))
        _enter(books, part, workload, stretches)
        if segments:
            tables.append(segments_columns(stretches, low))
    requests = requests_columns(schedule, workload, books, until)
    summary = summarise(
        requests, reduce(add, parts), schedule, workload, groups=groups, cost=cost, alpha=alpha,
        until=until, abandon_after=abandon_after,
    )  # fmt: skip
    return Account(summary, requests, _joined(tables))


def _joined(tables: Sequence[Mapping[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    """The columns of several tables, one below another; none of no table."""
    names = tables[0] if tables else ()
    return {name: np.concatenate([table[name] for table in tables]) for name in names}


def _by_workers(schedule: Schedule, workers: int) -> Iterator[tuple[int, int, Schedule]]:
    """The schedule in parts (first worker, the one after the last, their stays), each small enough for the
    processor to have at hand; workers are counted from the first.
    """
    if len(schedule) <= _PART or workers == 1:
        yield 0, workers, schedule
        return
    whose = schedule.worker.astype(np.uint16 if workers <= 2**16 else np.int64)
    order = np.argsort(whose, kind="stable")
    begins = np.searchsorted(whose[order], np.arange(workers + 1))
    low = 0
    while low < workers:
        high = max(int(np.searchsorted(begins, begins[low] + _PART, side="right")) - 1, low + 1)
        at = order[begins[low] : begins[high]]
        yield low, high, schedule.part(at, low)
        low = high


def segments_columns(stretches: Stretches, first_worker: int) -> dict[str, NDArray[Any]]:
    """An entry per constant stretch of one worker; progress is in tokens, before its first step."""
    oldest, newest = stretches.first - stretches.oldest, stretches.first - stretches.newest
    return {
        "worker": stretches.worker + first_worker,
        "start": stretches.start_times(),
        "end": stretches.end_times(),
        "steps": stretches.steps,
        "batch": stretches.batch,
        "min_progress": newest,
        "max_progress": oldest,
    }


@dataclass(frozen=True, eq=False, slots=True)
class Books:
    """What stretches say of requests; arrays by request."""

    first_token: Floats
    paid: Ints
    caused: Floats

    @classmethod
    def blank(cls, count: int) -> Books:
        """Of nobody who was served."""
        return cls(np.full(count, np.nan), np.zeros(count, dtype=np.int64), np.zeros(count))


def _enter(books: Books, schedule: Schedule, workload: Workload, stretches: Stretches) -> None:
    """Write down those who were served; the first token is out when step prompt_tokens + 1 ends."""
    served = schedule.request[stretches.stays]
    books.paid[served], books.caused[served] = externality_paid(stretches), externality_caused(stretches)
    point, since = stretches.begin + workload.prompt_tokens[served] + 1, stretches.opened
    reached = point <= stretches.end
    if not reached.all():
        served, point, since = served[reached], point[reached], since[reached]
    books.first_token[served] = stretches.time_at(point, since=since)


def requests_columns(
    schedule: Schedule, workload: Workload, books: Books, until: float | None
) -> dict[str, NDArray[Any]]:
    """An entry per request of the workload, in request order; NaN, or −1, where it has not come to it."""
    count = len(workload)
    worker, start_step = np.full(count, -1), np.full(count, -1)
    progress = np.zeros(count, dtype=np.int64)
    start, finish = np.full(count, np.nan), np.full(count, np.nan)
    at = schedule.request
    worker[at], start_step[at], progress[at] = schedule.worker, schedule.start_step, schedule.steps
    start[at], finish[at] = schedule.start, schedule.finish
    gaps = (workload.tokens - workload.prompt_tokens - 1).astype(np.float64)
    gaps[gaps == 0] = np.nan  # the TPOT of a one-token output is not defined
    return {
        "request": np.arange(count),
        "worker": worker,
        "arrival": workload.arrival,
        "start": start,
        "first_token": books.first_token,
        "finish": finish,
        "start_step": start_step,
        "tokens": workload.tokens,
        "progress": progress,
        "completed": ~np.isnan(finish),
        "wait": start - workload.arrival,
        "ttft": books.first_token - workload.arrival,
        "tpot": (finish - books.first_token) / gaps,
        "latency": finish - workload.arrival,
        "externality_paid": books.paid,
        "externality_caused": books.caused,
        "outcome": outcome_codes(schedule, workload, until),
    }


def externality_paid(stretches: Stretches) -> Ints:
    """Of each of the stays: the sum over its steps of (max m − m_i), in tokens.

    Since m_i counts from the stay's own start, this is the sum of (start − oldest start in the batch).
    """
    leads = sums_before(stretches.oldest * stretches.steps)
    steps = stretches.end - stretches.begin
    paid: Ints = stretches.begin * steps - (leads[stretches.closed] - leads[stretches.opened])
    return paid


def externality_caused(stretches: Stretches) -> Floats:
    """Of each of the stays: its share of the externality of the steps in which it attains the maximum.

    It attains it from the moment at which everybody who started before it has finished.  Those who
    started with it share in equal parts, and leave one by one: between two departures the number of
    sharers is constant and the externality a whole number, so a stay's share is a sum of quotients
    over the departures up to its own.  Points of the axis are told by the stretches before them.
    """
    opened, closed, count = stretches.opened, stretches.closed, len(stretches.opened)
    if count == 0:
        return np.zeros(0)
    leads = np.ones(count, dtype=bool)  # the first of those who started together, and so ends first
    np.not_equal(opened[1:], opened[:-1], out=leads[1:])
    leaders = np.flatnonzero(leads)
    finished_before = np.concatenate((opened[:1], np.maximum.accumulate(closed)[leaders[1:] - 1]))
    piece_from = np.concatenate((opened[:1], closed[:-1]))
    piece_from[leaders] = opened[leaders]
    size = np.diff(leaders, append=count)
    group = np.cumsum(leads) - 1
    np.maximum(piece_from, finished_before[group], out=piece_from)
    piece_to = np.maximum(closed, piece_from)
    total = sums_before(stretches.externality * stretches.steps)
    sharers = (leaders + size)[group] - np.arange(count)
    shares: Floats = (total[piece_to] - total[piece_from]) / sharers
    together = np.flatnonzero(size[group] > 1)
    shares[together] = pd.Series(shares[together]).groupby(group[together]).cumsum()
    return shares


def sums_before(amount: Ints) -> Ints:
    """Sums of a whole-number `amount` over all stretches before each, and over all."""
    return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(amount)))
