"""The compiled engine's one loop: every instant at which something can change, in the order of the model.

At an instant boundaries close, arrivals are dispatched, workers that are not inside a step are asked in
index order (again, while requests come back), and those that have waited too long leave.  Between
events a worker's batch is constant, so the loop turns O(requests) times.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairq.compiled.batches import (
    admit, advance, boundary, max_progress, next_finish, pop_finished, steps_by,
)  # fmt: skip
from fairq.compiled.cohorts import ask_cohort, drop, note, wake
from fairq.compiled.dispatching import CENTRAL, JOINED, JSQ, LEFT, LOADS, choose, count
from fairq.compiled.jit import compiled, part
from fairq.compiled.ranks import ROOT, add, discard, first_at_or_after, has_none
from fairq.compiled.records import ABANDONED, NOBODY, QUEUED, REJECTED, RESERVED
from fairq.compiled.times import key_of, least, put, remove, top

__all__ = ["CREW_SETS", "HEAPS", "serve"]

IDLE, DUE, TOUCHED = ROOT + np.arange(3)
CREW_SETS = 3
"""Sets of workers: with an empty batch; to be asked at this instant; whose batch or events may change."""

FIRST = np.int64(0)

EVENTS, CALLS = np.arange(2)
HEAPS = 3
"""Heaps of workers: by their next event; by a boundary at which they would take a request from the central
queue (where that is past, the next one comes no sooner); and by load, for jsq."""


@compiled
def serve(pool: Any) -> Any:
    """Run the pool to the end; when a queue over `max_queued` ended the run (NaN: none did).

    The schedule is then in the records of the requests; of those still in service, in the workers'
    step counts.
    """
    end, stopped_at, now = pool.run[0].until, np.nan, -np.inf
    _open_doors(pool)
    while True:
        time = _next_instant(pool, now)
        if time > end or time == np.inf:
            break
        now = time
        while least(pool.heaps, EVENTS) == now:
            _close(pool, top(pool.heaps, EVENTS), now)
        if _release(pool, now) and now < end:
            end = now
            stopped_at = now
        if now >= end:
            break
        _settle(pool, now)
    if end < np.inf:
        for index in range(len(pool.workers)):
            worker = pool.workers[index]
            if worker.batch > 0:
                advance(worker, steps_by(worker, pool.slots, end))
    return stopped_at


@part
def _open_doors(pool: Any) -> None:
    """Every worker is idle."""
    for index in range(len(pool.workers)):
        add(pool.crew, TOUCHED, index)
        if pool.run[0].dispatch == JSQ:
            put(pool.heaps, LOADS, index, 0.0)
    _begin_steps(pool, -np.inf)


@part
def _settle(pool: Any, now: Any) -> None:
    """Ask who is due, let go who has waited too long, and begin steps."""
    run = pool.run[0]
    if run.dispatch == CENTRAL:
        _call(pool, now)
    while True:
        _ask_all(pool, now)
        if not (run.abandon_after < np.inf and _give_up(pool, now)):
            break
    _begin_steps(pool, now)


@part
def _next_instant(pool: Any, now: Any) -> Any:
    """The next time at which something can change; infinity: nothing will."""
    run, heaps = pool.run[0], pool.heaps
    time = least(heaps, EVENTS)
    if run.released < len(pool.places):
        time = min(time, pool.requests[pool.places[run.released].order].arrival)
    if run.dispatch == CENTRAL and not has_none(pool.queues, ROOT):
        while least(heaps, CALLS) <= now:
            _look_again(pool, top(heaps, CALLS), now, True)
        time = min(time, least(heaps, CALLS))
    if run.abandon_after < np.inf:
        time = min(time, _next_deadline(pool))
    return time


@compiled
def _next_deadline(pool: Any) -> Any:
    """When the first of those who wait has done so for as long as it will."""
    run = pool.run[0]
    while run.passed < run.released:
        request = pool.requests[pool.places[run.passed].order]
        if request.state == QUEUED or request.state == RESERVED:
            return request.arrival + run.abandon_after
        run.passed += 1
    return np.inf


@compiled
def _look_again(pool: Any, index: Any, now: Any, later: Any) -> None:
    """Set a worker's call to its first boundary from now on (or after now), unless the guard is shut by then."""
    worker, run = pool.workers[index], pool.run[0]
    step = steps_by(worker, pool.slots, now)
    time = boundary(worker, step)
    if time < now or (later and time == now):
        step += 1
        time = boundary(worker, step)
    worker.call = step
    if run.guard and step - worker.oldest > run.alpha:
        remove(pool.heaps, CALLS, index)
    else:
        put(pool.heaps, CALLS, index, time)


