"""Which worker an arrival is sent to: the twin of `fairq.dispatch`."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairq.compiled.batches import steps_by
from fairq.compiled.jit import compiled
from fairq.compiled.records import place_at, request_at, sizes_of, worker_at
from fairq.compiled.times import put, top

__all__ = ["CENTRAL", "CODES", "JOINED", "JSQ", "LEFT", "choose", "count"]

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
def choose(run: Any, place: Any, now: Any) -> Any:
    """The worker of the arrival at `place` in arrival order."""
    if run.dispatch == ROUND_ROBIN:
        return run.sent % run.crew_size
    if run.dispatch == JSQ:
        return top(run.loads)
    if run.dispatch == LEAST_WORK:
        return _least_work(run, now)
    one, other = np.int64(place_at(run, place).one), np.int64(place_at(run, place).other)
    if run.dispatch == POWER_OF_TWO and worker_at(run, other).unfinished < worker_at(run, one).unfinished:
        return other
    return one


@compiled
def _least_work(run: Any, now: Any) -> Any:
    """Fewest unfinished tokens, as far as they are known, in whole steps finished by `now`."""
    best, least = 0, 0
    for index in range(run.crew_size):
        worker = worker_at(run, index)
        work = worker.work
        if worker.batch > 0:
            work -= worker.batch * steps_by(worker, now) - worker.starts
        if index == 0 or work < least:
            best, least = index, work
    return best


@compiled
def count(run: Any, index: Any, i: Any, change: Any) -> None:
    """Request i has joined worker `index` (JOINED), or has completed or abandoned there (LEFT)."""
    worker = worker_at(run, index)
    worker.unfinished += change
    worker.work += change * sizes_of(run)[request_at(run, i).rank]
    if run.dispatch == JSQ:
        put(run.loads, index, float(worker.unfinished))
