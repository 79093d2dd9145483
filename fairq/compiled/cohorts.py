"""Cohorts on one worker: the twin of `fairq.isjl.CohortAgent`, with lists in the records in place of objects.

What a cohort reserves lies in chains through `link`: o_2 .. o_M in one, each lane's pack in another.  A
lane is where its running request's `link` points; when that completes, the next one is ready.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairq import cohort
from fairq.compiled.batches import admit, max_progress
from fairq.compiled.jit import compiled, part, shared
from fairq.compiled.ranks import SetView, add, discard, first_at_or_after
from fairq.compiled.records import NOBODY, PLAIN, QUEUED, RESERVED

__all__ = ["ask_cohort", "drop", "note", "wake"]

for function in cohort.COMPILED:
    shared(function)

plan_cohort, running_order = cohort.plan_cohort, cohort.running_order


@compiled
def ask_cohort(pool: Any, index: Any, now: Any) -> Any:
    """One ask, in the order give-back, Phase ONE, o_1, packs, Phase TWO; how many requests came back."""
    worker = pool.workers[index]
    came_back = _give_back(pool, index)
    progress = max_progress(worker)
    if worker.batch == 0 and worker.due == NOBODY:
        _begin(pool, index)
    if worker.due != NOBODY and (worker.steps >= worker.due or worker.packed + worker.beside == 0):
        worker.due = NOBODY
        admit(pool, index, worker.leader, now)
    if progress <= pool.run[0].alpha:
        _start_packs(pool, index, now)
        if worker.due == NOBODY:
            _phase_two(pool, index, now)
    return came_back


@compiled
def wake(pool: Any, index: Any) -> Any:
    """The step count of o_1's start, or of the give-back where anything is left to give; else NOBODY."""
    worker = pool.workers[index]
    if worker.due != NOBODY or worker.reserved == 0:
        return worker.due
    return pool.requests[worker.leader].start_step + pool.run[0].alpha + 1


@compiled
def note(pool: Any, index: Any, i: Any) -> None:
    """Request i has completed: its lane goes on."""
    worker = pool.workers[index]
    if i == worker.leader:
        worker.leader = NOBODY
    following = np.int64(pool.requests[i].link)
    if following != PLAIN:
        worker.beside -= 1
        if following != NOBODY:
            _make_ready(pool, index, following)


@compiled
def drop(pool: Any, index: Any, i: Any) -> None:
    """Request i, which the cohort had reserved, has left without having started.

    If it is o_1, the cohort ends as at its completion, when the worker is next asked.
    """
    worker, requests = pool.workers[index], pool.requests
    if i == worker.leader:
        worker.due = NOBODY
        worker.leader = NOBODY
        return
    worker.reserved -= 1
    following = np.int64(requests[i].link)
    if worker.own == i:
        worker.own = following
    elif not _unlink(requests, worker.own, i):
        worker.packed -= 1
        _drop_from_lane(pool, index, i)
    requests[i].link = PLAIN


@compiled
def _drop_from_lane(pool: Any, index: Any, i: Any) -> None:
    """Let the one before i on its lane point to the one after it."""
    worker, requests = pool.workers[index], pool.requests
    running = worker.first
    while running != NOBODY:
        if requests[running].link != PLAIN and _unlink(requests, running, i):
            return
        running = np.int64(requests[running].after)
    ready, before = worker.ready, NOBODY
    while ready != i:
        if _unlink(requests, ready, i):
            return
        before, ready = ready, np.int64(requests[ready].after)
    rest = np.int64(requests[i].after)  # i itself was ready: its lane goes on with the next, or is no more
    following = np.int64(requests[i].link)
    if following != NOBODY:
        requests[following].after = rest
        rest = following
    else:
        worker.held -= 1
    if before == NOBODY:
        worker.ready = rest
    else:
        requests[before].after = rest


@compiled
def _unlink(requests: Any, head: Any, i: Any) -> Any:
    """Take i out of the chain behind `head`; whether it was there."""
    while head != NOBODY:
        following = np.int64(requests[head].link)
        if following == i:
            requests[head].link = requests[i].link
            return True
        head = following
    return False


