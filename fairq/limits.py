"""What ends a wait, or a run, early."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

from fairq.validation import finite_number, whole_number
from fairq.workload import Workload

__all__ = ["Limits", "check_limits"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What ends a wait, or a run, early; infinity: nothing does.

    Attributes:
        until: when the run stops.
        queue_limit: an arrival that finds that many requests waiting in the pool is rejected.
        abandon_after: time after which a request that has not started leaves.
        max_queued: the arrival that makes more than that many wait ends the run.
    """

    until: float = inf
    queue_limit: float = inf
    abandon_after: float = inf
    max_queued: float = inf


def check_limits(
    workload: Workload,
    until: float | None,
    queue_limit: int | None,
    abandon_after: float | None,
    max_queued: int | None,
) -> Limits:
    """What ends waits and the run early; None: nothing does.  A backlog's queue is no sign of overload.

    Raises:
        InputError: a limit that is negative, no finite number, or not whole where it counts requests.
    """
    arrival = workload.arrival
    longest = _or_never(whole_number, "max_queued", max_queued, 1)
    backlog = len(arrival) == 0 or arrival.min() == arrival.max()
    return Limits(
        until=_or_never(finite_number, "until", until, 0),
        queue_limit=_or_never(whole_number, "queue_limit", queue_limit, 1),
        abandon_after=_or_never(finite_number, "abandon_after", abandon_after, 0),
        max_queued=inf if backlog else longest,
    )


def _or_never(check: Callable[..., float], name: str, value: float | None, at_least: int) -> float:
    return inf if value is None else check(name, value, at_least=at_least)
