"""What the compiled engine keeps: a record for the run, and one for each worker and request.

The run's record holds the addresses of all others, so it is all that a compiled function must be given.
Constants are NumPy's integers, since for each literal argument a function would be compiled anew.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairq.compiled.jit import array_reader, compiled, record_reader

__all__ = [
    "ABANDONED", "ADDRESSED", "COMPLETED", "NOBODY", "PLACE", "PLAIN", "QUEUED", "REJECTED", "REQUEST",
    "RESERVED", "RUN", "RUNNING", "SLOT", "WORKER", "place_at", "request_at", "sizes_of", "slot_at",
    "word_at", "worker_at",
]  # fmt: skip

NOBODY = np.int64(-1)
"""No request, no worker, no step."""

PLAIN = np.int64(-2)
"""In `link`: a request that is in no pack."""

QUEUED, RESERVED, RUNNING, COMPLETED, REJECTED, ABANDONED = np.arange(1, 7, dtype=np.int64)
"""States of a request; 0 before it arrives."""

WORKER = np.dtype(
    [
        ("batch_size", np.int64),  # B
        ("c", np.float64),  # the step law, in the clock's unit of time
        ("b", np.float64),
        ("tau", np.float64),
        ("steps", np.int64),  # since the beginning of the run
        ("base", np.float64),  # when it last began to run after an idle gap; then N, K1 and K2 since
        ("n", np.int64),
        ("k1", np.int64),
        ("k2", np.int64),
        ("left_at", np.float64),  # the boundary at which its batch last became empty
        ("batch", np.int64),  # requests in the batch
        ("slots", np.int64),  # the address of its batch as a heap of `SLOT` by completion
        ("first", np.int64),  # the batch as a list by admission: its ends, and the first one's start step
        ("last", np.int64),
        ("oldest", np.int64),
        ("event", np.int64),  # the step count of its next event
        ("call", np.int64),  # and of the boundary at which it is called to the central queue
        ("queue", np.int64),  # the set of what waits for it
        ("idle", np.int64),  # 1 while it is in the set of idle workers
        ("touched", np.int64),  # 1 while it is in the list of those that stand at a boundary now
        ("unfinished", np.int64),  # requests dispatched to it and not completed
        ("work", np.int64),  # the sum of their sizes
        ("starts", np.int64),  # the sum of the start steps of those in the batch
        # A cohort, for policies that plan them:
        ("leader", np.int64),  # o_1, until it completes
        ("due", np.int64),  # the step count at which o_1 starts; NOBODY once it has, or without a cohort
        ("own", np.int64),  # the first of o_2 .. o_M not started
        ("ready", np.int64),  # the first of the pack requests whose turn it is on their lane
        ("held", np.int64),  # how many these are: a slot is kept for each
        ("reserved", np.int64),  # requests of the cohort, but o_1, that have not started
        ("packed", np.int64),  # how many of them are in packs
        ("beside", np.int64),  # pack requests in the batch
    ],
    align=True,
)
"""A worker: its clock, its batch, its cohort."""

REQUEST = np.dtype(
    [
        ("tokens", np.int64),
        ("arrival", np.float64),
        ("start", np.float64),
        ("finish", np.float64),
        ("start_step", np.int64),
        ("rank", np.int32),  # in the policy's order
        ("worker", np.int32),  # which serves it, or to which it was dispatched
        ("before", np.int32),  # neighbours in the batch's list; `after` is also the chain of those ready
        ("after", np.int32),
        ("link", np.int32),  # the next of o_2 .. o_M, or the next on its lane; PLAIN outside of packs
        ("state", np.int32),  # QUEUED .. ABANDONED
    ],
    align=True,
)
"""A request: 64 bytes, so that everything about it is on one line of the cache."""

PLACE = np.dtype(
    [
        ("id", np.int32),  # of the request with that rank
        ("order", np.int32),  # of the request with that place in arrival order
        ("one", np.int32),  # workers that a dispatcher has chosen for the latter beforehand
        ("other", np.int32),
    ],
    align=True,
)
"""By number: what has that rank, and what that place in arrival order."""

SLOT = np.dtype([("finish", np.int64), ("request", np.int64)], align=True)
"""A request in service, and the step count at which it completes."""

RUN = np.dtype(
    [
        ("count", np.int64),  # requests
        ("crew_size", np.int64),  # workers
        ("workers", np.int64),  # addresses: of the records
        ("requests", np.int64),
        ("places", np.int64),
        ("sizes", np.int64),  # of the sizes by rank
        ("queues", np.int64),  # of the sets of ranks that wait, and of the sets of workers
        ("crew", np.int64),
        ("touched", np.int64),  # of the list of the workers that stand at a boundary now
        ("touched_count", np.int64),  # (its length)
        ("events", np.int64),  # of heaps of workers: by their next event
        ("calls", np.int64),  # by a boundary at which they would take a request from the central queue
        ("loads", np.int64),  # by unfinished requests
        ("cohort", np.bool_),  # plan cohorts, as the next two say; else a Rule, as `static` and `guard` do
        ("free_ride", np.bool_),
        ("descending", np.bool_),
        ("static", np.bool_),  # only into an empty batch
        ("guard", np.bool_),  # only while max progress <= alpha
        ("alpha", np.int64),  # whole tokens
        ("dispatch", np.int64),  # a code of `dispatching`
        ("until", np.float64),  # what ends the run, and waits, early; infinity: nothing
        ("queue_limit", np.float64),
        ("abandon_after", np.float64),
        ("max_queued", np.float64),
        ("released", np.int64),  # counts of requests
        ("entered", np.int64),
        ("lost", np.int64),
        ("sent", np.int64),
        ("passed", np.int64),  # how many of the first, in arrival order, no longer wait
    ],
    align=True,
)
"""What is run, and how far it has come."""


ADDRESSED = (
    "workers", "requests", "places", "sizes", "queues", "crew", "touched", "events", "calls", "loads",
)  # fmt: skip
"""The arrays whose addresses the run's record holds."""

_worker, _request, _place = record_reader(WORKER), record_reader(REQUEST), record_reader(PLACE)
slot_at = record_reader(SLOT)
"""The slot of that index in a worker's heap, by the heap's address."""

word_at = record_reader(np.dtype([("word", np.int64)]))
"""The whole number of that index in a list, by the list's address."""

_sizes = array_reader(np.dtype(np.int64))


@compiled
def worker_at(run: Any, index: Any) -> Any:
    """The record of the worker of that index."""
    return _worker(run.workers, index)


@compiled
def request_at(run: Any, i: Any) -> Any:
    """The record of request i."""
    return _request(run.requests, i)


@compiled
def place_at(run: Any, number: Any) -> Any:
    """What has that rank, and what that place in arrival order."""
    return _place(run.places, number)


@compiled
def sizes_of(run: Any) -> Any:
    """Size by rank in tokens, as the policy is told them."""
    return _sizes(run.sizes, run.count)
