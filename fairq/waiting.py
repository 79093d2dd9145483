"""The queue in front of workers: which requests wait, ranked by the policy's order."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Protocol

from fairq.ranking import Ranking, RankSet

__all__ = ["Follower", "Queue"]


class Follower(Protocol):
    """Something that a policy keeps about a queue, told of every rank that comes and goes."""

    def add(self, rank: int) -> None:
        """`rank` has come into the queue."""
        ...

    def discard(self, rank: int) -> None:
        """`rank` has left the queue."""
        ...


class Queue:
    """Released requests that no worker has taken.

    Attributes:
        ranking: what the ranks mean.
        waiting: the ranks of the requests in the queue.
    """

    __slots__ = ("_followers", "ranking", "waiting")

    def __init__(self, ranking: Ranking) -> None:
        self.ranking = ranking
        self.waiting = RankSet(len(ranking.ids))
        self._followers: dict[Hashable, Any] = {}

    def __len__(self) -> int:
        return len(self.waiting)

    def __contains__(self, request: int) -> bool:
        return self.ranking.rank[request] in self.waiting

    def add(self, request: int) -> None:
        """Let `request` wait."""
        rank = self.ranking.rank[request]
        self.waiting.add(rank)
        for follower in self._followers.values():
            follower.add(rank)

    def take(self, request: int) -> bool:
        """Take `request` out; whether it was in."""
        if self.ranking.rank[request] not in self.waiting:
            return False
        self.remove(request)
        return True

    def remove(self, request: int) -> None:
        """Take `request` out; it is in."""
        rank = self.ranking.rank[request]
        self.waiting.discard(rank)
        for follower in self._followers.values():
            follower.discard(rank)

    def followed(self, name: Hashable, make: Callable[[], Any]) -> Any:
        """The queue's follower of that name: made for the first who asks, and shared by all workers."""
        follower = self._followers.get(name)
        if follower is None:
            follower = make()
            for rank in self.waiting:
                follower.add(rank)
            self._followers[name] = follower
        return follower