@compiled
def _give_back(pool: Any, index: Any) -> Any:
    """At o_1's progress alpha + 1, or at its completion, the cohort's rest goes back."""
    worker, requests = pool.workers[index], pool.requests
    if worker.due != NOBODY or worker.reserved == 0:
        return 0
    if worker.leader != NOBODY:
        if worker.steps - requests[worker.leader].start_step <= pool.run[0].alpha:
            return 0
    count = worker.reserved
    _queue_chain(pool, worker.queue, worker.own)
    ready = worker.ready
    while ready != NOBODY:
        following = np.int64(requests[ready].after)
        _queue_chain(pool, worker.queue, ready)
        ready = following
    running = worker.first if worker.batch > 0 else NOBODY
    while running != NOBODY:
        if requests[running].link != PLAIN:
            _queue_chain(pool, worker.queue, np.int64(requests[running].link))
            requests[running].link = PLAIN
        running = np.int64(requests[running].after)
    worker.own = NOBODY
    worker.ready = NOBODY
    worker.held = 0
    worker.reserved = 0
    worker.packed = 0
    worker.beside = 0
    return count


@compiled
def _queue_chain(pool: Any, queue: Any, head: Any) -> None:
    while head != NOBODY:
        request = pool.requests[head]
        head = np.int64(request.link)
        add(pool.queues, queue, np.int64(request.rank))
        request.link = PLAIN
        request.state = QUEUED


@part
def _begin(pool: Any, index: Any) -> None:
    """Phase ONE: keep the planned cohort, if there is one."""
    worker, run = pool.workers[index], pool.run[0]
    waiting = SetView(pool.queues, worker.queue)
    plan = plan_cohort(pool.sizes, waiting, worker.batch_size, run.alpha, run.free_ride)
    if plan.leader < 0:
        return
    worker.leader = _reserve(pool, index, plan.leader)
    worker.due = worker.steps + plan.delay
    ranks, lanes = running_order(pool.sizes, plan, run.free_ride, run.descending)
    _chain_packs(pool, index, ranks, lanes)
    if run.free_ride:
        return
    for place in range(len(plan.own) - 1, -1, -1):
        i = _reserve(pool, index, plan.own[place])
        pool.requests[i].link = worker.own
        worker.own = i
    worker.reserved += len(plan.own)


@part
def _chain_packs(pool: Any, index: Any, ranks: Any, lanes: Any) -> None:
    """Each lane's requests in a chain, its first one ready."""
    worker = pool.workers[index]
    last = [NOBODY for _ in range(worker.batch_size + 1)]  # by lane
    for place in range(len(ranks)):
        i = _reserve(pool, index, ranks[place])
        pool.requests[i].link = NOBODY
        before = last[lanes[place]]
        if before == NOBODY:
            _make_ready(pool, index, i)
        else:
            pool.requests[before].link = i
        last[lanes[place]] = i
    worker.packed = len(ranks)
    worker.reserved = len(ranks)


@compiled
def _reserve(pool: Any, index: Any, rank: Any) -> Any:
    """Keep the request of that rank for the worker; its id."""
    discard(pool.queues, pool.workers[index].queue, rank)
    i = np.int64(pool.places[rank].id)
    pool.requests[i].state = RESERVED
    pool.requests[i].worker = index
    return i


@compiled
def _make_ready(pool: Any, index: Any, i: Any) -> None:
    worker = pool.workers[index]
    pool.requests[i].after = worker.ready
    worker.ready = i
    worker.held += 1


@compiled
def _start_packs(pool: Any, index: Any, now: Any) -> None:
    """The next request of every lane that runs none; their order makes no difference to any time."""
    worker = pool.workers[index]
    while worker.ready != NOBODY:
        i = worker.ready
        worker.ready = np.int64(pool.requests[i].after)
        worker.held -= 1
        worker.packed -= 1
        worker.reserved -= 1
        worker.beside += 1
        admit(pool, index, i, now)


@compiled
def _phase_two(pool: Any, index: Any, now: Any) -> None:
    """The longest of the cohort's own and the queue into every slot not held."""
    worker, requests = pool.workers[index], pool.requests
    queued = first_at_or_after(pool.queues, worker.queue, np.int64(0))
    while worker.batch_size - worker.batch > worker.held:
        own = worker.own
        if own != NOBODY and (queued < 0 or requests[own].rank < queued):
            worker.own = np.int64(requests[own].link)
            worker.reserved -= 1
            requests[own].link = PLAIN
            admit(pool, index, own, now)
        elif queued >= 0:
            discard(pool.queues, worker.queue, queued)
            admit(pool, index, np.int64(pool.places[queued].id), now)
            queued = first_at_or_after(pool.queues, worker.queue, queued + 1)
        else:
            return
