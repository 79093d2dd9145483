"""Which worker an arrival is sent to: the twin of `fairq.dispatch`."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairq.compiled.batches import steps_by
from fairq.compiled.jit import compiled, part
from fairq.compiled.times import put, top

__all__ = ["CENTRAL", "CODES", "JOINED", "JSQ", "LEFT", "LOADS", "choose", "count"]

LOADS = np.int64(2)
"""The heap of workers by unfinished requests."""

JOINED, LEFT = np.int64(1), np.int64(-1)
"""How the count of a worker's requests changes."""

CENTRAL, ROUND_ROBIN, LISTED, POWER_OF_TWO, JSQ, LEAST_WORK = range(6)
"""How a worker is chosen; LISTED is a choice that depends on the request alone, made beforehand."""

CODES = {
    "central": CENTRAL,
    "round-robin": ROUND_ROBIN,
    "random": LISTED,
    "power-of-two": POWER_OF_TWO,
    "jsq": JSQ,
    "least-work": LEAST_WORK,
    "length-class": LISTED,
}
"""The dispatchers of `fairq.simulate` by name."""


@compiled
def choose(pool: Any, place: Any, now: Any) -> Any:
    """The worker of the arrival at `place` in arrival order."""
    workers, run = pool.workers, pool.run[0]
    if run.dispatch == ROUND_ROBIN:
        return run.sent % len(workers)
    if run.dispatch == JSQ:
        return top(pool.heaps, LOADS)
    if run.dispatch == LEAST_WORK:
        return _least_work(pool, now)
    one, other = np.int64(pool.places[place].one), np.int64(pool.places[place].other)
    if run.dispatch == POWER_OF_TWO and workers[other].unfinished < workers[one].unfinished:
        return other
    return one


@compiled
def _least_work(pool: Any, now: Any) -> Any:
    """Fewest unfinished tokens, as far as they are known, in whole steps finished by `now`."""
    best, least = 0, 0
    for index in range(len(pool.workers)):
        worker = pool.workers[index]
        work = worker.work
        if worker.batch > 0:
            work -= worker.batch * steps_by(worker, pool.slots, now) - worker.starts
        if index == 0 or work < least:
            best, least = index, work
    return best


@compiled
def count(pool: Any, index: Any, i: Any, change: Any) -> None:
    """Request i has joined worker `index` (JOINED), or has completed or abandoned there (LEFT)."""
    worker = pool.workers[index]
    worker.unfinished += change
    worker.work += change * pool.sizes[pool.requests[i].rank]
    if pool.run[0].dispatch == JSQ:
        put(pool.heaps, LOADS, index, float(worker.unfinished))
