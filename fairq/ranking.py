"""Requests ranked once by a policy's order, and sets of ranks that answer "first at or after"."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Order", "OwnOrder", "RankSet", "Ranking", "order_keys"]


class OwnOrder(Protocol):
    """An order of a policy's own."""

    def keys(self, size: NDArray[np.int64], arrival: NDArray[np.float64]) -> NDArray[np.int64]:
        """Request ids in this order."""
        ...


Order = str | OwnOrder
"""``"arrival"``, ``"smallest"`` or ``"largest"`` (ties: earlier arrival, then lower id), or another."""

_WORD = 512  # bits to a word: Python's whole numbers shift and mask this much at the price of one
_SHIFT = _WORD.bit_length() - 1
_MASK = _WORD - 1
_BIT = [1 << i for i in range(_WORD)]


def order_keys(order: Order, size: NDArray[np.int64], arrival: NDArray[np.float64]) -> NDArray[np.int64]:
    """Request ids in `order`, ties broken by earlier arrival and then by lower id.

    >>> order_keys("largest", np.array([3, 9, 9]), np.array([0.0, 2.0, 1.0])).tolist()
    [2, 1, 0]
    """
    if not isinstance(order, str):
        return order.keys(size, arrival)
    in_time = bool((arrival[1:] >= arrival[:-1]).all())
    if order == "arrival":
        return np.arange(len(arrival)) if in_time else np.argsort(arrival, kind="stable")
    key = size if order == "smallest" else size.max(initial=0) - size
    if not in_time:
        return np.lexsort((arrival, key))
    # Numbers of 16 bits are sorted by their digits, in a time that grows as their count.
    return np.argsort(key.astype(np.uint16) if key.max(initial=0) < 2**16 else key, kind="stable")


class Ranking:
    """Every request's rank in one order, fixed for a run.

    Attributes:
        order: the order's name.
        ids: request id by rank.
        rank: rank by request id.
        sizes: size by rank (tokens; what the policy is told).
    """

    def __init__(self, order: Order, size: NDArray[np.int64], arrival: NDArray[np.float64]) -> None:
        ids = order_keys(order, size, arrival)
        rank = np.empty_like(ids)
        rank[ids] = np.arange(len(ids))
        self.order = order
        self.ids: list[int] = ids.tolist()
        self.rank: list[int] = rank.tolist()
        self.sizes: list[int] = size[ids].tolist()
        self._given = (size, arrival)

    @cached_property
    def by_arrival(self) -> Ranking:
        """The same requests by arrival."""
        return self if self.order == "arrival" else Ranking("arrival", *self._given)


class RankSet:
    """A set of ranks below `capacity` as a bitmap with a summary: every call costs a few words.

    >>> waiting = RankSet(2000)
    >>> for rank in (7, 1500, 1999): waiting.add(rank)
    >>> waiting.first_at_or_after(8), waiting.first_at_or_after(1501), len(waiting)
    (1500, 1999, 3)
    >>> waiting.discard(1999); waiting.first_at_or_after(1501)
    -1
    """

    __slots__ = ("_count", "_summary", "_words")

    def __init__(self, capacity: int) -> None:
        self._words = [0] * (capacity // _WORD + 1)
        self._summary = 0
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[int]:
        rank = self.first_at_or_after(0)
        while rank >= 0:
            yield rank
            rank = self.first_at_or_after(rank + 1)

    def __contains__(self, rank: int) -> bool:
        return bool(self._words[rank >> _SHIFT] & _BIT[rank & _MASK])

    def copy(self) -> RankSet:
        """The same ranks in a set of their own."""
        twin = RankSet(0)
        twin._words = self._words.copy()
        twin._summary = self._summary
        twin._count = self._count
        return twin

    def add(self, rank: int) -> None:
        """Put in a rank that is not there."""
        word = rank >> _SHIFT
        if not self._words[word]:
            self._summary |= 1 << word
        self._words[word] |= _BIT[rank & _MASK]
        self._count += 1

    def discard(self, rank: int) -> None:
        """Take out a rank that is there."""
        word = rank >> _SHIFT
        self._words[word] ^= _BIT[rank & _MASK]
        if not self._words[word]:
            self._summary ^= 1 << word
        self._count -= 1

    def first_at_or_after(self, rank: int) -> int:
        """The least rank in the set that is not below `rank`; −1 where there is none."""
        word = rank >> _SHIFT
        if word >= len(self._words):
            return -1
        bits = self._words[word] >> (rank & _MASK)
        if bits:
            return rank + (bits & -bits).bit_length() - 1
        later = self._summary >> (word + 1)
        if not later:
            return -1
        word += (later & -later).bit_length()
        bits = self._words[word]
        return (word << _SHIFT) + (bits & -bits).bit_length() - 1