@compiled
def _close(pool: Any, index: Any, now: Any) -> None:
    """A boundary of a worker at which it has something to do: completions, a wake, a call to its own queue."""
    run, worker = pool.run[0], pool.workers[index]
    advance(worker, worker.event)
    i = pop_finished(pool, index, now)
    while i != NOBODY:
        if run.cohort:
            note(pool, index, i)
        if run.dispatch != CENTRAL:
            count(pool, index, i, LEFT)
        i = pop_finished(pool, index, now)
    remove(pool.heaps, EVENTS, index)
    remove(pool.heaps, CALLS, index)
    _add_due(pool, index)


@compiled
def _add_due(pool: Any, index: Any) -> None:
    add(pool.crew, DUE, index)
    add(pool.crew, TOUCHED, index)


@compiled
def _release(pool: Any, now: Any) -> Any:
    """Dispatch the arrivals at this instant one by one; whether more than `max_queued` wait with one of them."""
    run, over = pool.run[0], False
    while run.released < len(pool.places):
        i = np.int64(pool.places[run.released].order)
        request = pool.requests[i]
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
            add(pool.queues, ROOT, np.int64(request.rank))
        else:
            _send(pool, i, now)
    return over


@compiled
def _send(pool: Any, i: Any, now: Any) -> None:
    """Dispatch request i, the last one released, to a worker's own queue."""
    run, request = pool.run[0], pool.requests[i]
    index = choose(pool, run.released - 1, now)
    run.sent += 1
    count(pool, index, i, JOINED)
    request.worker = index
    add(pool.queues, pool.workers[index].queue, np.int64(request.rank))
    if pool.workers[index].batch == 0 or _is_open(pool, index):
        _summon(pool, index, now)


@compiled
def _is_open(pool: Any, index: Any) -> Any:
    """Whether a request that reaches the queue could start at the next boundary of this running worker."""
    run, worker = pool.run[0], pool.workers[index]
    if run.static or worker.due != NOBODY or worker.batch_size - worker.batch <= worker.held:
        return False
    return not run.guard or max_progress(worker) <= run.alpha


@compiled
def _summon(pool: Any, index: Any, now: Any) -> None:
    """Have a worker asked now if it is not inside a step, else at the end of the step."""
    worker = pool.workers[index]
    if worker.batch > 0:
        step = steps_by(worker, pool.slots, now)
        if boundary(worker, step) < now:
            if step + 1 < worker.event:
                worker.event = step + 1
                put(pool.heaps, EVENTS, index, boundary(worker, step + 1))
            return
        advance(worker, step)
    _add_due(pool, index)


@compiled
def _call(pool: Any, now: Any) -> None:
    """The central queue's call: workers at a boundary that would take a request are due."""
    heaps = pool.heaps
    if has_none(pool.queues, ROOT):
        return
    while least(heaps, CALLS) <= now:
        index = top(heaps, CALLS)
        if key_of(heaps, CALLS, index) < now:
            _look_again(pool, index, now, False)
        else:
            remove(heaps, CALLS, index)
            advance(pool.workers[index], pool.workers[index].call)
            _add_due(pool, index)


