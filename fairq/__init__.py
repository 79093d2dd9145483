"""fairq: batched LLM serving as a queueing system, simulated step by step in time."""

from fairq.cost import Cost, StepTime
from fairq.errors import CheckError, FairqError, InputError, PolicyError, RecordError

__all__ = ["CheckError", "Cost", "FairqError", "InputError", "PolicyError", "RecordError", "StepTime"]
