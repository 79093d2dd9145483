"""The columns of the requests table: what is written down of each request, and what follows from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairq.outcomes import OUTCOMES, as_categories, outcome_codes
from fairq.schedule import Schedule
from fairq.workload import Workload

__all__ = ["Books", "RequestColumns"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Column = NDArray[Any]

_COMPLETED = OUTCOMES.index("completed")


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
        placed = _Placed(schedule, len(workload))
        self._written = _Written(
            workload,
            books,
            worker=placed(schedule.worker, -1, np.int32),
            start=placed(schedule.start, np.nan, np.float64),
            finish=placed(schedule.finish, np.nan, np.float64),
            progress=placed(schedule.steps, 0, np.int32),
            outcome=outcome_codes(schedule, workload, until),
            start_step=lambda: placed(schedule.start_step, -1, np.int64),
        )

    def __getitem__(self, name: str) -> Column:
        return _COLUMNS[name](self._written)

    def __iter__(self) -> Iterator[str]:
        return iter(_COLUMNS)

    def __len__(self) -> int:
        return len(_COLUMNS)

    def frame(self) -> pd.DataFrame:
        """The table; no column of it is anybody else's."""
        columns: dict[str, Any] = dict(self)
        for name in ("arrival", "start", "finish", "start_step"):
            columns[name] = columns[name].copy()
        columns["outcome"] = as_categories(columns["outcome"])
        return pd.DataFrame(columns, copy=False)


@dataclass(frozen=True, eq=False, slots=True)
class _Written:
    """What the columns are formed from; arrays by request."""

    workload: Workload
    books: Books
    worker: Column
    start: Floats
    finish: Floats
    progress: Column
    outcome: Column
    start_step: Callable[[], Column]


class _Placed:
    """Puts an entry a stay at the place of its request."""

    def __init__(self, schedule: Schedule, count: int) -> None:
        self._request, self._count = schedule.request, count
        self._all = len(schedule) == count and bool((schedule.request == np.arange(count)).all())

    def __call__(self, values: Column, missing: float, dtype: type) -> Column:
        if self._all:
            return values.astype(dtype, copy=False)
        column: Column = np.full(self._count, missing, dtype=dtype)
        column[self._request] = values
        return column


def _tpot(written: _Written) -> Floats:
    gaps = (written.workload.tokens - written.workload.prompt_tokens).astype(np.float64)
    gaps -= 1
    gaps[gaps == 0] = np.nan  # the TPOT of a one-token output is not defined
    spent: Floats = written.finish - written.books.first_token
    spent /= gaps
    return spent


_COLUMNS: dict[str, Callable[[_Written], Column]] = {
    "request": lambda written: np.arange(len(written.workload), dtype=np.int32),
    "worker": lambda written: written.worker,
    "arrival": lambda written: written.workload.arrival,
    "start": lambda written: written.start,
    "first_token": lambda written: written.books.first_token,
    "finish": lambda written: written.finish,
    "start_step": lambda written: written.start_step(),
    "tokens": lambda written: written.workload.tokens.astype(np.int32),
    "progress": lambda written: written.progress,
    "completed": lambda written: written.outcome == _COMPLETED,
    "wait": lambda written: written.start - written.workload.arrival,
    "ttft": lambda written: written.books.first_token - written.workload.arrival,
    "tpot": _tpot,
    "latency": lambda written: written.finish - written.workload.arrival,
    "externality_paid": lambda written: written.books.paid,
    "externality_caused": lambda written: written.books.caused,
    "outcome": lambda written: written.outcome,
}
"""In the order of the table."""
