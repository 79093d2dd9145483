"""The packs of a cohort, lane by lane: which requests of it run next, and which slots are kept for them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush

__all__ = ["Lanes"]

_NONE = -1


class Lanes:
    """The packs of a cohort: each lane runs its requests one after another.

    Attributes:
        left: pack requests that have not started.
    """

    __slots__ = ("_lane_of", "_packs", "_ready", "left")

    def __init__(self, packs: list[deque[int]]) -> None:
        self._packs = packs  # ids, next first
        self._lane_of: dict[int, int] = {}  # of the pack requests that run
        self._ready = list(range(len(packs)))  # heap of lanes with requests left but none running
        self.left = sum(map(len, packs))

    @property
    def held(self) -> int:
        """Lanes that have pack requests left but none running: a slot is kept for each."""
        return len(self._ready)

    @property
    def done(self) -> bool:
        """Whether every pack request has finished."""
        return self.left == 0 and not self._lane_of

    def note(self, completed: Iterable[int]) -> None:
        """Let the lanes of the requests that have `completed` go on."""
        for request in completed:
            lane = self._lane_of.pop(request, _NONE)
            if lane != _NONE and self._packs[lane]:
                heappush(self._ready, lane)

    def drop(self, gone: Sequence[int]) -> None:
        """Requests that have `gone` without having started leave their packs."""
        for pack in self._packs:
            for request in gone:
                if request in pack:
                    pack.remove(request)
                    self.left -= 1
        self._ready = [lane for lane in self._ready if self._packs[lane]]
        heapify(self._ready)

    def start(self) -> list[int]:
        """The next request of every lane that runs none, in lane order."""
        started = []
        while self._ready:
            lane = heappop(self._ready)
            request = self._packs[lane].popleft()
            self._lane_of[request] = lane
            started.append(request)
        self.left -= len(started)
        return started
