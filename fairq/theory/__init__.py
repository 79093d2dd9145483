"""What is known exactly, and what no schedule can beat: results that need no engine.

Bounds hold for one worker on the token clock (a step is the unit of time) with service that is not
interrupted; steady states of queues are what the simulator is tested against.  `fairq.theory` never
imports the engine.
"""

from fairq.theory.batches import BatchState, LockstepState, batch_dependent, lockstep, static_batching
from fairq.theory.bounds import Bound, makespan_lower_bound
from fairq.theory.general import MG1, MGInfinity, mg1, mg_infinity, shortest_first
from fairq.theory.queues import MDC, MMC, SteadyState, mdc, mmc
from fairq.theory.service import Exponential, Lengths

__all__ = [
    "MDC",
    "MG1",
    "MMC",
    "BatchState",
    "Bound",
    "Exponential",
    "Lengths",
    "LockstepState",
    "MGInfinity",
    "SteadyState",
    "batch_dependent",
    "lockstep",
    "makespan_lower_bound",
    "mdc",
    "mg1",
    "mg_infinity",
    "mmc",
    "shortest_first",
    "static_batching",
]
