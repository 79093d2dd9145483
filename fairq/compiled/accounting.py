"""What `fairq.account` does with stretches, done by `fairq.compiled.stock` without them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairq.compiled.build import book_keeper
from fairq.compiled.running import LARGEST
from fairq.compiled.state import address
from fairq.compiled.stock import BOOK, STOCK
from fairq.cost import StepTime
from fairq.request_columns import Books
from fairq.schedule import Schedule
from fairq.sorting import stable_order
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
    by_end, low = _by_end(schedule, len(laws))
    by_token = by_begin = np.empty_like(by_end)
    token_low = low
    if workload.prompt_tokens.any():
        by_token, token_low = _by_token(schedule, workload, len(laws))
    arrays = {
        "books": records, "low": low, "by_begin": by_begin, "by_end": by_end, "token_low": token_low,
        "by_token": by_token, "worker": schedule.worker, "begin": schedule.start_step,
        "steps": schedule.steps, "start": schedule.start, "finish": schedule.finish,
        "request": schedule.request, "prompt": workload.prompt_tokens, "first_token": books.first_token,
        "paid": books.paid, "caused": books.caused, "above": np.empty_like(by_end),
    }  # fmt: skip
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    stock = np.zeros(1, dtype=STOCK)
    stock["workers"], stock["count"], stock["shares"] = len(laws), len(schedule), shares
    stock["alpha"] = -1 if alpha is None else min(alpha, LARGEST)
    for name, array in arrays.items():
        stock[name] = address(array)
    if not book_keeper(stock[0]):
        stock["sorted"] = True
        by_begin[:] = by_end[stable_order(_on_axis(schedule, schedule.start_step)[by_end])]
        book_keeper(stock[0])
    return books, _totals(records)


def _by_end(schedule: Schedule, workers: int) -> tuple[Ints, Ints]:
    """Stays that ran a step by worker and end; where each worker's begin."""
    end = _on_axis(schedule, schedule.start_step + schedule.steps)
    if schedule.steps.all():
        return stable_order(end), _bounds(schedule.worker, workers)
    ran = np.flatnonzero(schedule.steps)
    return ran[stable_order(end[ran])], _bounds(schedule.worker[ran], workers)


def _by_token(schedule: Schedule, workload: Workload, workers: int) -> tuple[Ints, Ints]:
    """Those who reached their first token, by worker and step; where each worker's begin."""
    prompt = workload.prompt_tokens[schedule.request]
    reached = np.flatnonzero(prompt < schedule.steps)
    point = _on_axis(schedule, schedule.start_step)[reached] + prompt[reached]
    return reached[stable_order(point)], _bounds(schedule.worker[reached], workers)


def _on_axis(schedule: Schedule, step: Ints) -> Ints:
    """Step counts of the stays on one axis, on which a worker's come after those of the one before."""
    longest = int((schedule.start_step + schedule.steps).max(initial=0)) + 1
    return schedule.worker * longest + step


def _bounds(worker: Ints, workers: int) -> Ints:
    bounds = np.zeros(workers + 1, dtype=np.int64)
    np.cumsum(np.bincount(worker, minlength=workers), out=bounds[1:])
    return bounds


def _totals(records: NDArray[np.void]) -> Totals:
    values: dict[str, Any] = {name: int(records[name].sum()) for name in _COUNTS}
    values |= {name: int(records[name].max(initial=0)) for name in _PEAKS}
    return Totals(**values | {name: records[name].copy() for name in _TIMES})
