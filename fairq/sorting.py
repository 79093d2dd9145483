"""Orders, searches and running sums of whole columns that NumPy has no quick call for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["last_beyond", "stable_order", "sums_before"]

Ints = NDArray[np.int64]

_FEW = 4  # looks at the next one before, until those that are left go up the levels


def stable_order(values: Ints) -> Ints:
    """The indices that sort whole numbers, equal ones in the order in which they stand.

    Numbers >= 0 that carry their own place in their last bits are sorted as they are, which is several
    times faster than sorting indices; where they have no room for it, indices are sorted.

    >>> stable_order(np.array([3, 1, 3, 0])).tolist()
    [3, 1, 0, 2]
    """
    count = len(values)
    bits = count.bit_length()
    if values.min(initial=0) < 0 or values.max(initial=0) >= 1 << (63 - bits):
        return np.argsort(values, kind="stable")
    carried = (values << bits) | np.arange(count)
    carried.sort()
    carried &= (1 << bits) - 1
    return carried


def sums_before(amount: NDArray[np.integer | np.bool_]) -> Ints:
    """Sums of the first 0, 1, 2, ... of whole numbers, and of all.

    >>> sums_before(np.array([3, 1, 2])).tolist()
    [0, 3, 4, 6]
    """
    return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(amount)))


def last_beyond(values: Ints, before: Ints, limit: Ints) -> Ints:
    """For each i the last index below `before[i]` at which `values` is larger than `limit[i]`.

    Parameters:
        values: whole numbers >= 0.
        before, limit: an entry a question; there must be such an index.

    Most answers lie a few places back.  Further ones climb a tree of maxima over pairs, pairs of pairs and so
    on until one is large enough, and come down again: O(log n) a question whatever the numbers.

    >>> last_beyond(np.array([9, 2, 5, 1]), np.array([4, 4, 2]), np.array([4, 6, 1])).tolist()
    [2, 0, 1]
    """
    found = before - 1
    asked = np.flatnonzero(values[found] <= limit)
    for _ in range(_FEW):
        if len(asked) == 0:
            return found
        found[asked] -= 1
        asked = asked[values[found[asked]] <= limit[asked]]
    found[asked] = _from_tree(values, found[asked], limit[asked])
    return found


def _from_tree(values: Ints, before: Ints, limit: Ints) -> Ints:
    """As `last_beyond`: up the tree to the first node whose maximum will do, and down again."""
    levels = [values]
    node, height = before.copy(), np.zeros_like(before)
    rising = np.ones(len(before), dtype=bool)
    while rising.any():
        odd = np.flatnonzero(rising & (node % 2 == 1))  # its last node is not covered by the level above
        node[odd] -= 1
        high = odd[levels[-1][node[odd]] > limit[odd]]
        rising[high], height[high] = False, len(levels) - 1
        node[rising] //= 2
        levels.append(_maxima_of_pairs(levels[-1]))
    for level in range(len(levels) - 2, -1, -1):
        going = np.flatnonzero(height > level)
        later = np.minimum(2 * node[going] + 1, len(levels[level]) - 1)
        node[going] = later - (levels[level][later] <= limit[going])
    return node


def _maxima_of_pairs(values: Ints) -> Ints:
    """Of the first two, the next two, and so on; a last one without a twin is none's part."""
    even = len(values) - len(values) % 2
    return np.maximum(values[:even:2], values[1:even:2])
