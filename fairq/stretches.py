"""The constant stretches of a schedule: where a worker's batch does not change.

All workers' steps lie one after another on one axis (worker 0's steps, then worker 1's, ...), so
everything below is a handful of array operations for the whole pool.  A point is a step count at
which some stay begins or ends; a stretch runs from one point to the next with the batch constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairq.cost import StepTime, max_feature
from fairq.schedule import Schedule

__all__ = ["Stretches", "find_stretches"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Laws:
    """The step times of a pool; most have one for all."""

    def __init__(self, laws: Sequence[StepTime]) -> None:
        self._same = laws[0] if len(set(laws)) == 1 else None
        self._table = np.array([[law.c, law.b, law.tau] for law in laws] if self._same is None else [])

    def of(self, worker: Ints) -> StepTime | LawColumns:
        """The step time of each of `worker`: one for all, or coefficients as arrays."""
        return self._same or LawColumns(*self._table[worker].T)


@dataclass(frozen=True, eq=False, slots=True)
class LawColumns:
    """Coefficients of step times, an entry a stretch."""

    c: Floats
    b: Floats
    tau: Floats

    def of(self, steps: Ints, requests: Ints, footprint: Ints) -> Floats:
        """As `StepTime.of`, in the same order."""
        elapsed: Floats = self.c * steps + self.b * requests + self.tau * footprint
        return elapsed


@dataclass(frozen=True, eq=False, slots=True)
class Stretches:
    """A schedule cut into constant stretches; arrays by stretch unless said otherwise.

    Attributes:
        stays: the stays that ran at least one step, by start (ties: by end), as indices into the schedule.
        begin, end: step counts on the axis of each of `stays`.
        origin: where each worker's steps begin on the axis (an entry a worker).
        first, steps: first step of the stretch on the axis, and how many it has.
        worker: whose it is.
        batch: requests in it.
        oldest, newest: least and largest start (axis) in the batch.
        starts: sum of the starts (axis) in the batch.
        base: the time at which the worker last began to run after an idle gap.
        count, requests, footprint: N, K1 and K2 since then at the beginning of the stretch.
        laws: the step times, by worker.
    """

    stays: Ints
    begin: Ints
    end: Ints
    origin: Ints
    first: Ints
    steps: Ints
    worker: Ints
    batch: Ints
    oldest: Ints
    newest: Ints
    starts: Ints
    base: Floats
    count: Ints
    requests: Ints
    footprint: Ints
    laws: Laws

    @property
    def largest(self) -> Ints:
        """m, the largest token index, in the first step of each stretch."""
        return self.first - self.oldest + 1

    @property
    def extent(self) -> Ints:
        """Largest less smallest progress in the batch, in tokens; constant over a stretch."""
        return self.newest - self.oldest

    @property
    def externality(self) -> Ints:
        """Sum over the batch of (max m − m_i) in each step of a stretch (equation (6)), in tokens."""
        return self.starts - self.batch * self.oldest

    def time_at(self, point: Ints) -> Floats:
        """The time at which the steps before the axis positions `point` have ended.

        Where a new stretch begins after an idle gap at `point`, this is the end of the step before.
        """
        index = np.searchsorted(self.first, point, side="left") - 1
        return self._time(index, point - self.first[index])

    def start_times(self) -> Floats:
        """When each stretch begins (after the idle gap, where there is one)."""
        index = np.arange(len(self.first))
        return self._time(index, np.zeros_like(self.first))

    def end_times(self) -> Floats:
        """When the last step of each stretch ends."""
        return self._time(np.arange(len(self.first)), self.steps)

    def _time(self, index: Ints, steps: Ints) -> Floats:
        batch = self.batch[index]
        footprint = self.footprint[index] + max_feature(steps, batch, self.largest[index])
        law = self.laws.of(self.worker[index])
        elapsed = law.of(self.count[index] + steps, self.requests[index] + steps * batch, footprint)
        times: Floats = self.base[index] + elapsed
        return times


def find_stretches(schedule: Schedule, laws: Sequence[StepTime]) -> Stretches:
    """Cut `schedule` into constant stretches; `laws` are the step times of the pool, by worker.

    >>> ids, zero = np.arange(2), np.zeros(2, dtype=np.int64)
    >>> tokens, finish = np.array([3, 1]), np.array([3.0, 1.0])
    >>> plan = Schedule(ids, zero, zero, tokens, np.zeros(2), finish)
    >>> cut = find_stretches(plan, [StepTime(c=1.0)])
    >>> cut.batch.tolist(), cut.steps.tolist(), cut.end_times().tolist()
    ([2, 1], [1, 2], [1.0, 3.0])
    """
    origin, begin, end = _axis(schedule, len(laws))
    order = np.lexsort((end, begin))
    order = order[end[order] > begin[order]]  # a stay that the end of the run cut before its first step
    stays, begin, end = order, begin[order], end[order]
    points = np.unique(np.concatenate((begin, end)))
    first, steps = points[:-1], np.diff(points)
    begun = np.searchsorted(begin, first, side="right")
    ends = np.sort(end)
    ended = np.searchsorted(ends, first, side="right")
    batch = begun - ended
    kept = batch > 0  # a schedule without holes has no other stretch; a damaged one must not break us
    first, steps, begun, ended, batch = first[kept], steps[kept], begun[kept], ended[kept], batch[kept]
    oldest = begin[np.searchsorted(np.maximum.accumulate(end), first, side="right")] if len(end) else first
    starts = _prefix(begin)[begun] - _prefix(begin[np.argsort(end, kind="stable")])[ended]
    worker = np.searchsorted(origin, first, side="right") - 1
    start = schedule.start[stays]
    opening = _openings(start, schedule.finish[stays], begin, end, first, first == origin[worker])
    base = start[np.searchsorted(begin, first, side="left")[_last_opening(opening)]]
    footprint = max_feature(steps, batch, first - oldest + 1)
    return Stretches(
        stays=stays, begin=begin, end=end, origin=origin, first=first, steps=steps,
        worker=worker, batch=batch, oldest=oldest, newest=_newest(begin, end, first, begun), starts=starts,
        base=base, count=_since_opening(opening, steps), requests=_since_opening(opening, steps * batch),
        footprint=_since_opening(opening, footprint), laws=Laws(laws),
    )  # fmt: skip


def _axis(schedule: Schedule, workers: int) -> tuple[Ints, Ints, Ints]:
    """Where each worker's steps begin on the common axis, and each stay's first step and end on it."""
    total = np.zeros(workers, dtype=np.int64)
    np.maximum.at(total, schedule.worker, schedule.start_step + schedule.steps)
    origin = np.concatenate(([0], np.cumsum(total)[:-1]))
    begin = origin[schedule.worker] + schedule.start_step
    return origin, begin, begin + schedule.steps


def _prefix(values: Ints) -> Ints:
    """Sums of the first 0, 1, 2, ... of `values`."""
    return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(values)))


def _newest(begin: Ints, end: Ints, first: Ints, begun: Ints) -> Ints:
    """The largest start in each stretch's batch.

    One pass: who has ended on top of the stack of starts is never needed again.  (The oldest is a
    search in a running maximum, since whoever starts later cannot be older; the newest is not.)
    """
    starts, ends = begin.tolist(), end.tolist()
    stack: list[int] = []
    newest, entered = [], 0
    for point, upto in zip(first.tolist(), begun.tolist(), strict=True):
        stack.extend(range(entered, upto))
        entered = upto
        while ends[stack[-1]] <= point:
            stack.pop()
        newest.append(starts[stack[-1]])
    return np.array(newest, dtype=np.int64)


def _openings(
    start: Floats, finish: Floats, begin: Ints, end: Ints, first: Ints, is_first: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Stretches before which the worker was idle: nobody stays on from before, and time has passed.

    Starting again at the very boundary at which the batch became empty is no gap.
    """
    by_end = np.argsort(end, kind="stable")
    begun_before = np.searchsorted(begin, first, side="left")
    ended = np.searchsorted(end[by_end], first, side="right")
    opened_at = start[begun_before % max(len(start), 1)]
    closed_at = finish[by_end[ended - 1]]  # of the worker before, where the stretch is a worker's first
    opening: NDArray[np.bool_] = is_first | ((begun_before == ended) & (opened_at != closed_at))
    return opening


def _since_opening(opening: NDArray[np.bool_], counts: Ints) -> Ints:
    """Running sum of `counts` before each stretch, begun anew at each opening."""
    before = _prefix(counts)[:-1]
    return before - before[_last_opening(opening)]


def _last_opening(opening: NDArray[np.bool_]) -> Ints:
    return np.maximum.accumulate(np.where(opening, np.arange(len(opening)), 0))
