"""Dispatchers: which worker's own queue an arrival joins.

Each sees the requests one by one in (arrival, id) order, and the pool as it is at that moment: the
arrivals before it and every step finished by then.  Ties go to the lower index.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

import numpy as np
from numpy.typing import NDArray

from fairq.cost import max_feature
from fairq.errors import InputError, unknown_name
from fairq.streams import stream
from fairq.worker import Worker

__all__ = ["DISPATCHERS", "Arrivals", "Dispatcher", "check_dispatch", "make_dispatcher"]


@dataclass(frozen=True, slots=True)
class Arrivals:
    """What dispatchers may look at: sizes (tokens, as policies are told them) by request, and the draws.

    Attributes:
        size: by request id.
        by_arrival: request ids by (arrival, id).
        alpha: fairness budget in whole tokens, or None.
        seed, replication: of the stream "dispatch".
    """

    size: NDArray[np.int64]
    by_arrival: NDArray[np.int64]
    alpha: int | None
    seed: int
    replication: int

    def draws(self) -> NDArray[np.float64]:
        """Two uniforms for each request, by request id; the same for every dispatcher and pool."""
        drawn = stream(self.seed, self.replication, "dispatch").random((len(self.size), 2))
        uniforms = np.empty_like(drawn)
        uniforms[self.by_arrival] = drawn
        return uniforms


class Dispatcher:
    """Chooses a worker for each arrival; `joined`, `left` and `moved` tell it what has changed."""

    def __init__(self, workers: Sequence[Worker], arrivals: Arrivals) -> None:
        self.workers = workers

    def choose(self, request: int, time: float) -> int:
        """The index of the worker whose queue `request` joins at `time`."""
        raise NotImplementedError

    def joined(self, request: int, index: int) -> None:
        """`request` has joined the queue of worker `index`."""

    def left(self, request: int, index: int) -> None:
        """`request` is completed, or has abandoned, on worker `index`."""

    def moved(self, worker: Worker) -> None:
        """The batch or the clock of `worker` has changed."""


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
        size = arrivals.size
        classes = -(-size // arrivals.alpha) if arrivals.alpha > 0 else size
        return classes % workers


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


class LeastWork(Dispatcher):
    """The fewest unfinished known tokens: sizes less progress in whole finished steps.

    Between two events of a worker its work falls by |S| a step, so what it has left at any time
    follows from numbers kept in arrays, a row a worker.
    """

    def __init__(self, workers: Sequence[Worker], arrivals: Arrivals) -> None:
        super().__init__(workers, arrivals)
        count = len(workers)
        self._size: list[int] = arrivals.size.tolist()
        self._left = np.zeros(count, dtype=np.int64)  # unfinished tokens at the worker's last event
        self._known = [0] * count  # sum of the sizes of its unfinished requests
        self._batch = np.zeros(count, dtype=np.int64)
        self._largest = np.ones(count, dtype=np.int64)
        self._sums = np.zeros((3, count), dtype=np.int64)  # N, K1, K2
        self._base = np.zeros(count)
        self._law = np.array([[worker.law.c, worker.law.b, worker.law.tau] for worker in workers]).T

    def choose(self, request: int, time: float) -> int:
        return int(np.argmin(self._left - self._batch * self._steps_by(time)))

    def _steps_by(self, time: float) -> NDArray[np.int64]:
        """Whole steps of each worker since its last event: a guess, checked against both neighbours."""
        c, b, tau = self._law
        square = tau * self._batch / 2
        linear = c + b * self._batch + tau * self._batch * (self._largest - 0.5)
        left = np.maximum(time - self._ends(np.zeros_like(self._batch)), 0)
        with np.errstate(divide="ignore", invalid="ignore"):  # an empty batch may have no step time
            guess = 2 * left / (linear + np.sqrt(linear * linear + 4 * square * left))
        steps = np.where(self._batch > 0, np.nan_to_num(guess), 0).astype(np.int64)
        while (late := (steps > 0) & (self._ends(steps) > time)).any():
            steps -= late
        while (early := (self._batch > 0) & (self._ends(steps + 1) <= time)).any():
            steps += early
        return steps

    def _ends(self, steps: NDArray[np.int64]) -> NDArray[np.float64]:
        """When the boundary `steps` after each worker's last event is, to the last bit."""
        (c, b, tau), (n, k1, k2) = self._law, self._sums
        footprint = k2 + max_feature(steps, self._batch, self._largest)
        ends: NDArray[np.float64] = self._base + (
            c * (n + steps) + b * (k1 + steps * self._batch) + tau * footprint
        )
        return ends

    def joined(self, request: int, index: int) -> None:
        self._known[index] += self._size[request]
        self._left[index] += self._size[request]

    def left(self, request: int, index: int) -> None:
        self._known[index] -= self._size[request]
        self._left[index] -= self._size[request]  # `moved` follows, and counts anew

    def moved(self, worker: Worker) -> None:
        index = worker.index
        self._left[index] = self._known[index] - worker.progress_sum()
        self._batch[index] = len(worker.running)
        self._largest[index] = worker.max_progress() + 1
        self._sums[:, index] = worker.counts()
        self._base[index] = worker.base


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
