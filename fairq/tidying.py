"""Arrivals as they come from a file: seconds from the first, in order, ties spread where asked."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairq.errors import InputError
from fairq.formats import UNITS

__all__ = ["count_ties", "disorder", "in_order", "seconds_from_first", "spread_ties"]

Floats = NDArray[np.float64]
_PIECE = 1 << 20


def seconds_from_first(raw: NDArray[np.int64] | Floats, unit: str) -> Floats:
    """Times of a file, whole or not, as seconds from the least of them.

    Dates are whole nanoseconds here; they become whole seconds and a fraction, as a time difference of
    pandas or datetime does, so that a file with dates and one made from it with seconds agree bit for bit.

    >>> seconds_from_first(np.array([2000, 500, 1250]), "ms").tolist()
    [1.5, 0.0, 0.75]
    """
    first, seconds = raw.min(), np.empty(len(raw))
    for start in range(0, len(raw), _PIECE):  # a long trace has no room for copies
        part = slice(start, start + _PIECE)
        since = raw[part] - first
        if unit == "datetime":
            whole, rest = np.divmod(since, UNITS["ns"])
            seconds[part] = whole + rest / UNITS["ns"]
        else:
            seconds[part] = since / UNITS[unit]
    return seconds


def disorder(arrival: NDArray[Any]) -> int:
    """How many arrive before the one above them.

    >>> disorder(np.array([0.0, 2.0, 1.0, 1.0, 3.0]))
    1
    """
    return int((arrival[1:] < arrival[:-1]).sum())


def in_order(raw: NDArray[Any], kept: NDArray[np.int64] | None) -> tuple[NDArray[np.int64] | None, int]:
    """The rows `kept` (None: all) by their times, equal ones in their order; and how many were out of order.

    None for the rows means all of them as they stand.

    >>> in_order(np.array([0, 9, 3, 3]), np.array([0, 2, 3]))
    (array([0, 2, 3]), 0)
    """
    times = raw if kept is None else raw[kept]
    back = disorder(times)
    if not back:
        return kept, 0
    order = np.argsort(times, kind="stable")
    return order if kept is None else kept[order], back


def count_ties(arrival: Floats) -> int:
    """How many arrive at a time at which another, earlier in order, arrives too.

    >>> count_ties(np.array([0.0, 1.0, 1.0, 1.0]))
    2
    """
    ordered = arrival if disorder(arrival) == 0 else np.sort(arrival)
    return int((ordered[1:] == ordered[:-1]).sum())


def spread_ties(arrival: Floats) -> tuple[Floats, float]:
    """Equal arrivals spread evenly inside their bucket of time, in order; and the bucket's width.

    The bucket is the least gap between two different arrivals, so nobody leaves it.  Of k that arrive
    at t, the j-th (from 0) arrives at t + j/k of the bucket.

    Raises:
        InputError: all arrive at one time, which says nothing of a bucket, or the last bucket has no end.

    >>> spread_ties(np.array([0.0, 3.0, 3.0, 3.0, 6.0]))
    (array([0., 3., 4., 5., 6.]), 3.0)
    """
    times, group, size = np.unique(arrival, return_inverse=True, return_counts=True)
    if len(times) < 2:
        raise InputError("ties is 'spread', but all arrive at one time: it must be 'keep' here")
    bucket = float(np.diff(times).min())
    if not isfinite(float(times[-1]) + bucket):
        raise InputError(
            f"ties is 'spread', but {times[-1]:g} and a bucket of {bucket:g} is beyond every float"
        )
    order = np.argsort(group, kind="stable")
    first = np.concatenate(([0], np.cumsum(size)[:-1]))
    rank = np.empty(len(arrival), dtype=np.int64)
    rank[order] = np.arange(len(arrival)) - first[group[order]]
    return arrival + bucket * (rank / size[group]), bucket
