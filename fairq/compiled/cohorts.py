"""Cohorts on one worker: the twin of `fairq.isjl.CohortAgent`, with lists in the records in place of objects.

What a cohort reserves lies in chains through `link`: o_2 .. o_M in one, each lane's pack in another.  A
lane is where its running request's `link` points; when that completes, the next one is ready.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fairq import cohort
from fairq.compiled.batches import admit, max_progress
from fairq.compiled.jit import compiled, part, shared
from fairq.compiled.ranks import SetView, add, discard, first_at_or_after
from fairq.compiled.records import NOBODY, PLAIN, QUEUED, RESERVED, place_at, request_at, sizes_of, worker_at

__all__ = ["ask_cohort", "drop", "note", "wake"]

for function in cohort.COMPILED:
    shared(function)

plan_cohort: Callable[..., Any] = cohort.plan_cohort  # of the arrays and sets of this engine
running_order = cohort.running_order


@compiled
def ask_cohort(run: Any, index: Any, now: Any) -> Any:
    """One ask, in the order give-back, Phase ONE, o_1, packs, Phase TWO; how many requests came back."""
    worker = worker_at(run, index)
    came_back = _give_back(run, index)
    progress = max_progress(worker)
    if worker.batch == 0 and worker.due == NOBODY:
        _begin(run, index)
    if worker.due != NOBODY and (worker.steps >= worker.due or worker.packed + worker.beside == 0):
        worker.due = NOBODY
        admit(run, index, worker.leader, now)
    if progress <= run.alpha:
        _start_packs(run, index, now)
        if worker.due == NOBODY:
            _phase_two(run, index, now)
    return came_back


@compiled
def wake(run: Any, index: Any) -> Any:
    """The step count of o_1's start, or of the give-back where anything is left to give; else NOBODY."""
    worker = worker_at(run, index)
    if worker.due != NOBODY or worker.reserved == 0:
        return worker.due
    return request_at(run, worker.leader).start_step + run.alpha + 1


@compiled
def note(run: Any, index: Any, i: Any) -> None:
    """Request i has completed: its lane goes on."""
    worker = worker_at(run, index)
    if i == worker.leader:
        worker.leader = NOBODY
    following = np.int64(request_at(run, i).link)
    if following != PLAIN:
        worker.beside -= 1
        if following != NOBODY:
            _make_ready(run, index, following)


@compiled
def drop(run: Any, index: Any, i: Any) -> None:
    """Request i, which the cohort had reserved, has left without having started.

    If it is o_1, the cohort ends as at its completion, when the worker is next asked.
    """
    worker = worker_at(run, index)
    if i == worker.leader:
        worker.due = NOBODY
        worker.leader = NOBODY
        return
    worker.reserved -= 1
    following = np.int64(request_at(run, i).link)
    if worker.own == i:
        worker.own = following
    elif not _unlink(run, worker.own, i):
        worker.packed -= 1
        _drop_from_lane(run, index, i)
    request_at(run, i).link = PLAIN


@compiled
def _drop_from_lane(run: Any, index: Any, i: Any) -> None:
    """Let the one before i on its lane point to the one after it."""
    worker = worker_at(run, index)
    running = worker.first
    while running != NOBODY:
        if request_at(run, running).link != PLAIN and _unlink(run, running, i):
            return
        running = np.int64(request_at(run, running).after)
    ready, before = worker.ready, NOBODY
    while ready != i:
        if _unlink(run, ready, i):
            return
        before, ready = ready, np.int64(request_at(run, ready).after)
    # Request i itself was ready: its lane goes on with the next one, or is no more.
    rest = np.int64(request_at(run, i).after)
    following = np.int64(request_at(run, i).link)
    if following != NOBODY:
        request_at(run, following).after = rest
        rest = following
    else:
        worker.held -= 1
    if before == NOBODY:
        worker.ready = rest
    else:
        request_at(run, before).after = rest


@compiled
def _unlink(run: Any, head: Any, i: Any) -> Any:
    """Take i out of the chain behind `head`; whether it was there."""
    while head != NOBODY:
        following = np.int64(request_at(run, head).link)
        if following == i:
            request_at(run, head).link = request_at(run, i).link
            return True
        head = following
    return False


