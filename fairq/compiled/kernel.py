"""The compiled engine's one loop: every instant at which something can change, in the order of the model.

At an instant boundaries close, arrivals are dispatched, workers that are not inside a step are asked in
index order (again, while requests come back), and those that have waited too long leave.  Between
events a worker's batch is constant, so the loop turns O(requests) times.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairq.compiled.batches import admit, advance, max_progress, steps_by
from fairq.compiled.cohorts import ask_cohort, drop
from fairq.compiled.crew import (
    DUE,
    IDLE,
    add_answering,
    begin_steps,
    call,
    close,
    is_open,
    look_again,
    summon,
    touch,
)  # fmt: skip
from fairq.compiled.dispatching import CENTRAL, JOINED, JSQ, LEFT, choose, count
from fairq.compiled.jit import compiled, part
from fairq.compiled.ranks import ROOT, add, discard, first_at_or_after, has_none
from fairq.compiled.records import ABANDONED, QUEUED, REJECTED, RESERVED, place_at, request_at, worker_at
from fairq.compiled.times import least, put, top

__all__ = ["serve"]

FIRST = np.int64(0)


@compiled
def serve(run: Any) -> Any:
    """Run the pool to the end; when a queue over `max_queued` ended the run (NaN: none did).

    The schedule is then in the records of the requests; of those still in service, in the workers'
    step counts.
    """
    end, stopped_at, now = run.until, np.nan, -np.inf
    _open_doors(run)
    while True:
        time = _next_instant(run, now)
        if time > end or time == np.inf:
            break
        now = time
        while least(run.events) == now:
            close(run, top(run.events), now)
        if _release(run, now) and now < end:
            end = now
            stopped_at = now
        if now >= end:
            break
        _settle(run, now)
    if end < np.inf:
        for index in range(run.crew_size):
            worker = worker_at(run, index)
            if worker.batch > 0:
                advance(worker, steps_by(worker, end))
    return stopped_at


@part
def _open_doors(run: Any) -> None:
    """Every worker is idle."""
    for index in range(run.crew_size):
        touch(run, index)
        if run.dispatch == JSQ:
            put(run.loads, index, 0.0)
    begin_steps(run, -np.inf)


@part
def _settle(run: Any, now: Any) -> None:
    """Ask who is due, let go who has waited too long, and begin steps."""
    if run.dispatch == CENTRAL:
        call(run, now)
    add_answering(run, FIRST)
    while True:
        _ask_all(run, now)
        if not (run.abandon_after < np.inf and _give_up(run, now)):
            break
    begin_steps(run, now)


@part
def _next_instant(run: Any, now: Any) -> Any:
    """The next time at which something can change; infinity: nothing will."""
    time = least(run.events)
    if run.released < run.count:
        time = min(time, request_at(run, place_at(run, run.released).order).arrival)
    if run.dispatch == CENTRAL and not has_none(run.queues, ROOT):
        while least(run.calls) <= now:
            look_again(run, top(run.calls), now, True)
        time = min(time, least(run.calls))
    if run.abandon_after < np.inf:
        time = min(time, _next_deadline(run))
    return time


@compiled
def _next_deadline(run: Any) -> Any:
    """When the first of those who wait has done so for as long as it will."""
    while run.passed < run.released:
        request = request_at(run, place_at(run, run.passed).order)
        if request.state in (QUEUED, RESERVED):
            return request.arrival + run.abandon_after
        run.passed += 1
    return np.inf


@compiled
def _release(run: Any, now: Any) -> Any:
    """Dispatch the arrivals at this instant one by one; whether one makes more than `max_queued` wait."""
    over = False
    while run.released < run.count:
        i = np.int64(place_at(run, run.released).order)
        request = request_at(run, i)
        if request.arrival > now:
            break
        waiting = run.released - run.lost - run.entered
        run.released += 1
        if waiting >= run.queue_limit:
            request.state = REJECTED
            run.lost += 1
            continue
        over = over or waiting >= run.max_queued
        request.state = QUEUED
        if run.dispatch == CENTRAL:
            add(run.queues, ROOT, np.int64(request.rank))
        else:
            _send(run, i, now)
    return over


@compiled
def _send(run: Any, i: Any, now: Any) -> None:
    """Dispatch request i, the last one released, to a worker's own queue."""
    request = request_at(run, i)
    index = choose(run, run.released - 1, now)
    run.sent += 1
    count(run, index, i, JOINED)
    request.worker = index
    add(run.queues, worker_at(run, index).queue, np.int64(request.rank))
    if worker_at(run, index).batch == 0 or is_open(run, index):
        summon(run, index, now)


@part
def _ask_all(run: Any, now: Any) -> None:
    """Ask who is due in index order, and again all who were asked while requests come back."""
    crew, central = run.crew, run.dispatch == CENTRAL
    cursor, came_back = FIRST, False
    while True:
        index = first_at_or_after(crew, DUE, cursor)
        if index >= 0:
            discard(crew, DUE, index)
        if central and not has_none(run.queues, ROOT):
            idle = first_at_or_after(crew, IDLE, cursor)
            if idle >= 0 and (index < 0 or idle < index):
                if index >= 0:
                    add(crew, DUE, index)
                index = idle
        if index < 0:
            if not came_back:
                return
            cursor, came_back = FIRST, False
            add_answering(run, FIRST)
            continue
        cursor = index + 1
        touch(run, index)
        if _ask(run, index, now):
            came_back = True
            if central:
                call(run, now)
            add_answering(run, cursor)


@part
def _ask(run: Any, index: Any, now: Any) -> Any:
    """Ask one worker's policy; whether requests came back."""
    worker = worker_at(run, index)
    if run.cohort:
        return ask_cohort(run, index, now) > 0
    if not (run.static and worker.batch > 0) and not (run.guard and max_progress(worker) > run.alpha):
        _fill(run, index, now)
    return False


@compiled
def _fill(run: Any, index: Any, now: Any) -> None:
    """A Rule's ask: the first of the queue into every free slot."""
    worker, rank = worker_at(run, index), FIRST
    while worker.batch < worker.batch_size:
        rank = first_at_or_after(run.queues, worker.queue, rank)
        if rank < 0:
            return
        discard(run.queues, worker.queue, rank)
        admit(run, index, np.int64(place_at(run, rank).id), now)


@compiled
def _give_up(run: Any, now: Any) -> Any:
    """Who has waited for `abandon_after` leaves; whether anybody is to be asked because of it."""
    while _next_deadline(run) <= now:
        _abandon(run, np.int64(place_at(run, run.passed).order), now)
    return not has_none(run.crew, DUE)


@compiled
def _abandon(run: Any, i: Any, now: Any) -> None:
    request = request_at(run, i)
    index = max(np.int64(request.worker), 0)
    if request.state == QUEUED:
        discard(run.queues, worker_at(run, index).queue, np.int64(request.rank))
    else:
        drop(run, index, i)
        if summon(run, index, now):
            add(run.crew, DUE, index)
    request.state = ABANDONED
    run.lost += 1
    if run.dispatch != CENTRAL:
        count(run, index, i, LEFT)
