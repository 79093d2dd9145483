"""A run in windows of time: how queue, batch and latencies develop."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairq.latencies import group_positions, statistics_by_group
from fairq.occupancy import Occupancy, time_within
from fairq.stretches import Stretches
from fairq.validation import whole_number

__all__ = ["window_table"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

MOST_WINDOWS = 10_000


def window_table(
    columns: Mapping[str, Floats],
    finish: Floats,
    books: Occupancy,
    stretches: Stretches,
    workers: int,
    count: int,
) -> pd.DataFrame:
    """A row for each of `count` equal windows of the run, from its first arrival to its end.

    Columns: start, end; arrived, completed (in the window); mean_queue (time-averaged), mean_batch
    (time-averaged over the busy time in the window), busy_fraction; mean and quantiles of each latency
    metric over the requests that *arrived* in the window.  A window holds its start but not its end; the
    last one holds both.

    Parameters:
        columns: latency metrics by name, an entry per request, NaN where there is none.
        finish: when each request completed, NaN if it did not.
        books: when requests came and went, and the run's period.
        stretches: the constant stretches of the run.
        workers: G, workers of the pool.
        count: number of windows, from 1 to 10,000.

    Raises:
        InputError: a count that is not allowed.
    """
    count = whole_number("count", count, at_least=1, at_most=MOST_WINDOWS)
    edges = np.linspace(books.first, books.end, count + 1)
    place = _window_of(books.arrival, edges)
    positions = group_positions(place, count)
    done = _window_of(finish, edges)
    length = np.diff(edges)
    start, end = stretches.start_times(), stretches.end_times()
    busy = time_within(edges, start, end)
    slots = time_within(edges, start, end, stretches.batch)
    waiting = time_within(edges, books.arrival, books.left_queue)
    table = pd.DataFrame(
        {
            "start": edges[:-1],
            "end": edges[1:],
            "arrived": [len(at) for at in positions],
            "completed": np.bincount(done[done >= 0], minlength=count),
            "mean_queue": _ratios(waiting, length),
            "mean_batch": _ratios(slots, busy),
            "busy_fraction": _ratios(busy, workers * length),
        },
        index=pd.RangeIndex(count, name="window"),
    )
    return pd.concat([table, statistics_by_group(columns, positions)], axis=1)


def _window_of(times: Floats, edges: Floats) -> Ints:
    """The window of each time; −1 for one outside, or NaN."""
    place = np.searchsorted(edges, times, side="right") - 1
    place = np.where(times == edges[-1], len(edges) - 2, place)
    inside = (times >= edges[0]) & (times <= edges[-1])
    return np.where(inside, place, -1)


def _ratios(part: Floats, whole: Floats) -> Floats:
    ratios: Floats = np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0)
    return ratios
