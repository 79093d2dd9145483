"""The queue in front of workers: which requests wait, ranked by the policy's order."""

from __future__ import annotations

from fairq.ranking import Ranking, RankSet

__all__ = ["Queue"]


class Queue:
    """Released requests that no worker has taken.

    Attributes:
        ranking: what the ranks mean.
        waiting: the ranks of the requests in the queue.
    """

    __slots__ = ("ranking", "waiting")

    def __init__(self, ranking: Ranking) -> None:
        self.ranking = ranking
        self.waiting = RankSet(len(ranking.ids))

    def __len__(self) -> int:
        return len(self.waiting)

    def __contains__(self, request: int) -> bool:
        return self.ranking.rank[request] in self.waiting

    def add(self, request: int) -> None:
        """Let `request` wait."""
        self.waiting.add(self.ranking.rank[request])

    def remove(self, request: int) -> None:
        """Take `request` out; it is in."""
        self.waiting.discard(self.ranking.rank[request])
