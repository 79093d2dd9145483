"""fairq: batched LLM serving as a queueing system, simulated step by step in time."""

from fairq.cost import Cost, StepTime
from fairq.decision import Decision, Policy, View
from fairq.errors import CheckError, FairqError, InputError, PolicyError, ReadWarning, RecordError
from fairq.groups import WorkerGroup
from fairq.load import offered_load
from fairq.presets import PRESETS
from fairq.schedule import Schedule
from fairq.simulate import Result, simulate
from fairq.stability import StableRate, stable_rate
from fairq.terms import Terms
from fairq.workload import Workload

__all__ = [
    "PRESETS",
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
    "StableRate",
    "StepTime",
    "Terms",
    "View",
    "WorkerGroup",
    "Workload",
    "offered_load",
    "simulate",
    "stable_rate",
]
