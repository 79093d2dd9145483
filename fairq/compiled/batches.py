"""A worker's batch and its clock: the twin of `fairq.worker`, to the last bit.

A boundary's time is ``base + (c N + b K1 + tau K2)``, evaluated in this order, with N, K1 and K2 whole
numbers counted since base.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from fairq.compiled.jit import compiled, part, shared
from fairq.compiled.records import COMPLETED, NOBODY, RUNNING
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
def steps_by(worker: Any, slots: Any, time: Any) -> Any:
    """The step count that a running worker has reached by `time`, at most that of its next completion.

    A guess from the positive root of the quadratic that K2 is, checked against both neighbours: only the
    boundary times decide.
    """
    limit = next_finish(worker, slots)
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
def admit(pool: Any, index: Any, i: Any, now: Any) -> None:
    """Let request i join the batch of worker `index` at the boundary at which it stands."""
    worker, request = pool.workers[index], pool.requests[i]
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
        pool.requests[worker.last].after = i
        request.before = worker.last
    request.after = NOBODY
    worker.last = i
    request.worker = index
    request.state = RUNNING
    request.start = now
    request.start_step = worker.steps
    worker.starts += worker.steps
    _push(pool.slots, worker.slots, worker.batch, worker.steps + request.tokens, i)
    worker.batch += 1
    pool.run[0].entered += 1


@compiled
def pop_finished(pool: Any, index: Any, now: Any) -> Any:
    """Take a request that finishes at the worker's step count out of the batch; NOBODY if none does."""
    worker, requests = pool.workers[index], pool.requests
    if worker.batch == 0 or next_finish(worker, pool.slots) != worker.steps:
        return NOBODY
    i = _pop(pool.slots, worker.slots, worker.batch)
    worker.batch -= 1
    request = requests[i]
    request.finish = now
    request.state = COMPLETED
    worker.starts -= request.start_step
    before, after = np.int64(request.before), np.int64(request.after)
    if before != NOBODY:
        requests[before].after = after
    elif after != NOBODY:
        worker.first = after
        worker.oldest = requests[after].start_step
    if after != NOBODY:
        requests[after].before = before
    else:
        worker.last = before
    if worker.batch == 0:
        worker.left_at = now
    return i


@compiled
def next_finish(worker: Any, slots: Any) -> Any:
    """The step count at which the running batch next has a completion."""
    return slots[worker.slots].finish


@compiled
def _push(slots: Any, origin: Any, size: Any, finish: Any, i: Any) -> None:
    """Put request i into a heap of that size."""
    place = size
    while place > 0:
        above = (place - 1) // 2
        if slots[origin + above].finish <= finish:
            break
        _copy(slots, origin + above, origin + place)
        place = above
    slots[origin + place].finish = finish
    slots[origin + place].request = i


@compiled
def _pop(slots: Any, origin: Any, size: Any) -> Any:
    """Take out the request on top; the last one sinks from there."""
    first = slots[origin].request
    end = size - 1
    finish, place = slots[origin + end].finish, 0
    while True:
        child = 2 * place + 1
        if child >= end:
            break
        if child + 1 < end and slots[origin + child + 1].finish < slots[origin + child].finish:
            child += 1
        if slots[origin + child].finish >= finish:
            break
        _copy(slots, origin + child, origin + place)
        place = child
    _copy(slots, origin + end, origin + place)
    return first


@compiled
def _copy(slots: Any, source: Any, target: Any) -> None:
    slots[target].finish = slots[source].finish
    slots[target].request = slots[source].request
