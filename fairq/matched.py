"""`matched`: batches of consecutive lengths, the best filled first.

An empty batch is filled with the run of B consecutive requests, in decreasing size, whose sum is the
largest share of B times its first: what the batch wastes is what the others fall short of its longest.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from typing import Final

from fairq.cohort import first_at_most
from fairq.decision import NOTHING, Decision, InsideView

__all__ = ["BestRun", "MatchedAgent"]

_NEAR = 8


class BestRun:
    """Where the best run of B consecutive requests begins, in a queue sorted by decreasing size.

    A run that begins at a later one of several equal sizes is no better, so only the first of each
    distinct size counts: what is kept is the number of requests by size, one value a distinct size, and
    a heap of these.  A change in the queue alters the runs that begin less than B requests before it.

    Cost of a look after d changes, with D distinct sizes in the queue: at most min(d·B, D) values, each
    O(log D), and at worst d moves of D machine words in the list of sizes.  The queue is never sorted
    or read again.

    Parameters:
        sizes: size by rank, decreasing, of every request of the run.
        batch_size: B.

    >>> best = BestRun([9, 8, 5, 4, 4], batch_size=2)
    >>> for rank in range(5): best.add(rank)
    >>> best.size()  # 4 + 4 of 2·4 beats 9 + 8 of 2·9
    4
    """

    def __init__(self, sizes: Sequence[int], batch_size: int) -> None:
        self._size_of = sizes
        self._batch_size: Final = batch_size
        # Shares as whole numbers, so that none is rounded: sum·2^k // longest tells any two apart
        # that differ, for they differ by 1 / (longest·longest') at least.
        self._scale = 2 * max(sizes, default=1).bit_length()
        self._count: dict[int, int] = {}  # requests by size
        self._sizes: list[int] = []  # the distinct ones, increasing
        self._value: dict[int, int] = {}  # the share of the run that begins with the first of a size
        self._heap: list[tuple[int, int]] = []  # (−share, −size), some out of date
        self._changed: set[int] = set()

    def add(self, rank: int) -> None:
        """The request of this rank has joined the queue."""
        size = self._size_of[rank]
        self._count[size] = self._count.get(size, 0) + 1
        self._changed.add(size)

    def discard(self, rank: int) -> None:
        """The request of this rank has left the queue."""
        size = self._size_of[rank]
        self._count[size] -= 1
        if not self._count[size]:
            del self._count[size]
        self._changed.add(size)

    def size(self) -> int:
        """The size with whose first request the best run begins; the queue has B requests at least.

        Of equal shares it is the largest: the one that begins earliest.
        """
        if self._changed:
            changed = sorted(self._changed, reverse=True)
            self._changed.clear()
            self._list(changed)
            self._refresh(changed)
        heap, value = self._heap, self._value
        while value.get(-heap[0][1]) != -heap[0][0]:
            heappop(heap)
        return -heap[0][1]

    def _list(self, changed: list[int]) -> None:
        """Bring the list of distinct sizes up to date: where all changes are near, by one slice."""
        sizes, count = self._sizes, self._count
        low, high = bisect_left(sizes, changed[-1]), bisect_right(sizes, changed[0])
        if high - low <= _NEAR * len(changed):
            inside = {*sizes[low:high], *changed}
            sizes[low:high] = sorted(size for size in inside if size in count)
            return
        for size in changed:
            place = bisect_left(sizes, size)
            listed = place < len(sizes) and sizes[place] == size
            if size in count and not listed:
                sizes.insert(place, size)
            elif listed and size not in count:
                del sizes[place]

    def _refresh(self, changed: list[int]) -> None:
        """Bring the values of all runs that a change may have altered up to date."""
        done = len(self._sizes)  # from here upward values are right
        for size in changed:
            if size not in self._count:
                self._value.pop(size, None)
            low = bisect_left(self._sizes, size, hi=done)
            if low < done:
                self._sweep(low, self._reach(size, low, done))
                done = low
        if len(self._heap) > 4 * len(self._sizes) + 64:
            self._heap = [(-share, -size) for size, share in self._value.items()]
            heapify(self._heap)

    def _reach(self, size: int, low: int, done: int) -> int:
        """The last place before `done` whose run may hold requests of `size`, which belongs at `low`."""
        sizes, count = self._sizes, self._count
        between = 0
        for place in range(low + (sizes[low] == size), done):
            between += count[sizes[place]]
            if between >= self._batch_size:
                return place  # one that alone fills a run is swept for nothing, and rightly valued
        return done - 1

    def _sweep(self, low: int, high: int) -> None:
        """Value the runs that begin at the places `high` down to `low`, each from the one before."""
        sizes, count, batch_size = self._sizes, self._count, self._batch_size
        held = total = 0  # requests and tokens at the places from `place` down to `end` + 1
        end = high
        for place in range(high, low - 1, -1):
            while held < batch_size and end >= 0:
                held += count[sizes[end]]
                total += count[sizes[end]] * sizes[end]
                end -= 1
            longest = sizes[place]
            if held < batch_size:
                self._value.pop(longest, None)
            else:
                share = ((total - (held - batch_size) * sizes[end + 1]) << self._scale) // longest
                if self._value.get(longest) != share:
                    self._value[longest] = share
                    heappush(self._heap, (-share, -longest))
            held -= count[longest]
            total -= count[longest] * longest


class MatchedAgent:
    """The agent of one worker: into an empty batch the best matched run of the queue.

    Source: ours.  It keeps (1) at any alpha, since all requests of a batch start together.
    """

    order = "largest"
    guarded = True
    needs_requests = True
    sees_ranks = True

    def heeds(self, view: InsideView) -> bool:  # noqa: ARG002
        """A running batch takes nobody."""
        return False

    def decide(self, view: InsideView) -> Decision:
        """The run with the largest sum of sizes / (B · its largest); all, where at most B wait."""
        waiting, batch_size = view.waiting, view.batch_size
        if not waiting or view.free < batch_size:
            return NOTHING
        ranking = view.ranking
        rank = waiting.first_at_or_after(0)
        if len(waiting) > batch_size:
            best: BestRun = view.followed(("matched", batch_size), lambda: BestRun(ranking.sizes, batch_size))
            rank = waiting.first_at_or_after(first_at_most(ranking.sizes, best.size(), 0))
        admit: list[int] = []
        while rank >= 0 and len(admit) < batch_size:
            admit.append(ranking.ids[rank])
            rank = waiting.first_at_or_after(rank + 1)
        return Decision(admit)
