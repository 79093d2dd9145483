"""fairq: batched LLM serving as a queueing system, simulated step by step in time."""

from fairq.cost import Cost, StepTime
from fairq.decision import Decision, Policy, View
from fairq.errors import CheckError, FairqError, InputError, PolicyError, ReadWarning, RecordError
from fairq.groups import WorkerGroup
from fairq.schedule import Schedule
from fairq.simulate import Result, simulate
from fairq.terms import Terms
from fairq.workload import Workload

__all__ = [
    "CheckError",
    "Cost",
    "Decision",
    "FairqError",
    "InputError",
    "Policy",
    "PolicyError",
    "ReadWarning",
    "RecordError",
    "Result",
    "Schedule",
    "StepTime",
    "Terms",
    "View",
    "WorkerGroup",
    "Workload",
    "simulate",
]
