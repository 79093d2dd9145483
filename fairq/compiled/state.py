"""The arrays that the compiled engine works on, as they are at the beginning of a run."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairq.columns import MAX_TOKENS
from fairq.compiled.crew import CREW_SETS
from fairq.compiled.dispatching import CODES
from fairq.compiled.ranks import ROOT, make_sets
from fairq.compiled.records import ADDRESSED, NOBODY, PLACE, PLAIN, REQUEST, RUN, SLOT, WORKER
from fairq.compiled.times import make_heap
from fairq.cost import StepTime
from fairq.dispatcher import Arrivals
from fairq.isjl import CohortAgent
from fairq.policy import PolicyPlan
from fairq.ranking import order_keys
from fairq.workload import Workload

__all__ = ["Pool", "address", "make_pool"]


class Pool(NamedTuple):
    """The arrays of a run, which `fairq.compiled.records` explains; the kernel is given the first alone."""

    run: NDArray[np.void]
    workers: NDArray[np.void]
    requests: NDArray[np.void]
    places: NDArray[np.void]
    sizes: NDArray[np.int64]
    slots: NDArray[np.void]
    queues: NDArray[np.int64]
    crew: NDArray[np.int64]
    touched: NDArray[np.int64]
    events: NDArray[np.void]
    calls: NDArray[np.void]
    loads: NDArray[np.void]


def _run(plan: PolicyPlan, dispatch: str) -> NDArray[np.void]:
    """The policy and the dispatcher as data."""
    agent: Any = plan.agents[0]
    run = np.zeros(1, dtype=RUN)
    if isinstance(agent, CohortAgent):
        run["cohort"] = run["guard"] = True
        run["free_ride"], run["descending"] = agent.free_ride, agent.descending
    else:
        run["static"], run["guard"] = agent.rule.when == "empty", agent.rule.guard
    run["dispatch"] = CODES[dispatch]
    return run


def make_pool(
    plan: PolicyPlan,
    workload: Workload,
    slots: Sequence[int],
    laws: Sequence[StepTime],
    dispatch: str,
    arrivals: Arrivals,
) -> Pool:
    """The state at the beginning of a run."""
    count, crew, order = len(workload), len(slots), arrivals.by_arrival
    ids = order if plan.order == "arrival" else order_keys(plan.order, arrivals.size, workload.arrival)
    room = np.minimum(np.array(slots, dtype=np.int64), count)
    in_service = np.empty(int(room.sum()), dtype=SLOT)
    central = dispatch == "central"
    pool = Pool(
        run=_run(plan, dispatch),
        workers=_workers(slots, laws, central),
        requests=_requests(workload, ids),
        places=_places(ids, order, _choices(dispatch, arrivals, crew)),
        sizes=arrivals.size[ids],
        slots=in_service,
        queues=make_sets(1 if central else crew, count, count),
        crew=make_sets(CREW_SETS, crew, CREW_SETS * crew),
        touched=np.empty(crew, dtype=np.int64),
        events=make_heap(crew),
        calls=make_heap(crew),
        loads=make_heap(crew),
    )
    pool.workers["slots"] = address(in_service) + SLOT.itemsize * (np.cumsum(room) - room)
    pool.run["count"], pool.run["crew_size"] = count, crew
    for name in ADDRESSED:
        pool.run[name] = address(getattr(pool, name))
    return pool


def address(array: NDArray[Any]) -> int:
    """Where an array lies; whoever uses it must keep the array."""
    address: int = array.__array_interface__["data"][0]
    return address


def _workers(slots: Sequence[int], laws: Sequence[StepTime], central: bool) -> NDArray[np.void]:
    workers = np.zeros(len(slots), dtype=WORKER)
    workers["batch_size"] = slots
    for name in ("c", "b", "tau"):
        workers[name] = [getattr(law, name) for law in laws]
    workers["left_at"] = nan
    workers["queue"] = ROOT if central else ROOT + np.arange(len(slots))
    for name in ("leader", "due", "own", "ready"):
        workers[name] = NOBODY
    return workers


def _requests(workload: Workload, ids: NDArray[np.int64]) -> NDArray[np.void]:
    requests = np.zeros(len(workload), dtype=REQUEST)
    requests["tokens"] = workload.tokens
    requests["arrival"] = workload.arrival
    requests["finish"] = nan
    requests["rank"][ids] = np.arange(len(ids))
    requests["worker"] = NOBODY
    requests["link"] = PLAIN
    return requests


def _places(ids: NDArray[np.int64], order: NDArray[np.int64], choices: tuple[Any, Any]) -> NDArray[np.void]:
    places = np.empty(len(ids), dtype=PLACE)
    places["id"], places["order"] = ids, order
    places["one"], places["other"] = choices
    return places


def _choices(dispatch: str, arrivals: Arrivals, workers: int) -> tuple[Any, Any]:
    """Workers chosen beforehand, by place in arrival order; the two of power-of-two in index order."""
    if dispatch == "length-class":
        size, alpha = arrivals.size[arrivals.by_arrival], arrivals.alpha
        alpha = alpha and min(alpha, MAX_TOKENS)  # from there on all sizes are in one class
        return (-(-size // alpha) if alpha else size) % workers, 0
    if dispatch not in ("random", "power-of-two"):
        return 0, 0
    draws = arrivals.draws()[arrivals.by_arrival]
    first = (draws[:, 0] * workers).astype(np.int64)
    if dispatch == "random" or workers == 1:
        return first, first
    other = (draws[:, 1] * (workers - 1)).astype(np.int64)
    other += other >= first
    return np.minimum(first, other), np.maximum(first, other)