@compiled
def _give_back(run: Any, index: Any) -> Any:
    """At o_1's progress alpha + 1, or at its completion, the cohort's rest goes back."""
    worker = worker_at(run, index)
    if worker.due != NOBODY or worker.reserved == 0:
        return 0
    leader = worker.leader
    if leader != NOBODY and worker.steps - request_at(run, leader).start_step <= run.alpha:
        return 0
    count = worker.reserved
    _queue_chain(run, worker.queue, worker.own)
    ready = worker.ready
    while ready != NOBODY:
        following = np.int64(request_at(run, ready).after)
        _queue_chain(run, worker.queue, ready)
        ready = following
    running = worker.first if worker.batch > 0 else NOBODY
    while running != NOBODY:
        if request_at(run, running).link != PLAIN:
            _queue_chain(run, worker.queue, np.int64(request_at(run, running).link))
            request_at(run, running).link = PLAIN
        running = np.int64(request_at(run, running).after)
    worker.own = NOBODY
    worker.ready = NOBODY
    worker.held = 0
    worker.reserved = 0
    worker.packed = 0
    worker.beside = 0
    return count


@compiled
def _queue_chain(run: Any, queue: Any, head: Any) -> None:
    while head != NOBODY:
        request = request_at(run, head)
        head = np.int64(request.link)
        add(run.queues, queue, np.int64(request.rank))
        request.link = PLAIN
        request.state = QUEUED


@part
def _begin(run: Any, index: Any) -> None:
    """Phase ONE: keep the planned cohort, if there is one."""
    worker = worker_at(run, index)
    waiting = SetView(run.queues, worker.queue)
    plan = plan_cohort(sizes_of(run), waiting, worker.batch_size, run.alpha, run.free_ride)
    if plan.leader < 0:
        return
    worker.leader = _reserve(run, index, plan.leader)
    worker.due = worker.steps + plan.delay
    ranks, lanes = running_order(sizes_of(run), plan, run.free_ride, run.descending)
    _chain_packs(run, index, ranks, lanes)
    if run.free_ride:
        return
    for place in range(len(plan.own) - 1, -1, -1):
        i = _reserve(run, index, plan.own[place])
        request_at(run, i).link = worker.own
        worker.own = i
    worker.reserved += len(plan.own)


@part
def _chain_packs(run: Any, index: Any, ranks: Any, lanes: Any) -> None:
    """Each lane's requests in a chain, its first one ready."""
    worker = worker_at(run, index)
    last = [NOBODY for _ in range(worker.batch_size + 1)]  # by lane
    for place in range(len(ranks)):
        i = _reserve(run, index, ranks[place])
        request_at(run, i).link = NOBODY
        before = last[lanes[place]]
        if before == NOBODY:
            _make_ready(run, index, i)
        else:
            request_at(run, before).link = i
        last[lanes[place]] = i
    worker.packed = len(ranks)
    worker.reserved = len(ranks)


@compiled
def _reserve(run: Any, index: Any, rank: Any) -> Any:
    """Keep the request of that rank for the worker; its id."""
    discard(run.queues, worker_at(run, index).queue, rank)
    i = np.int64(place_at(run, rank).id)
    request_at(run, i).state = RESERVED
    request_at(run, i).worker = index
    return i


@compiled
def _make_ready(run: Any, index: Any, i: Any) -> None:
    worker = worker_at(run, index)
    request_at(run, i).after = worker.ready
    worker.ready = i
    worker.held += 1


@compiled
def _start_packs(run: Any, index: Any, now: Any) -> None:
    """The next request of every lane that runs none; their order makes no difference to any time."""
    worker = worker_at(run, index)
    while worker.ready != NOBODY:
        i = worker.ready
        worker.ready = np.int64(request_at(run, i).after)
        worker.held -= 1
        worker.packed -= 1
        worker.reserved -= 1
        worker.beside += 1
        admit(run, index, i, now)


@compiled
def _phase_two(run: Any, index: Any, now: Any) -> None:
    """The longest of the cohort's own and the queue into every slot not held."""
    worker = worker_at(run, index)
    queued = first_at_or_after(run.queues, worker.queue, np.int64(0))
    while worker.batch_size - worker.batch > worker.held:
        own = worker.own
        if own != NOBODY and (queued < 0 or request_at(run, own).rank < queued):
            worker.own = np.int64(request_at(run, own).link)
            worker.reserved -= 1
            request_at(run, own).link = PLAIN
            admit(run, index, own, now)
        elif queued >= 0:
            discard(run.queues, worker.queue, queued)
            admit(run, index, np.int64(place_at(run, queued).id), now)
            queued = first_at_or_after(run.queues, worker.queue, queued + 1)
        else:
            return
