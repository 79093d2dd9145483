"""Dispatchers: which worker's own queue an arrival joins.

Each sees the requests one by one in (arrival, id) order, and the pool as it is at that moment: the
arrivals before it and every step finished by then.  Ties go to the lower index.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush

import numpy as np
from numpy.typing import NDArray

from fairq.cluster import length_classes
from fairq.dispatcher import Arrivals, Dispatcher
from fairq.errors import InputError, unknown_name
from fairq.least_work import LeastWork
from fairq.worker import Worker

__all__ = ["DISPATCHERS", "check_dispatch", "make_dispatcher"]


class RoundRobin(Dispatcher):
    """Worker 0, 1, ..., G − 1, and again."""

    def __init__(self, workers: Sequence[Worker], arrivals: Arrivals) -> None:
        super().__init__(workers, arrivals)
        self._next = 0

    def choose(self, request: int, time: float) -> int:
        index = self._next
        self._next = (index + 1) % len(self.workers)
        return index


class Listed(Dispatcher):
    """A choice that depends on the request alone, made for all of them beforehand."""

    def __init__(self, workers: Sequence[Worker], arrivals: Arrivals) -> None:
        super().__init__(workers, arrivals)
        self._choice: list[int] = self.choices(arrivals, len(workers)).tolist()

    def choices(self, arrivals: Arrivals, workers: int) -> NDArray[np.int64]:
        """The worker of each request, by request id."""
        raise NotImplementedError

    def choose(self, request: int, time: float) -> int:
        return self._choice[request]


class Random(Listed):
    """Any worker, all equally likely."""

    def choices(self, arrivals: Arrivals, workers: int) -> NDArray[np.int64]:
        return (arrivals.draws()[:, 0] * workers).astype(np.int64)


class LengthClass(Listed):
    """The worker of the request's length class: ceil(size/alpha), or the size itself, modulo G."""

    def choices(self, arrivals: Arrivals, workers: int) -> NDArray[np.int64]:
        if arrivals.alpha is None:
            raise InputError("dispatch 'length-class' needs alpha, the width of a class in tokens")
        return length_classes(arrivals.size, arrivals.alpha) % workers


class Counting(Dispatcher):
    """Knows how many unfinished requests (queued, reserved, running) each worker has."""

    def __init__(self, workers: Sequence[Worker], arrivals: Arrivals) -> None:
        super().__init__(workers, arrivals)
        self.unfinished = [0] * len(workers)

    def joined(self, request: int, index: int) -> None:
        self.unfinished[index] += 1

    def left(self, request: int, index: int) -> None:
        self.unfinished[index] -= 1


class PowerOfTwo(Counting):
    """The better by unfinished requests of two distinct workers drawn at random."""

    def __init__(self, workers: Sequence[Worker], arrivals: Arrivals) -> None:
        super().__init__(workers, arrivals)
        count, draws = len(workers), arrivals.draws()
        first = (draws[:, 0] * count).astype(np.int64)
        other = (draws[:, 1] * (count - 1)).astype(np.int64)
        other += other >= first
        self._pairs: list[list[int]] = np.sort(np.stack((first, other), axis=1), axis=1).tolist()

    def choose(self, request: int, time: float) -> int:
        if len(self.workers) == 1:
            return 0
        lower, higher = self._pairs[request]
        return higher if self.unfinished[higher] < self.unfinished[lower] else lower


class ShortestQueue(Counting):
    """jsq: the fewest unfinished requests."""

    def __init__(self, workers: Sequence[Worker], arrivals: Arrivals) -> None:
        super().__init__(workers, arrivals)
        self._heap = [(0, index) for index in range(len(workers))]  # with entries that are out of date

    def choose(self, request: int, time: float) -> int:
        heap, unfinished = self._heap, self.unfinished
        while heap[0][0] != unfinished[heap[0][1]]:
            heappop(heap)
        return heap[0][1]

    def joined(self, request: int, index: int) -> None:
        super().joined(request, index)
        self._changed(index)

    def left(self, request: int, index: int) -> None:
        super().left(request, index)
        self._changed(index)

    def _changed(self, index: int) -> None:
        if len(self._heap) > 8 * len(self.unfinished) + 64:
            self._heap = [(count, worker) for worker, count in enumerate(self.unfinished)]
            heapify(self._heap)
        else:
            heappush(self._heap, (self.unfinished[index], index))


DISPATCHERS: dict[str, Callable[[Sequence[Worker], Arrivals], Dispatcher] | None] = {
    "central": None,
    "round-robin": RoundRobin,
    "random": Random,
    "power-of-two": PowerOfTwo,
    "jsq": ShortestQueue,
    "least-work": LeastWork,
    "length-class": LengthClass,
}
"""Dispatchers by name; ``"central"`` has none: one queue, from which every worker draws."""


def check_dispatch(name: object, alpha: float | None = None) -> str:
    """`name`, if it is a dispatcher's.

    Raises:
        InputError: another name (the nearest is named), or ``"length-class"`` without `alpha`.
    """
    if not isinstance(name, str) or name not in DISPATCHERS:
        raise unknown_name("dispatch", name, DISPATCHERS)
    if name == "length-class" and alpha is None:
        raise InputError("dispatch 'length-class' needs alpha, the width of a class in tokens")
    return name


def make_dispatcher(name: str, workers: Sequence[Worker], arrivals: Arrivals) -> Dispatcher | None:
    """The dispatcher of that name; None for ``"central"``.

    >>> make_dispatcher("central", [], None) is None
    True
    """
    make = DISPATCHERS[name]
    return None if make is None else make(workers, arrivals)
