"""The columns of the requests table: what is written down of each request, and what follows from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairq.outcomes import as_categories, outcome_codes
from fairq.schedule import Schedule
from fairq.workload import Workload

__all__ = ["Books", "RequestColumns"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Column = NDArray[Any]


@dataclass(frozen=True, eq=False, slots=True)
class Books:
    """What the steps of a run say of requests; arrays by request, two of them empty where not wanted."""

    first_token: Floats
    paid: Ints
    caused: Floats

    @classmethod
    def blank(cls, count: int, *, shares: bool = True) -> Books:
        """Of nobody who was served.

        Parameters:
            count: how many requests there are.
            shares: whether externality paid and caused are wanted.
        """
        wanted = count if shares else 0
        return cls(np.full(count, np.nan), np.zeros(wanted, dtype=np.int64), np.zeros(wanted))


class RequestColumns(Mapping[str, Column]):
    """The columns of the requests table by name, an entry per request in request order.

    What is written down is kept; what follows from it is formed anew whenever it is asked for, so a summary
    holds one such column at a time.  Columns may be the schedule's or the workload's own arrays.

    >>> import fairq
    >>> run = fairq.simulate(fairq.Workload.from_arrays([2, 2]), "fcfs", batch_size=1)
    >>> columns = RequestColumns(run.schedule, run.workload, Books.blank(2), until=None)
    >>> columns["wait"].tolist(), columns["tokens"].dtype.name
    ([0.0, 2.0], 'int32')
    """

    def __init__(self, schedule: Schedule, workload: Workload, books: Books, until: float | None) -> None:
        self._workload, self._books = workload, books
        placed = _Placed(schedule, len(workload))
        self._kept: dict[str, Column] = {
            "worker": placed(schedule.worker, -1, np.int32),
            "start": placed(schedule.start, np.nan, np.float64),
            "finish": placed(schedule.finish, np.nan, np.float64),
            "progress": placed(schedule.steps, 0, np.int32),
            "outcome": outcome_codes(schedule, workload, until),
        }
        self._start_step = placed, schedule.start_step

    def __getitem__(self, name: str) -> Column:
        return self._kept[name] if name in self._kept else _FORMED[name](self)

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)

    def frame(self) -> pd.DataFrame:
        """The table; no column of it is anybody else's."""
        columns: dict[str, Any] = {name: self[name] for name in _NAMES}
        for name in ("arrival", "start", "finish"):
            columns[name] = columns[name].copy()
        columns["outcome"] = as_categories(columns["outcome"])
        return pd.DataFrame(columns, copy=False)

    def _start_steps(self) -> Column:
        placed, start_step = self._start_step
        return placed(start_step, -1, np.int64).copy()

    def _tpot(self) -> Floats:
        gaps = (self._workload.tokens - self._workload.prompt_tokens).astype(np.float64)
        gaps -= 1
        gaps[gaps == 0] = np.nan  # the TPOT of a one-token output is not defined
        spent: Floats = self["finish"] - self._books.first_token
        spent /= gaps
        return spent


class _Placed:
    """Puts an entry a stay at the place of its request."""

    def __init__(self, schedule: Schedule, count: int) -> None:
        self._request, self._count = schedule.request, count
        self._all = len(schedule) == count and bool((schedule.request == np.arange(count)).all())

    def __call__(self, values: Column, missing: float, dtype: type) -> Column:
        if self._all:
            return values.astype(dtype, copy=False)
        column = np.full(self._count, missing, dtype=dtype)
        column[self._request] = values
        return column


_FORMED: dict[str, Callable[[RequestColumns], Column]] = {
    "request": lambda columns: np.arange(len(columns._workload), dtype=np.int32),
    "arrival": lambda columns: columns._workload.arrival,
    "first_token": lambda columns: columns._books.first_token,
    "start_step": RequestColumns._start_steps,
    "tokens": lambda columns: columns._workload.tokens.astype(np.int32),
    "completed": lambda columns: columns["outcome"] == 0,
    "wait": lambda columns: columns["start"] - columns._workload.arrival,
    "ttft": lambda columns: columns._books.first_token - columns._workload.arrival,
    "tpot": RequestColumns._tpot,
    "latency": lambda columns: columns["finish"] - columns._workload.arrival,
    "externality_paid": lambda columns: columns._books.paid,
    "externality_caused": lambda columns: columns._books.caused,
}

_NAMES = (
    "request", "worker", "arrival", "start", "first_token", "finish", "start_step", "tokens", "progress",
    "completed", "wait", "ttft", "tpot", "latency", "externality_paid", "externality_caused", "outcome",
)  # fmt: skip
"""In the order of the table."""
