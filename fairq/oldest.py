"""The queue by arrival, beside the policy's own order: who came first, and who has waited too long."""

from __future__ import annotations

from collections.abc import Iterator

from fairq.decision import InsideView
from fairq.ranking import Ranking, RankSet

__all__ = ["ByArrival", "first_arrived", "overdue"]


class ByArrival:
    """The queue as a set of ranks by arrival, kept along with the queue's own.

    Parameters:
        ranking: the queue's.

    >>> import numpy as np
    >>> queue = ByArrival(Ranking("largest", np.array([3, 9]), np.array([1.0, 2.0])))
    >>> for rank in (0, 1): queue.add(rank)
    >>> list(queue)
    [0, 1]
    """

    def __init__(self, ranking: Ranking) -> None:
        self._ids = ranking.ids
        self._ranking = ranking.by_arrival
        self._waiting = RankSet(len(ranking.ids))

    def add(self, rank: int) -> None:
        """The request of this rank of the queue's own order has joined it."""
        self._waiting.add(self._ranking.rank[self._ids[rank]])

    def discard(self, rank: int) -> None:
        """The request of this rank of the queue's own order has left it."""
        self._waiting.discard(self._ranking.rank[self._ids[rank]])

    def __iter__(self) -> Iterator[int]:
        """Request ids by (arrival, id)."""
        ids = self._ranking.ids
        return (ids[rank] for rank in self._waiting)


def _by_arrival(view: InsideView) -> Iterator[int]:
    if view.ranking.order == "arrival":
        ids = view.ranking.ids
        return (ids[rank] for rank in view.waiting)
    follower: ByArrival = view.followed("arrival", lambda: ByArrival(view.ranking))
    return iter(follower)


def first_arrived(view: InsideView) -> float:
    """When the first of the requests in the (nonempty) queue arrived."""
    return view.arrivals[next(_by_arrival(view))]


def overdue(view: InsideView, max_wait: float) -> Iterator[int]:
    """Ids of the queued requests older than `max_wait`, oldest first (ties: lower id)."""
    arrivals, now = view.arrivals, view.now
    for request in _by_arrival(view):
        if not now - arrivals[request] > max_wait:
            return
        yield request