@part
def _ask_all(pool: Any, now: Any) -> None:
    """Ask who is due in index order, and again all who were asked while requests come back."""
    crew, central = pool.crew, pool.run[0].dispatch == CENTRAL
    cursor, came_back = FIRST, False
    while True:
        index = first_at_or_after(crew, DUE, cursor)
        if index >= 0:
            discard(crew, DUE, index)
        if central and not has_none(pool.queues, ROOT):
            idle = first_at_or_after(crew, IDLE, cursor)
            if idle >= 0 and (index < 0 or idle < index):
                if index >= 0:
                    add(crew, DUE, index)
                index = idle
        if index < 0:
            if not came_back:
                return
            cursor, came_back = FIRST, False
            _repeat(pool)
            continue
        cursor = index + 1
        add(crew, TOUCHED, index)
        if _ask(pool, index, now):
            came_back = True
            if central:
                _call(pool, now)


@compiled
def _repeat(pool: Any) -> None:
    """Everybody who was asked at this instant is due again."""
    index = first_at_or_after(pool.crew, TOUCHED, FIRST)
    while index >= 0:
        add(pool.crew, DUE, index)
        index = first_at_or_after(pool.crew, TOUCHED, index + 1)


@part
def _ask(pool: Any, index: Any, now: Any) -> Any:
    """Ask one worker's policy; whether requests came back."""
    run, worker = pool.run[0], pool.workers[index]
    if run.cohort:
        if worker.reserved == 0 and worker.due == NOBODY and has_none(pool.queues, worker.queue):
            return False
        return ask_cohort(pool, index, now) > 0
    if not (run.static and worker.batch > 0) and not (run.guard and max_progress(worker) > run.alpha):
        _fill(pool, index, now)
    return False


@compiled
def _fill(pool: Any, index: Any, now: Any) -> None:
    """A Rule's ask: the first of the queue into every free slot."""
    worker, rank = pool.workers[index], FIRST
    while worker.batch < worker.batch_size:
        rank = first_at_or_after(pool.queues, worker.queue, rank)
        if rank < 0:
            return
        discard(pool.queues, worker.queue, rank)
        admit(pool, index, np.int64(pool.places[rank].id), now)


@compiled
def _give_up(pool: Any, now: Any) -> Any:
    """Who has waited for `abandon_after` leaves; whether anybody is to be asked because of it."""
    run = pool.run[0]
    while _next_deadline(pool) <= now:
        _abandon(pool, np.int64(pool.places[run.passed].order), now)
    return not has_none(pool.crew, DUE)


@compiled
def _abandon(pool: Any, i: Any, now: Any) -> None:
    run, request = pool.run[0], pool.requests[i]
    index = max(np.int64(request.worker), 0)
    if request.state == QUEUED:
        discard(pool.queues, pool.workers[index].queue, np.int64(request.rank))
    else:
        drop(pool, index, i)
        _summon(pool, index, now)
    request.state = ABANDONED
    run.lost += 1
    if run.dispatch != CENTRAL:
        count(pool, index, i, LEFT)


@compiled
def _begin_steps(pool: Any, now: Any) -> None:
    """The end of the instant: the workers that it has touched go on."""
    index = first_at_or_after(pool.crew, TOUCHED, FIRST)
    while index >= 0:
        discard(pool.crew, TOUCHED, index)
        worker = pool.workers[index]
        idle = worker.batch == 0
        if idle and not worker.idle:
            add(pool.crew, IDLE, index)
        elif worker.idle and not idle:
            discard(pool.crew, IDLE, index)
        worker.idle = idle
        if not idle:
            _set_events(pool, index, now)
        index = first_at_or_after(pool.crew, TOUCHED, index + 1)


@compiled
def _set_events(pool: Any, index: Any, now: Any) -> None:
    """When a running worker must next be looked at, and whether the central queue may call it."""
    run, worker = pool.run[0], pool.workers[index]
    worker.event = next_finish(worker, pool.slots)
    if run.cohort:
        woken = wake(pool, index)
        if woken != NOBODY and woken < worker.event:
            worker.event = woken
    put(pool.heaps, EVENTS, index, boundary(worker, worker.event))
    if run.dispatch == CENTRAL and _is_open(pool, index):
        worker.call = worker.steps
        put(pool.heaps, CALLS, index, now)
    else:
        remove(pool.heaps, CALLS, index)
