"""Which of the running workers that heed the queue comes first to a step boundary.

A request that arrives while everybody is inside a step joins the first worker with a place for it
that reaches a boundary.  Looking at every worker for every arrival would cost O(G); here it costs
O(log G) where all steps take the same constant time (`Ring`), and otherwise as many looks as
boundaries have passed since the last arrival, however many workers there are (`Heap`).
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from math import fmod, inf, nan
from typing import Protocol

from fairq.worker import Worker

__all__ = ["Boundaries", "Heap", "Ring", "boundaries_of", "first_step"]

_BLUR = 2.0**-49  # of a time: the last bits, in which a phase may be off


class Boundaries(Protocol):
    """The running workers that heed the queue, searched by their next boundary."""

    keeps: bool
    """Whether a worker's boundaries stay where they are while it runs, whoever joins or leaves its batch."""

    def put(self, worker: Worker) -> None:
        """Have `worker` among them, with its batch and clock as they are now."""
        ...

    def drop(self, worker: Worker) -> None:
        """Have it among them no more."""
        ...

    def first(self, time: float, asked: Sequence[int], news: int) -> tuple[float, list[int]]:
        """The earliest boundary at or after `time`, and whose it is; (inf, []) where there is none.

        Only workers with ``asked[index] != news`` count: the others have been asked about the latest news.
        """
        ...


def boundaries_of(workers: Sequence[Worker]) -> Boundaries:
    """The searchable boundaries of a pool: on a circle where all steps take one constant time."""
    laws = {worker.law for worker in workers}
    if len(laws) == 1 and (law := laws.pop()).is_constant:
        return Ring(workers, law.c)
    return Heap(workers)


def first_step(base: float, step: float, time: float) -> int:
    """The least n with ``base + step·n >= time``: a division may be off, only the times themselves decide.

    >>> first_step(0.0, 0.1, 0.3)  # 0.1·3 is 0.30000000000000004
    3
    """
    n = int((time - base) / step)
    while base + step * n < time:
        n += 1
    while base + step * (n - 1) >= time:
        n -= 1
    return n


class Ring:
    """Workers on a circle by the phase of their boundaries, base modulo the step.

    Phases order the boundaries but for the last bits: candidates within a few of them are compared by
    the boundary times themselves.
    """

    keeps = True

    def __init__(self, workers: Sequence[Worker], step: float) -> None:
        self._step = step
        self._circle: list[tuple[float, int]] = []  # (phase, worker), sorted
        self._base = [nan] * len(workers)  # nan: not on the circle
        self._phase = [nan] * len(workers)  # of that base

    def put(self, worker: Worker) -> None:
        index = worker.index
        if self._base[index] != worker.base:
            self.drop(worker)
            self._base[index] = worker.base
            self._phase[index] = phase = fmod(worker.base, self._step)
            insort(self._circle, (phase, index))

    def drop(self, worker: Worker) -> None:
        index = worker.index
        if self._base[index] == self._base[index]:
            del self._circle[bisect_left(self._circle, (self._phase[index], index))]
            self._base[index] = nan

    def first(self, time: float, asked: Sequence[int], news: int) -> tuple[float, list[int]]:
        circle, bases, step = self._circle, self._base, self._step
        best, whose = inf, []
        blur = _BLUR * max(step, time)
        start = time % step - blur
        if start < 0:
            start += step
        place = bisect_left(circle, (start,))
        least = time - 2 * blur - start  # plus a phase: the earliest that the boundary can be
        for _ in circle:
            if place == len(circle):
                place, least = 0, least + step
            phase, index = circle[place]
            if least + phase > best:
                break
            if asked[index] != news:
                base = bases[index]
                boundary = base + step * first_step(base, step, time)
                if boundary < best:
                    best, whose = boundary, [index]
                elif boundary == best:
                    whose.append(index)
            place += 1
        return best, whose


class Heap:
    """Workers in a heap by a boundary of theirs, brought up to date only when it comes to the top."""

    keeps = False

    def __init__(self, workers: Sequence[Worker]) -> None:
        self._workers = workers
        self._heap: list[tuple[float, int, int]] = []  # (boundary, worker, stamp)
        self._stamp = [0] * len(workers)  # of its entry that counts
        self._there = [False] * len(workers)
        self._since = 0.0  # no boundary before this time is in the heap

    def put(self, worker: Worker) -> None:
        index = worker.index
        self._stamp[index] += 1
        self._there[index] = True
        heappush(self._heap, (worker.boundary_from(self._since), index, self._stamp[index]))

    def drop(self, worker: Worker) -> None:
        self._stamp[worker.index] += 1
        self._there[worker.index] = False

    def first(self, time: float, asked: Sequence[int], news: int) -> tuple[float, list[int]]:
        if time < self._since or len(self._heap) > 8 * len(self._workers) + 64:
            self._rebuild(time)
        self._since = time
        heap, aside = self._heap, []
        best, whose = inf, []
        while heap and heap[0][0] <= best:
            boundary, index, stamp = heappop(heap)
            if stamp != self._stamp[index]:
                continue
            if boundary < time:
                heappush(heap, (self._workers[index].boundary_from(time), index, stamp))
                continue
            aside.append((boundary, index, stamp))
            if asked[index] != news:
                best = boundary
                whose.append(index)
        for entry in aside:
            heappush(heap, entry)
        return best, whose

    def _rebuild(self, time: float) -> None:
        self._heap = [
            (self._workers[index].boundary_from(time), index, self._stamp[index])
            for index, there in enumerate(self._there)
            if there
        ]
        heapify(self._heap)
