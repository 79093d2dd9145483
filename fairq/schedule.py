"""The one schedule: a table of stays, which every engine returns and nothing else."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from math import nan

import numpy as np
import pandas as pd
from numpy.typing import NDArray

__all__ = ["Ledger", "Schedule"]

_STAY = ("request", "worker", "start_step", "steps", "start", "finish")


@dataclass(frozen=True, eq=False, slots=True)
class Schedule:
    """Stays of requests on workers, one a request as long as service is not paused; arrays of equal length.

    Attributes:
        request: request id.
        worker: index of its worker.
        start_step: the worker's step count at which it was admitted.
        steps: steps it was in service (its progress at the end of the run).
        start: time of admission, in the clock's unit.
        finish: time of completion; NaN where the run ended before it.
        rejected, abandoned: ids of the requests that never came to a stay (no entry a stay).
        stopped_at: when a queue over its limit ended the run; NaN where none did.
    """

    request: NDArray[np.int64]
    worker: NDArray[np.int64]
    start_step: NDArray[np.int64]
    steps: NDArray[np.int64]
    start: NDArray[np.float64]
    finish: NDArray[np.float64]
    rejected: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    abandoned: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    stopped_at: float = nan

    def __len__(self) -> int:
        return len(self.request)

    def part(self, at: NDArray[np.int64], first_worker: int) -> Schedule:
        """The stays at the places `at`, workers counted from `first_worker`; who had none is left out."""
        columns = {name: getattr(self, name)[at] for name in _STAY}
        return Schedule(**columns | {"worker": columns["worker"] - first_worker})

    @property
    def frame(self) -> pd.DataFrame:
        """The stays as a table, a row each, ordered by request."""
        return pd.DataFrame({name: getattr(self, name) for name in _STAY})


class Ledger:
    """Where workers write a schedule down while it happens: columns by request id.

    Attributes:
        worker, start_step, start, finish: as a `Schedule` has them; worker −1 and times NaN until then.
        steps: of those that the end of the run interrupts; who has finished has done all of its tokens.
        entered, left: how many requests have been admitted, and have completed.
        rejected, abandoned: requests lost without service, in the order in which that happened.
        lost: both together.
        stopped_at: when a queue over its limit ended the run, else NaN.
    """

    __slots__ = (
        "abandoned", "arrival", "entered", "finish", "left", "lost", "rejected", "start", "start_step",
        "steps", "stopped_at", "tokens", "worker",
    )  # fmt: skip

    def __init__(self, tokens: NDArray[np.int64], arrival: NDArray[np.float64]) -> None:
        count = len(tokens)
        self.tokens: list[int] = tokens.tolist()
        self.arrival: list[float] = arrival.tolist()
        # Machine numbers, not objects: these columns are written once, and a run may have millions of rows.
        self.worker = array("q", [-1]) * count
        self.start_step = array("q", [-1]) * count
        self.steps = array("q", [0]) * count
        self.start = array("d", [nan]) * count
        self.finish = array("d", [nan]) * count
        self.entered = self.left = 0
        self.rejected: list[int] = []
        self.abandoned: list[int] = []
        self.lost: set[int] = set()
        self.stopped_at = nan

    def reject(self, request: int) -> None:
        """`request` found the queue full."""
        self.rejected.append(request)
        self.lost.add(request)

    def abandon(self, request: int) -> None:
        """`request` has waited for as long as it will."""
        self.abandoned.append(request)
        self.lost.add(request)

    def interrupt(self, request: int, progress: int) -> None:
        """The run ends while `request` is in service."""
        self.steps[request] = progress

    def schedule(self) -> Schedule:
        """The stays written so far."""
        worker = np.frombuffer(self.worker, dtype=np.int64)
        request = np.flatnonzero(worker >= 0)
        steps = np.frombuffer(self.steps, dtype=np.int64)[request]
        finish = np.frombuffer(self.finish, dtype=np.float64)[request]
        return Schedule(
            request=request,
            worker=worker[request],
            start_step=np.frombuffer(self.start_step, dtype=np.int64)[request],
            steps=np.where(np.isnan(finish), steps, np.array(self.tokens, dtype=np.int64)[request]),
            start=np.frombuffer(self.start, dtype=np.float64)[request],
            finish=finish,
            rejected=np.array(self.rejected, dtype=np.int64),
            abandoned=np.array(self.abandoned, dtype=np.int64),
            stopped_at=self.stopped_at,
        )
