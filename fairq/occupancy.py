"""How many wait and how many are in the system, averaged over time; and Little's law as a check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairq.errors import CheckError
from fairq.outcomes import ended_as
from fairq.stretches import Stretches

__all__ = ["Occupancy", "check_little", "occupancy", "time_within"]

Floats = NDArray[np.float64]

_CLOSE = 1e-9  # relative: sums of floats in another order


@dataclass(frozen=True, eq=False, slots=True)
class Occupancy:
    """When each request came and went, and the period over which that is averaged; arrays by request.

    Attributes:
        arrival: release times.
        left_queue: when it stopped waiting: at its start, on giving up, or at its arrival if it was
            rejected; infinity if it still waits.
        left_system: when it was gone: completed, given up or rejected; infinity if it is still there.
        first, end: the period: from the first arrival to the run's end (the last completion, or
            `until`); NaN if nobody arrived.
    """

    arrival: Floats
    left_queue: Floats
    left_system: Floats
    first: float
    end: float

    @property
    def waited(self) -> Floats:
        """Time that each request spent waiting within the period; 0 for one that came after it."""
        return self._within(self.left_queue)

    @property
    def present(self) -> Floats:
        """Time that each request spent in the system within the period."""
        return self._within(self.left_system)

    @property
    def mean_queue(self) -> float:
        """Requests that have arrived and wait (queued or held in reserve), averaged over the period."""
        return self._averaged(self.waited)

    @property
    def mean_in_system(self) -> float:
        """Requests that wait or are in service, averaged over the period."""
        return self._averaged(self.present)

    def ages(self, until: float | None) -> Floats:
        """The age at which each request left the queue, or has at `until`; NaN if it came later."""
        if until is None:
            return self.left_queue - self.arrival
        ages = np.minimum(self.left_queue, until) - self.arrival
        return np.where(self.arrival <= until, ages, np.nan)

    def _within(self, left: Floats) -> Floats:
        spent: Floats = np.minimum(left, self.end)
        spent -= self.arrival
        return np.maximum(spent, 0.0, out=spent)

    def _averaged(self, spent: Floats) -> float:
        period = self.end - self.first
        return float(spent.sum()) / period if period > 0 else np.nan


def occupancy(
    requests: Mapping[Any, Any] | pd.DataFrame, *, until: float | None, abandon_after: float | None = None
) -> Occupancy:
    """When the requests of a table came and went.

    Parameters:
        requests: the requests table of a run, with its `outcome`, or its columns by name.
        until: when the run stopped, in the clock's unit; None served everything.
        abandon_after: age at which those that abandoned gave up.

    >>> import fairq
    >>> run = fairq.simulate(fairq.Workload.from_arrays([2, 2]), "fcfs", batch_size=1)
    >>> books = occupancy(run.requests, until=None)
    >>> books.mean_queue, books.mean_in_system  # the second waits for half of the time
    (0.5, 1.5)
    """
    arrival, start, finish = (np.asarray(requests[name]) for name in ("arrival", "start", "finish"))
    left = start
    if (waiting := np.isnan(start)).any():
        left = np.where(waiting, np.inf, start)
        left = np.where(ended_as(requests, "rejected"), arrival, left)
        if abandon_after is not None:
            left = np.where(ended_as(requests, "abandoned"), arrival + abandon_after, left)
    gone = finish
    if (unfinished := np.isnan(finish)).any():
        gone = np.where(waiting, left, np.where(unfinished, np.inf, finish))
    first = arrival.min(initial=np.inf)
    end = np.fmax.reduce(finish, initial=-np.inf) if until is None else until
    if not first <= end:
        first = end = np.nan
    return Occupancy(arrival, left, gone, float(first), float(end))


def check_little(
    summary: Mapping[Any, Any] | pd.Series, requests: pd.DataFrame, books: Occupancy, stretches: Stretches
) -> None:
    """Raise if the time that requests spend, as the tables have it, is not what the summary averages.

    Little's law L = lambda·W holds on every path over the period of the run if W counts what lies
    inside it.  The left side is formed from the counting process of arrivals and departures, the right
    one is the summary's; and the time in service must be the slot time of the stretches.

    Parameters:
        summary: the run's summary, with `mean_queue` and `mean_in_system`.
        requests: the requests table.
        books: the occupancy formed from it.
        stretches: its constant stretches.

    Raises:
        CheckError: the rule ``"Little's law"`` is broken.

    Source: Little, A proof for the queuing formula L = lambda W, Operations Research 9, 1961; on a finite
    path, Stidham, A last word on L = lambda W, Operations Research 22, 1974.
    """
    period = books.end - books.first
    if not period > 0:
        return
    for name, left in (("mean_queue", books.left_queue), ("mean_in_system", books.left_system)):
        counted = time_within(np.array([books.first, books.end]), books.arrival, left)[0] / period
        if not _close(counted, summary[name]):
            raise CheckError("Little's law", f"{name} is {summary[name]}, the tables have {counted}")
    duration = stretches.end_times() - stretches.start_times()
    slots = float((duration * stretches.batch).sum())
    served = float((books.present - books.waited).sum()) - _unfinished_steps(requests, books, stretches)
    if abs(slots - served) > _CLOSE * float(books.present.sum()):
        raise CheckError("Little's law", f"requests were served for {served}, the steps' slots for {slots}")


def time_within(edges: Floats, begin: Floats, end: Floats, weight: NDArray[np.integer] | int = 1) -> Floats:
    """The integral over each window between `edges` of the sum of `weight` over the intervals that are on.

    Parameters:
        edges: times in increasing order.
        begin, end: of each interval, end at or after begin; infinity where it does not end.
        weight: whole number of each interval, or one for all.

    >>> time_within(np.array([0.0, 2.0, 4.0]), np.array([1.0, 0.0]), np.array([3.0, np.inf])).tolist()
    [3.0, 3.0]
    """
    bounds = (edges[0], edges[-1])
    times = np.concatenate((np.clip(begin, *bounds), np.clip(end, *bounds), edges))
    change = np.zeros(len(times), dtype=np.int64)
    change[: len(begin)] = weight
    change[len(begin) : 2 * len(begin)] = -change[: len(begin)]
    order = np.argsort(times, kind="stable")
    times, number = times[order], np.cumsum(change[order])
    upto = np.concatenate(([0.0], np.cumsum(number[:-1] * np.diff(times))))
    within: Floats = np.diff(upto[np.searchsorted(times, edges)])
    return within


def _unfinished_steps(requests: pd.DataFrame, books: Occupancy, stretches: Stretches) -> float:
    """Time in service that belongs to no whole step: what the end of the run cut off."""
    worker, start = np.asarray(requests["worker"]), np.asarray(requests["start"])
    cut = (worker >= 0) & np.isinf(books.left_system)
    if not cut.any():
        return 0.0
    last_end = np.full(len(stretches.origin), -np.inf)
    np.maximum.at(last_end, stretches.worker, stretches.end_times())
    return float((books.end - np.maximum(last_end[worker[cut]], start[cut])).sum())


def _close(one: float, other: float) -> bool:
    return abs(one - other) <= _CLOSE * max(abs(one), abs(other), 1e-300)
