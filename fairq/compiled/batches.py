"""A worker's batch and its clock: the twin of `fairq.worker`, to the last bit.

A boundary's time is ``base + (c N + b K1 + tau K2)``, evaluated in this order, with N, K1 and K2 whole
numbers counted since base.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from fairq.compiled.jit import compiled, shared
from fairq.compiled.records import COMPLETED, NOBODY, RUNNING, request_at, slot_at, worker_at
from fairq.cost import max_feature

__all__ = ["admit", "advance", "boundary", "max_progress", "next_finish", "pop_finished", "steps_by"]

shared(max_feature)


@compiled
def max_progress(worker: Any) -> Any:
    """The largest progress in the batch at the worker's step count; 0 for an empty batch."""
    return worker.steps - worker.oldest if worker.batch > 0 else 0


@compiled
def boundary(worker: Any, step: Any) -> Any:
    """The time at which the worker's step count becomes `step`, its batch unchanged."""
    more, batch = step - worker.steps, worker.batch
    k1 = worker.k1 + more * batch
    k2 = worker.k2 + max_feature(more, batch, worker.steps - worker.oldest + 1)
    return worker.base + (worker.c * (worker.n + more) + worker.b * k1 + worker.tau * k2)


@compiled
def advance(worker: Any, step: Any) -> None:
    """Bring the step count up to `step`."""
    more = step - worker.steps
    worker.k1 += more * worker.batch
    worker.k2 += max_feature(more, worker.batch, worker.steps - worker.oldest + 1)
    worker.n += more
    worker.steps = step


@compiled
def steps_by(worker: Any, time: Any) -> Any:
    """The step count that a running worker has reached by `time`, at most that of its next completion.

    A guess from the positive root of the quadratic that K2 is, checked against both neighbours: only the
    boundary times decide.
    """
    limit = next_finish(worker)
    step = min(worker.steps + _guess(worker, time - boundary(worker, worker.steps)), limit)
    while step > worker.steps and boundary(worker, step) > time:
        step -= 1
    while step < limit and boundary(worker, step + 1) <= time:
        step += 1
    return step


@compiled
def _guess(worker: Any, time: Any) -> Any:
    if time <= 0:
        return 0
    square = worker.tau * worker.batch / 2
    linear = worker.c + worker.b * worker.batch
    linear += worker.tau * worker.batch * (worker.steps - worker.oldest + 0.5)
    if square == 0:
        return int(time / linear)
    return int(2 * time / (linear + sqrt(linear * linear + 4 * square * time)))


@compiled
def admit(run: Any, index: Any, i: Any, now: Any) -> None:
    """Let request i join the batch of worker `index` at the boundary at which it stands."""
    worker, request = worker_at(run, index), request_at(run, i)
    if worker.batch == 0:
        if now != worker.left_at:  # after an idle gap the clock begins anew
            worker.base = now
            worker.n = 0
            worker.k1 = 0
            worker.k2 = 0
        worker.first = i
        worker.oldest = worker.steps
        request.before = NOBODY
    else:
        request_at(run, worker.last).after = i
        request.before = worker.last
    request.after = NOBODY
    worker.last = i
    request.worker = index
    request.state = RUNNING
    request.start = now
    request.start_step = worker.steps
    worker.starts += worker.steps
    _push(worker.slots, worker.batch, worker.steps + request.tokens, i)
    worker.batch += 1
    run.entered += 1


@compiled
def pop_finished(run: Any, index: Any, now: Any) -> Any:
    """Take a request that finishes at the worker's step count out of the batch; NOBODY if none does."""
    worker = worker_at(run, index)
    if worker.batch == 0 or next_finish(worker) != worker.steps:
        return NOBODY
    i = _pop(worker.slots, worker.batch)
    worker.batch -= 1
    request = request_at(run, i)
    request.finish = now
    request.state = COMPLETED
    worker.starts -= request.start_step
    before, after = np.int64(request.before), np.int64(request.after)
    if before != NOBODY:
        request_at(run, before).after = after
    elif after != NOBODY:
        worker.first = after
        worker.oldest = request_at(run, after).start_step
    if after != NOBODY:
        request_at(run, after).before = before
    else:
        worker.last = before
    if worker.batch == 0:
        worker.left_at = now
    return i


@compiled
def next_finish(worker: Any) -> Any:
    """The step count at which the running batch next has a completion."""
    return slot_at(worker.slots, 0).finish


@compiled
def _push(slots: Any, size: Any, finish: Any, i: Any) -> None:
    """Put request i into a heap of that size."""
    place = size
    while place > 0:
        above = slot_at(slots, (place - 1) // 2)
        if above.finish <= finish:
            break
        _fill(slot_at(slots, place), above.finish, above.request)
        place = (place - 1) // 2
    _fill(slot_at(slots, place), finish, i)


@compiled
def _pop(slots: Any, size: Any) -> Any:
    """Take out the request on top; the last one sinks from there."""
    first, end = slot_at(slots, 0).request, size - 1
    last, place = slot_at(slots, end), 0
    while True:
        child = 2 * place + 1
        if child >= end:
            break
        if child + 1 < end and slot_at(slots, child + 1).finish < slot_at(slots, child).finish:
            child += 1
        below = slot_at(slots, child)
        if below.finish >= last.finish:
            break
        _fill(slot_at(slots, place), below.finish, below.request)
        place = child
    _fill(slot_at(slots, place), last.finish, last.request)
    return first


@compiled
def _fill(slot: Any, finish: Any, i: Any) -> None:
    slot.finish = finish
    slot.request = i
