"""The workers of a pool at an instant: who stands at a boundary, who is called to one, who begins a step."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairq.compiled.batches import advance, boundary, max_progress, next_finish, pop_finished, steps_by
from fairq.compiled.cohorts import note, wake
from fairq.compiled.dispatching import CENTRAL, LEFT, count
from fairq.compiled.jit import compiled
from fairq.compiled.ranks import ROOT, add, discard, has_none
from fairq.compiled.records import NOBODY, word_at, worker_at
from fairq.compiled.times import holds, key_of, least, put, remove, top

__all__ = [
    "CREW_SETS", "DUE", "IDLE", "add_answering", "begin_steps", "call", "close", "is_open", "look_again",
    "summon", "touch",
]  # fmt: skip

IDLE, DUE = ROOT + np.arange(2)
CREW_SETS = 2
"""Sets of workers: with an empty batch; to be asked at this instant."""


@compiled
def close(run: Any, index: Any, now: Any) -> None:
    """A boundary at which a worker has something to do: completions, a wake, a call to its own queue."""
    worker = worker_at(run, index)
    advance(worker, worker.event)
    i = pop_finished(run, index, now)
    while i != NOBODY:
        if run.cohort:
            note(run, index, i)
        if run.dispatch != CENTRAL:
            count(run, index, i, LEFT)
        i = pop_finished(run, index, now)
    touch(run, index)
    if worker.batch == 0:
        remove(run.events, index)
        remove(run.calls, index)
        return
    worker.event = next_finish(worker)
    put(run.events, index, boundary(worker, worker.event))
    if holds(run.calls, index):
        worker.call = worker.steps
        put(run.calls, index, now)


@compiled
def touch(run: Any, index: Any) -> None:
    """Remember a worker that stands at a boundary: it may be asked, and its events set anew."""
    worker = worker_at(run, index)
    if not worker.touched:
        worker.touched = 1
        word_at(run.touched, run.touched_count).word = index
        run.touched_count += 1


@compiled
def add_answering(run: Any, cursor: Any) -> None:
    """Of the workers that stand at a boundary, those from `cursor` on that may have an answer are due."""
    for place in range(run.touched_count):
        index = word_at(run.touched, place).word
        if index >= cursor and _answers(run, index):
            add(run.crew, DUE, index)


@compiled
def _answers(run: Any, index: Any) -> Any:
    """Whether a worker that is asked could say anything: something waits for it, or is kept for it."""
    worker = worker_at(run, index)
    return worker.reserved > 0 or worker.due != NOBODY or not has_none(run.queues, worker.queue)


@compiled
def is_open(run: Any, index: Any) -> Any:
    """Whether a request that reaches the queue could start at the next boundary of this running worker."""
    worker = worker_at(run, index)
    if run.static or worker.due != NOBODY or worker.batch_size - worker.batch <= worker.held:
        return False
    return not run.guard or max_progress(worker) <= run.alpha


@compiled
def summon(run: Any, index: Any, now: Any) -> Any:
    """Have a worker asked at its next boundary; whether that is now."""
    worker = worker_at(run, index)
    if worker.batch > 0:
        step = steps_by(worker, now)
        if boundary(worker, step) < now:
            if step + 1 < worker.event:
                worker.event = step + 1
                put(run.events, index, boundary(worker, step + 1))
            return False
        advance(worker, step)
    touch(run, index)
    return True


@compiled
def call(run: Any, now: Any) -> None:
    """The central queue's call: workers at a boundary that would take a request are due."""
    if has_none(run.queues, ROOT):
        return
    while least(run.calls) <= now:
        index = top(run.calls)
        if key_of(run.calls, index) < now:
            look_again(run, index, now, False)
        else:
            remove(run.calls, index)
            advance(worker_at(run, index), worker_at(run, index).call)
            touch(run, index)


@compiled
def look_again(run: Any, index: Any, now: Any, later: Any) -> None:
    """Set a worker's call to its first boundary from now on (or after now), unless the guard is shut by then.

    Its last call is past, and mostly the next boundary will do.
    """
    worker = worker_at(run, index)
    step = worker.call + 1
    time = boundary(worker, step)
    if time < now or (later and time == now):
        step = steps_by(worker, now)
        time = boundary(worker, step)
        if time < now or (later and time == now):
            step += 1
            time = boundary(worker, step)
    worker.call = step
    if run.guard and step - worker.oldest > run.alpha:
        remove(run.calls, index)
    else:
        put(run.calls, index, time)


@compiled
def begin_steps(run: Any, now: Any) -> None:
    """The end of the instant: the workers that it has touched go on."""
    for place in range(run.touched_count):
        index = word_at(run.touched, place).word
        worker = worker_at(run, index)
        worker.touched = 0
        idle = worker.batch == 0
        if idle and not worker.idle:
            add(run.crew, IDLE, index)
        elif worker.idle and not idle:
            discard(run.crew, IDLE, index)
        worker.idle = idle
        if not idle:
            _set_events(run, index, now)
    run.touched_count = 0


@compiled
def _set_events(run: Any, index: Any, now: Any) -> None:
    """When a running worker must next be looked at, and whether the central queue may call it."""
    worker = worker_at(run, index)
    worker.event = next_finish(worker)
    if run.cohort:
        woken = wake(run, index)
        if woken != NOBODY and woken < worker.event:
            worker.event = woken
    put(run.events, index, boundary(worker, worker.event))
    if run.dispatch == CENTRAL and is_open(run, index):
        worker.call = worker.steps
        put(run.calls, index, now)
    else:
        remove(run.calls, index)
