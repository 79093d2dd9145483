"""The dispatcher `least-work`: the work of every worker at the time of an arrival, in arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fairq.cost import max_feature
from fairq.dispatcher import Arrivals, Dispatcher
from fairq.worker import Worker

__all__ = ["LeastWork"]


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
