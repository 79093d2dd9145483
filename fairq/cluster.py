"""`cluster`: batches of one length class, the fullest class first."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

import numpy as np
from numpy.typing import NDArray

from fairq.columns import MAX_TOKENS
from fairq.decision import NOTHING, Decision, InsideView
from fairq.oldest import first_arrived
from fairq.ranking import Ranking, RankSet

__all__ = ["ByClass", "ClusterAgent", "Fullest", "length_class", "length_classes"]


def length_class(size: int, alpha: int) -> int:
    """The class of a request of `size` tokens: ceil(size / alpha), or the size itself at alpha 0.

    >>> length_class(6, 3), length_class(7, 3), length_class(7, 0)
    (2, 3, 7)
    """
    return -(-size // alpha) if alpha else size


def length_classes(size: NDArray[np.int64], alpha: int) -> NDArray[np.int64]:
    """`length_class` of each size; any alpha beyond the largest makes one class.

    >>> length_classes(np.array([6, 7]), 3).tolist(), length_classes(np.array([6, 7]), 10**30).tolist()
    ([2, 3], [1, 1])
    """
    width = min(alpha, MAX_TOKENS)  # a whole number beyond 64 bits is none of numpy's
    classes: NDArray[np.int64] = -(-size // width) if width else size
    return classes


@dataclass(frozen=True, slots=True)
class ByClass:
    """The order of requests by length class, and within a class by arrival, then id.

    >>> ByClass(3).keys(np.array([7, 2, 3]), np.array([0.0, 2.0, 1.0])).tolist()
    [2, 1, 0]
    """

    alpha: int

    def keys(self, size: NDArray[np.int64], arrival: NDArray[np.float64]) -> NDArray[np.int64]:
        """Request ids in this order."""
        return np.lexsort((arrival, length_classes(size, self.alpha)))


class Fullest:
    """The class with most requests in the queue, of equal ones that whose first arrived earliest.

    Each change in the queue costs O(log n): classes lie in a heap by (−requests, first arrival, its id),
    entries that are out of date are thrown away where they come up.

    Parameters:
        ranking: requests in the order `ByClass`.
        waiting: the queue.
        arrival: arrival by request id.
        alpha: whole tokens.
    """

    def __init__(self, ranking: Ranking, waiting: RankSet, arrival: list[float], alpha: int) -> None:
        self._ranking, self._waiting, self._arrival, self._alpha = ranking, waiting, arrival, alpha
        self._count: dict[int, int] = {}  # requests by class
        self._begins: dict[int, int] = {}  # the rank with which a class begins
        self._heap: list[tuple[int, float, int, int]] = []
        self._changed: dict[int, None] = {}

    def add(self, rank: int) -> None:
        """The request of this rank has joined the queue."""
        label = self._class_of(rank)
        self._count[label] = self._count.get(label, 0) + 1
        self._changed[label] = None

    def discard(self, rank: int) -> None:
        """The request of this rank has left the queue."""
        label = self._class_of(rank)
        self._count[label] -= 1
        if not self._count[label]:
            del self._count[label]
        self._changed[label] = None

    def find(self) -> tuple[int, int]:
        """Requests in the fullest class of the (nonempty) queue, and the rank of its first."""
        for label in self._changed:
            if label in self._count:
                heappush(self._heap, self._entry(label))
        self._changed.clear()
        if len(self._heap) > 4 * len(self._count) + 64:
            self._heap = [self._entry(label) for label in self._count]
            heapify(self._heap)
        while True:
            entry = self._heap[0]
            label = entry[-1]
            if label in self._count and entry == self._entry(label):
                return self._count[label], self._first(label)
            heappop(self._heap)

    def _entry(self, label: int) -> tuple[int, float, int, int]:
        request = self._ranking.ids[self._first(label)]
        return -self._count[label], self._arrival[request], request, label

    def _first(self, label: int) -> int:
        """The rank of the first queued request of a class that has one."""
        begin = self._begins.get(label)
        if begin is None:
            sizes, alpha = self._ranking.sizes, self._alpha
            begin = bisect_left(sizes, label, key=lambda size: length_class(size, alpha))
            self._begins[label] = begin
        return self._waiting.first_at_or_after(begin)

    def _class_of(self, rank: int) -> int:
        return length_class(self._ranking.sizes[rank], self._alpha)


class ClusterAgent:
    """The agent of one worker: into an empty batch the first B, by arrival, of the fullest class.

    It waits for a class with B requests until `patience` after the later of the first arrival queued
    and the worker's going idle.

    Source: Section 4 of the paper groups requests of like length; the rule is ours.
    """

    guarded = True
    needs_requests = True
    sees_ranks = True

    def __init__(self, alpha: int, patience: float = 0.0) -> None:
        self.order = ByClass(alpha)
        self._alpha = alpha
        self._patience = patience

    def heeds(self, view: InsideView) -> bool:  # noqa: ARG002
        """A running batch takes nobody."""
        return False

    def decide(self, view: InsideView) -> Decision:
        """Run the fullest class, or wait for it to fill."""
        if not view.waiting or view.free < view.batch_size:
            return NOTHING
        count, rank = self._fullest(view).find()
        if count < view.batch_size and self._patience:
            due = max(first_arrived(view), view.idle_since) + self._patience
            if view.now < due:
                return Decision(wake=due)
        ids = view.ranking.ids
        admit: list[int] = []
        while len(admit) < min(count, view.batch_size):
            admit.append(ids[rank])
            rank = view.waiting.first_at_or_after(rank + 1)
        return Decision(admit)

    def _fullest(self, view: InsideView) -> Fullest:
        made: Fullest = view.followed(
            "cluster", lambda: Fullest(view.ranking, view.waiting, view.arrivals, self._alpha)
        )
        return made
