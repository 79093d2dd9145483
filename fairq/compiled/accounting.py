"""What `fairq.account` does with stretches, done by `fairq.compiled.stock` without them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairq.compiled.build import book_keeper
from fairq.compiled.running import LARGEST
from fairq.compiled.state import address
from fairq.compiled.stock import ARRANGE, BOOK, GO_THROUGH, SORT, STAY, STOCK
from fairq.cost import StepTime
from fairq.request_columns import Books
from fairq.schedule import Schedule
from fairq.sorting import stable_order, sums_before
from fairq.totals import Totals
from fairq.workload import Workload

__all__ = ["keep_books"]

Ints = NDArray[np.int64]

_COUNTS = ("steps", "externality", "extent", "violations")
_PEAKS = ("max_extent", "kv_peak")
_TIMES = ("slot_times", "busy_times", "extent_times", "kv_times", "kv_busy")


def keep_books(
    schedule: Schedule, workload: Workload, laws: Sequence[StepTime], alpha: int | None, *, shares: bool
) -> tuple[Books, Totals]:
    """The books by request and the totals of a schedule, as the arrays of `fairq.account` have them.

    Parameters:
        schedule: stays that follow each other on each worker, as every engine answers.
        workload: the requests they serve, prompts not in chunks.
        laws: step times, by worker.
        alpha: fairness budget in whole tokens, or None.
        shares: whether the externality is wanted by request; else nobody has paid or caused any.
    """
    books = Books.blank(len(workload), shares=shares)
    records = np.zeros(len(laws), dtype=BOOK)
    for name in ("c", "b", "tau"):
        records[name] = [getattr(law, name) for law in laws]
    ran = schedule.worker if schedule.steps.all() else schedule.worker[schedule.steps > 0]
    low, prompts = _bounds(ran, len(laws)), bool(workload.prompt_tokens.any())
    ends = np.empty(len(ran), dtype=np.int64)
    arrays = {
        "books": records, "low": low, "token_low": low, "stays": np.empty(len(ran), dtype=STAY),
        "ends": ends, "above": np.empty(len(ran), dtype=np.int64),
        "worker": schedule.worker, "begin": schedule.start_step, "steps": schedule.steps,
        "start": schedule.start, "finish": schedule.finish, "request": schedule.request,
        "prompt": workload.prompt_tokens, "first_token": books.first_token, "paid": books.paid,
        "caused": books.caused,
    }  # fmt: skip
    if prompts:
        arrays["by_token"], arrays["token_low"] = _by_token(schedule, workload, len(laws))
    stock = _Stock(
        arrays, workers=len(laws), count=len(schedule), longest=_longest(schedule), shares=shares,
        alpha=-1 if alpha is None else min(alpha, LARGEST), prompts=prompts,
    )  # fmt: skip
    if not stock.do(SORT):
        stock.do(ARRANGE, order=_by_begin(schedule))
    stock.do(GO_THROUGH, by_end=stable_order(ends))
    return books, _totals(records)


class _Stock:
    """A record of `STOCK`, and the arrays whose addresses it holds."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]], **numbers: int) -> None:
        self._record = np.zeros(1, dtype=STOCK)
        self._arrays: dict[str, NDArray[Any]] = {}
        for name, number in numbers.items():
            self._record[name] = number
        self._hold(arrays)

    def do(self, task: np.int64, **arrays: Ints) -> bool:
        """Have the task done, with more arrays; whether it was."""
        self._hold(arrays)
        self._record["task"] = task
        return book_keeper(self._record[0])

    def _hold(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        for name, array in arrays.items():
            self._arrays[name] = np.ascontiguousarray(array)
            self._record[name] = address(self._arrays[name])


def _by_begin(schedule: Schedule) -> Ints:
    """Stays that ran a step, by worker, begin and end."""
    ran = np.flatnonzero(schedule.steps)
    by_end = ran[stable_order(_on_axis(schedule, schedule.start_step + schedule.steps)[ran])]
    return by_end[stable_order(_on_axis(schedule, schedule.start_step)[by_end])]


def _by_token(schedule: Schedule, workload: Workload, workers: int) -> tuple[Ints, Ints]:
    """Those who reached their first token, by worker and step; where each worker's begin."""
    prompt = workload.prompt_tokens[schedule.request]
    reached = np.flatnonzero(prompt < schedule.steps)
    point = _on_axis(schedule, schedule.start_step)[reached] + prompt[reached]
    return reached[stable_order(point)], _bounds(schedule.worker[reached], workers)


def _on_axis(schedule: Schedule, step: Ints) -> Ints:
    """Step counts of the stays on one axis, on which a worker's come after those of the one before."""
    return schedule.worker * _longest(schedule) + step


def _longest(schedule: Schedule) -> int:
    """More than the steps of any worker."""
    return int((schedule.start_step + schedule.steps).max(initial=0)) + 1


def _bounds(worker: Ints, workers: int) -> Ints:
    return sums_before(np.bincount(worker, minlength=workers))


def _totals(records: NDArray[np.void]) -> Totals:
    values: dict[str, Any] = {name: int(records[name].sum()) for name in _COUNTS}
    values |= {name: int(records[name].max(initial=0)) for name in _PEAKS}
    return Totals(**values | {name: records[name].copy() for name in _TIMES})
