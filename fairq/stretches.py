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
from fairq.sorting import last_beyond, stable_order, sums_before

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
        opened, closed: how many stretches begin before its begin, and before its end, of each of `stays`.
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
    opened: Ints
    closed: Ints
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

    def time_at(self, point: Ints, since: Ints | None = None) -> Floats:
        """The time at which the steps before the axis positions `point` have ended.

        Where a new stretch begins after an idle gap at `point`, this is the end of the step before.

        Parameters:
            since: for each point a stretch of the same stay, in which it lies or after which it comes.
        """
        if since is None:
            index = np.searchsorted(self.first, point, side="left") - 1
        else:
            index = since.copy()
            later = np.flatnonzero(point > self.first[since] + self.steps[since])
            index[later] = np.searchsorted(self.first, point[later], side="left") - 1
        return self._time(index, point - self.first[index])

    def start_times(self) -> Floats:
        """When each stretch begins (after the idle gap, where there is one)."""
        return self._elapsed(slice(None), self.count, self.requests, self.footprint)

    def end_times(self) -> Floats:
        """When the last step of each stretch ends."""
        return self._time(slice(None), self.steps)

    def _time(self, index: Ints | slice, steps: Ints) -> Floats:
        batch = self.batch[index]
        footprint = self.footprint[index] + max_feature(steps, batch, self.largest[index])
        return self._elapsed(
            index, self.count[index] + steps, self.requests[index] + steps * batch, footprint
        )

    def _elapsed(self, index: Ints | slice, count: Ints, requests: Ints, footprint: Ints) -> Floats:
        times: Floats = self.base[index] + self.laws.of(self.worker[index]).of(count, requests, footprint)
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
    by_end = stable_order(end)
    by_end = by_end[end[by_end] > begin[by_end]]  # the end of the run may cut a stay before its first step
    rank = stable_order(begin[by_end])  # of those sorted by end: who begins together stays in that order
    stays = by_end[rank]
    points = _find_points(begin[stays], end[by_end])
    busy, before = points.busy, points.stretches_before
    first, begun, ended = points.at[busy], points.begun[busy], points.ended[busy]
    starts = sums_before(begin[stays])[begun] - sums_before(begin[by_end])[ended]
    begin, end, closed = begin[stays], end[stays], points.of_end[rank]
    oldest = begin[_ended_with_all_before(closed, len(points.at))[busy]]
    batch, worker = begun - ended, _owners(origin, first)
    newest = begin[last_beyond(end, begun, first)] if batch.max(initial=0) > 1 else oldest
    steps, begun_before = points.steps[busy], points.begun_before[busy]
    opening = _openings(schedule, stays, by_end, begun_before, ended, worker)
    last = np.maximum.accumulate(np.where(opening, np.arange(len(opening)), 0))

    def since_opening(counts: Ints) -> Ints:
        sums = sums_before(counts)[:-1]
        return sums - sums[last]

    return Stretches(
        stays=stays, begin=begin, end=end, opened=before[points.of_begin],
        closed=before[closed], origin=origin, first=first, steps=steps,
        worker=worker, batch=batch, oldest=oldest, newest=newest, starts=starts,
        base=schedule.start[stays[begun_before[last]]], count=since_opening(steps),
        requests=since_opening(steps * batch),
        footprint=since_opening(max_feature(steps, batch, first - oldest + 1)), laws=Laws(laws),
    )  # fmt: skip


@dataclass(frozen=True, eq=False, slots=True)
class _Points:
    """The points of the axis in order, and how many stays have begun and ended by each, it included.

    Attributes:
        at: the points.
        begun, ended: stays, by point.
        of_begin, of_end: the index of its point for each begin, and for each end, in order.
    """

    at: Ints
    begun: Ints
    ended: Ints
    of_begin: Ints
    of_end: Ints

    @property
    def busy(self) -> Ints:
        """Points from which a stretch runs: all but the last, in a schedule without holes."""
        return np.flatnonzero(self.begun > self.ended)

    @property
    def begun_before(self) -> Ints:
        """Stays that have begun before each point."""
        return np.concatenate((np.zeros(1, dtype=np.int64), self.begun[:-1]))

    @property
    def steps(self) -> Ints:
        """From each point to the next one."""
        return np.diff(self.at, append=0)

    @property
    def stretches_before(self) -> Ints:
        """How many stretches begin before each point."""
        return sums_before(self.begun > self.ended)[:-1]


def _find_points(begin: Ints, end: Ints) -> _Points:
    """The points of stays, their begins and their ends each in order."""
    moves = np.concatenate((2 * begin, 2 * end + 1))
    moves.sort()
    at, is_end = moves >> 1, (moves & 1).astype(bool)
    is_last = np.ones(len(at), dtype=bool)
    np.not_equal(at[1:], at[:-1], out=is_last[:-1])
    last = np.flatnonzero(is_last)
    number = np.cumsum(is_last) - is_last
    ended = np.cumsum(is_end)[last]
    return _Points(at[last], last + 1 - ended, ended, number[~is_end], number[is_end])


def _ended_with_all_before(closed: Ints, points: int) -> Ints:
    """By point, how many stays have ended with all that began before them; the next one is the oldest."""
    return np.cumsum(np.bincount(np.maximum.accumulate(closed), minlength=points))


def _owners(origin: Ints, first: Ints) -> Ints:
    """Whose each stretch is: of the workers that begin by then on the axis, the last."""
    begins = np.searchsorted(first, origin, side="left")
    return np.repeat(np.arange(len(origin)), np.diff(begins, append=len(first)))


def _axis(schedule: Schedule, workers: int) -> tuple[Ints, Ints, Ints]:
    """Where each worker's steps begin on the common axis, and each stay's first step and end on it."""
    total = np.zeros(workers, dtype=np.int64)
    np.maximum.at(total, schedule.worker, schedule.start_step + schedule.steps)
    origin = np.concatenate(([0], np.cumsum(total)[:-1]))
    begin = origin[schedule.worker] + schedule.start_step
    return origin, begin, begin + schedule.steps


def _openings(
    schedule: Schedule, stays: Ints, by_end: Ints, begun: Ints, ended: Ints, worker: Ints
) -> NDArray[np.bool_]:
    """Stretches before which the worker was idle: nobody stays on from before, and time has passed.

    Starting again at the very boundary at which the batch became empty is no gap.  Of the `stays` so many had
    `begun` before each stretch, and of those `by_end` so many `ended` by its begin.
    """
    opening = np.ones(len(worker), dtype=bool)
    np.not_equal(worker[1:], worker[:-1], out=opening[1:])
    alone = np.flatnonzero((begun == ended) & ~opening)
    closed_at = schedule.finish[by_end[begun[alone] - 1]]  # as many have ended
    opening[alone] = schedule.start[stays[begun[alone]]] != closed_at
    return opening
