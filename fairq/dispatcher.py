"""What a dispatcher is: it chooses a worker for each arrival, and is told what changes in the pool."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairq.streams import stream
from fairq.worker import Worker

__all__ = ["Arrivals", "Dispatcher"]


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
