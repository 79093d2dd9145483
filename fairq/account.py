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

from fairq.cost import Cost, StepTime
from fairq.groups import WorkerGroup, per_worker
from fairq.request_columns import Books, RequestColumns
from fairq.schedule import Schedule
from fairq.sorting import sums_before
from fairq.stretches import Stretches, find_stretches
from fairq.summary import summarise
from fairq.totals import Totals, totals_of
from fairq.workload import Workload

__all__ = ["Account", "account"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_PART = 50_000  # stays; several workers' are cut together up to so many, to keep arrays in the cache


@dataclass(frozen=True, eq=False, slots=True)
class Account:
    """What a schedule amounts to: `summary`, and the columns of the tables, framed when asked for."""

    summary: pd.Series
    request_columns: RequestColumns
    segment_columns: Mapping[str, NDArray[Any]]

    @property
    def requests(self) -> pd.DataFrame:
        """A row per request."""
        return self.request_columns.frame()

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
    record: str = "segments",
    compiled: bool = False,
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
        record: the tables that are wanted, as `fairq.simulate` has them; others may be left blank.
        compiled: whether the pass in machine code may be used, which says the same to the last bit; it
            knows neither the table of stretches nor prompts in chunks.

    Source: equations (3) to (7) and Theorem 5.1 of the paper; the split of the externality is ours.
    """
    laws = per_worker(groups)[1]
    tables: list[dict[str, NDArray[Any]]] = []
    if compiled and record != "segments" and workload.prompt_chunk == 1:
        from fairq.compiled.accounting import keep_books  # it needs Numba

        books, totals = keep_books(schedule, workload, laws, alpha, shares=record != "summary")
    else:
        books, totals, tables = _by_stretches(schedule, workload, laws, alpha, segments=record == "segments")
    requests = RequestColumns(schedule, workload, books, until)
    summary = summarise(
        requests, totals, workload, groups=groups, cost=cost, alpha=alpha, until=until,
        abandon_after=abandon_after, stopped_at=schedule.stopped_at,
    )  # fmt: skip
    return Account(summary, requests, _joined(tables))


def _by_stretches(
    schedule: Schedule, workload: Workload, laws: Sequence[StepTime], alpha: int | None, *, segments: bool
) -> tuple[Books, Totals, list[dict[str, NDArray[Any]]]]:
    """What the stretches say: by request, in sum, and as tables."""
    books = Books.blank(len(workload))
    parts, tables = [], []
    for low, high, part in _by_workers(schedule, len(laws)):
        stretches = find_stretches(part, laws[low:high])
        parts.append(totals_of(stretches, part, workload, alpha))
        _enter(books, part, workload, stretches)
        if segments:
            tables.append(segments_columns(stretches, low))
    return books, reduce(add, parts), tables


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


def _enter(books: Books, schedule: Schedule, workload: Workload, stretches: Stretches) -> None:
    """Write down those who were served; the first token is out when step prompt_tokens + 1 ends."""
    served = schedule.request[stretches.stays]
    books.paid[served], books.caused[served] = externality_paid(stretches), externality_caused(stretches)
    point, since = stretches.begin + workload.prompt_tokens[served] + 1, stretches.opened
    reached = point <= stretches.end
    if not reached.all():
        served, point, since = served[reached], point[reached], since[reached]
    books.first_token[served] = stretches.time_at(point, since=since)


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
