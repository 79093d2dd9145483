"""Whether the compiled engine can carry out a run, and the way there and back: arrays in, a `Schedule` out."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from math import nan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairq.cost import StepTime
from fairq.dispatch import Arrivals
from fairq.isjl import CohortAgent
from fairq.policy import PolicyPlan
from fairq.pool import Limits
from fairq.ranking import order_keys
from fairq.rules import RuleAgent
from fairq.schedule import Schedule
from fairq.workload import Workload

__all__ = ["can_run", "run"]

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


MAX_SLOTS = 2**28
_LARGEST = 2**61  # an alpha beyond it is as good as it: sums of sizes stay below


def can_run(
    plan: PolicyPlan, workload: Workload, slots: Sequence[int], laws: Sequence[StepTime]
) -> str | None:
    """None where `run` can serve `workload` as `plan` says; else the reason why not, in a clause.

    Parameters:
        plan: the policy.
        workload: the requests.
        slots, laws: batch size and step time of each worker.

    >>> from fairq import Workload
    >>> from fairq.policy import plan_policy
    >>> workload = Workload.from_arrays(tokens=[3, 1])
    >>> class Own:
    ...     def decide(self, view): ...
    >>> can_run(plan_policy(Own, None, {}, 1), workload, [2], [])
    "policy 'Own' is neither a Rule nor a Cohort, and these are all that it knows"
    """
    agent = plan.agents[0]
    if type(agent) not in (RuleAgent, CohortAgent):
        return f"policy {plan.name!r} is neither a Rule nor a Cohort, and these are all that it knows"
    if getattr(agent, "max_wait", None) is not None:
        return f"policy {plan.name!r} has the option max_wait, which it does not know"
    if any(type(law) is not StepTime for law in laws):
        return "a worker's clock is no StepTime"
    count = sum(min(each, len(workload)) for each in slots)
    if count > MAX_SLOTS:
        return f"the workers have {count} slots, and it holds at most {MAX_SLOTS}"
    if float(_sizes(plan, workload).sum(dtype=np.float64)) > _LARGEST:
        return "the sizes that the policy is told sum to more than 64 bits hold"
    if not _has_numba():
        return "it needs Numba, which is not installed: pip install 'fairq[fast]'"
    return None


def run(
    plan: PolicyPlan,
    workload: Workload,
    *,
    slots: Sequence[int],
    laws: Sequence[StepTime],
    dispatch: str,
    arrivals: Arrivals,
    limits: Limits,
) -> Schedule:
    """Serve `workload`, and return the schedule that the SimPy engine returns, to the last bit.

    Parameters:
        plan: the policy; `can_run` says whether it may be.
        workload: requests with arrivals in the clock's unit.
        slots, laws: batch size and step time of each worker.
        dispatch, arrivals, limits: as `fairq.pool.Pool` takes them.

    >>> import numpy as np
    >>> from fairq import StepTime, Workload
    >>> from fairq.policy import plan_policy
    >>> workload = Workload.from_arrays(tokens=[4, 4, 2, 2])
    >>> plan = plan_policy("isjl", 2.0, {}, 1)
    >>> arrivals = Arrivals(workload.tokens, np.arange(4), alpha=2, seed=0, replication=0)
    >>> pool = {"slots": [3], "laws": [StepTime(c=1.0)], "dispatch": "central", "arrivals": arrivals}
    >>> run(plan, workload, limits=Limits(), **pool).finish.tolist()  # doctest: +SKIP
    [4.0, 6.0, 2.0, 2.0]
    """
    from fairq.compiled.build import kernel

    pool = _pool(plan, workload, slots, laws, dispatch, arrivals)
    for name in ("until", "queue_limit", "abandon_after", "max_queued"):
        pool.run[name] = getattr(limits, name)
    return _schedule(pool, workload, kernel(pool.run[0]))


@cache
def _has_numba() -> bool:
    return find_spec("numba") is not None


def _sizes(plan: PolicyPlan, workload: Workload) -> NDArray[np.int64]:
    return workload.upper if plan.size == "upper" else workload.tokens


def _run(plan: PolicyPlan, alpha: int | None, dispatch: str) -> NDArray[np.void]:
    """The policy and the dispatcher as data."""
    from fairq.compiled.dispatching import CODES
    from fairq.compiled.records import RUN

    agent: Any = plan.agents[0]
    run = np.zeros(1, dtype=RUN)
    if isinstance(agent, CohortAgent):
        run["cohort"] = run["guard"] = True
        run["free_ride"], run["descending"] = agent.free_ride, agent.descending
    else:
        run["static"], run["guard"] = agent.rule.when == "empty", agent.rule.guard
    run["alpha"] = -1 if alpha is None else min(alpha, _LARGEST)
    run["dispatch"] = CODES[dispatch]
    return run


def _pool(
    plan: PolicyPlan,
    workload: Workload,
    slots: Sequence[int],
    laws: Sequence[StepTime],
    dispatch: str,
    arrivals: Arrivals,
) -> Pool:
    """The state at the beginning of a run."""
    from fairq.compiled.kernel import CREW_SETS
    from fairq.compiled.ranks import make_sets
    from fairq.compiled.records import SLOT
    from fairq.compiled.times import make_heap

    count, crew, order = len(workload), len(slots), arrivals.by_arrival
    ids = order if plan.order == "arrival" else order_keys(plan.order, arrivals.size, workload.arrival)
    room = np.minimum(np.array(slots, dtype=np.int64), count)
    in_service = np.empty(int(room.sum()), dtype=SLOT)
    central = dispatch == "central"
    pool = Pool(
        run=_run(plan, arrivals.alpha, dispatch),
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
    pool.workers["slots"] = _address(in_service) + SLOT.itemsize * (np.cumsum(room) - room)
    pool.run["count"], pool.run["crew_size"] = count, crew
    for name in ("workers", "requests", "places", "sizes", "queues", "crew", "touched", "events", "calls", "loads"):
        pool.run[name] = _address(getattr(pool, name))
    return pool


def _address(array: NDArray[Any]) -> int:
    """Where an array lies; whoever uses it must keep the array."""
    address: int = array.__array_interface__["data"][0]
    return address


def _workers(
    slots: Sequence[int], laws: Sequence[StepTime], central: bool
) -> NDArray[np.void]:
    from fairq.compiled.ranks import ROOT
    from fairq.compiled.records import NOBODY, WORKER

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
    from fairq.compiled.records import NOBODY, PLAIN, REQUEST

    requests = np.zeros(len(workload), dtype=REQUEST)
    requests["tokens"] = workload.tokens
    requests["arrival"] = workload.arrival
    requests["finish"] = nan
    requests["rank"][ids] = np.arange(len(ids))
    requests["worker"] = NOBODY
    requests["link"] = PLAIN
    return requests


def _places(
    ids: NDArray[np.int64], order: NDArray[np.int64], choices: tuple[Any, Any]
) -> NDArray[np.void]:
    from fairq.compiled.records import PLACE

    places = np.empty(len(ids), dtype=PLACE)
    places["id"], places["order"] = ids, order
    places["one"], places["other"] = choices
    return places


def _choices(dispatch: str, arrivals: Arrivals, workers: int) -> tuple[Any, Any]:
    """Workers chosen beforehand, by place in arrival order; the two of power-of-two in index order."""
    if dispatch == "length-class":
        size, alpha = arrivals.size[arrivals.by_arrival], arrivals.alpha
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


def _schedule(pool: Pool, workload: Workload, stopped_at: float) -> Schedule:
    from fairq.compiled.records import ABANDONED, COMPLETED, REJECTED, RUNNING

    table = pool.requests
    state = table["state"]
    request = np.flatnonzero((state == RUNNING) | (state == COMPLETED))
    stays = table[request] if len(request) < len(table) else table
    worker, start_step = stays["worker"].astype(np.int64), np.ascontiguousarray(stays["start_step"])
    reached = pool.workers["steps"][worker] - start_step
    return Schedule(
        request=request,
        worker=worker,
        start_step=start_step,
        steps=np.where(stays["state"] == RUNNING, reached, workload.tokens[request]),
        start=np.ascontiguousarray(stays["start"]),
        finish=np.ascontiguousarray(stays["finish"]),
        rejected=_lost(pool, REJECTED),
        abandoned=_lost(pool, ABANDONED),
        stopped_at=stopped_at,
    )


def _lost(pool: Pool, state: int) -> NDArray[np.int64]:
    """Requests that ended in that state without service, in order of arrival, as they were lost."""
    order = pool.places["order"].astype(np.int64)
    return order[pool.requests["state"][order] == state]
