"""Whether the compiled engine can carry out a run, and what comes of it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairq.cost import StepTime
from fairq.dispatcher import Arrivals
from fairq.isjl import CohortAgent
from fairq.limits import Limits
from fairq.policy import PolicyPlan
from fairq.rules import RuleAgent
from fairq.schedule import Schedule
from fairq.workload import Workload

if TYPE_CHECKING:
    from fairq.compiled.state import Pool

__all__ = ["can_run", "fault_of_numba", "is_ready", "run", "unfit"]

MAX_SLOTS = 2**28
"""A slot is 16 bytes, claimed for every worker and touched where it is used."""

LARGEST = 2**61
"""No sum of sizes comes near it, so an alpha beyond it is as good as it."""


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
    return unfit(plan, workload, slots, laws) or fault_of_numba()


def unfit(plan: PolicyPlan, workload: Workload, slots: Sequence[int], laws: Sequence[StepTime]) -> str | None:
    """As `can_run`, of a machine that has Numba; this one is not asked, which would load it."""
    if any(type(law) is not StepTime for law in laws):
        return "a worker's clock is no StepTime"
    return _of_policy(plan) or _of_size(workload, slots)


@cache
def fault_of_numba() -> str | None:
    """None where Numba can be loaded, which this does; else why not, and what to install, in a clause."""
    if find_spec("numba") is None:
        return "it needs Numba, which is not installed: pip install 'fairq[fast]'"
    try:
        import_module("numba")
    except Exception as error:  # noqa: BLE001 -- whatever it is (another NumPy, mostly), SimPy can do without
        return f"Numba cannot be imported ({type(error).__name__}: {error}): pip install 'fairq[fast]'"
    return None


def _of_policy(plan: PolicyPlan) -> str | None:
    agent: Any = plan.agents[0]
    if type(agent) not in (RuleAgent, CohortAgent):  # what is made of them may decide otherwise
        return f"policy {plan.name!r} is neither a Rule nor a Cohort, and these are all that it knows"
    if agent.max_wait is not None:
        return f"policy {plan.name!r} has the option max_wait, which it does not know"
    return None


def _of_size(workload: Workload, slots: Sequence[int]) -> str | None:
    count = sum(min(each, len(workload)) for each in slots)
    return f"the workers have {count} slots, and it holds at most {MAX_SLOTS}" if count > MAX_SLOTS else None


def is_ready() -> bool:
    """Whether this process has the kernel, so that a run costs neither compiling nor reading it."""
    return "fairq.compiled.build" in sys.modules and fault_of_numba() is None


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
    >>> slots, laws = [3], [StepTime(c=1.0)]
    >>> arrivals = Arrivals(workload.tokens, np.arange(4), alpha=2, seed=0, replication=0)
    >>> if can_run(plan, workload, slots, laws) is None:
    ...     schedule = run(plan, workload, slots=slots, laws=laws, dispatch="central", arrivals=arrivals,
    ...                    limits=Limits())
    ...     assert schedule.finish.tolist() == [4.0, 6.0, 2.0, 2.0]
    """
    from fairq.compiled.build import kernel
    from fairq.compiled.state import make_pool

    pool = make_pool(plan, workload, slots, laws, dispatch, arrivals)
    pool.run["alpha"] = -1 if arrivals.alpha is None else min(arrivals.alpha, LARGEST)
    for name in ("until", "queue_limit", "abandon_after", "max_queued"):
        pool.run[name] = getattr(limits, name)
    return _schedule(pool, kernel(pool.run[0]))


def _schedule(pool: Pool, stopped_at: float) -> Schedule:
    from fairq.compiled.build import copy_stays
    from fairq.compiled.records import ABANDONED, REJECTED
    from fairq.compiled.state import address
    from fairq.compiled.stays import STAYS

    room, stays = len(pool.requests), np.zeros(1, dtype=STAYS)
    columns: dict[str, NDArray[Any]] = {
        "request": np.empty(room, dtype=np.int64),
        "worker": np.empty(room, dtype=np.int64),
        "start_step": np.empty(room, dtype=np.int64),
        "steps": np.empty(room, dtype=np.int64),
        "start": np.empty(room),
        "finish": np.empty(room),
    }
    for name, column in columns.items():
        stays[name] = address(column)
    count = copy_stays(pool.run[0], stays[0])
    if count == room:
        return Schedule(**columns, stopped_at=stopped_at)
    return Schedule(
        **{name: column[:count].copy() for name, column in columns.items()},
        rejected=_lost(pool, REJECTED),
        abandoned=_lost(pool, ABANDONED),
        stopped_at=stopped_at,
    )


def _lost(pool: Pool, state: np.int64) -> NDArray[np.int64]:
    """Requests that ended in that state without service, in order of arrival, as they were lost."""
    order = pool.places["order"].astype(np.int64)
    lost: NDArray[np.int64] = order[pool.requests["state"][order] == state]
    return lost
