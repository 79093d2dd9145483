"""The front of the pool: which queue an arrival joins, and who is to be asked because of it, and when.

An arrival is an event only where it changes something.  While nobody who is inside a step has a
place for it, it merely waits; else the pool is called to the first instant at which a worker can
take it: its own arrival where a worker idles, otherwise a step boundary.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from math import inf
from typing import Protocol

from fairq.agent import Agent
from fairq.boundaries import boundaries_of
from fairq.dispatcher import Dispatcher
from fairq.ranking import RankSet

__all__ = ["CentralQueue", "Front", "OwnQueues"]


class Front(Protocol):
    """What the pool wants of either way to queue."""

    def arrive(self, request: int, time: float) -> float:
        """`request` joins a queue at `time`; when somebody is to be asked because of it (inf: nobody)."""
        ...

    def anybody_waits(self) -> bool:
        """Whether what waits in the queues may be news to somebody."""
        ...

    def due(self, now: float, asked: set[int]) -> None:
        """Add to `asked` who must be asked at this instant because of the queue."""
        ...

    def came_back(self, index: int) -> None:
        """Worker `index` has given requests back to its queue."""
        ...

    def next_call(self, now: float) -> float:
        """When somebody must next be asked because of what waits now; infinity: never."""
        ...

    def answered(self, agent: Agent) -> None:
        """`agent` has been asked."""
        ...

    def refresh(self, agent: Agent) -> None:
        """The batch of the worker of `agent` has changed, or its policy's mind."""
        ...

    def gone(self, request: int, index: int) -> None:
        """`request` is completed, or has abandoned, on worker `index`."""
        ...

    def index_of(self, request: int) -> int:
        """The worker in whose queue or reserve `request` waits, as far as the front knows."""
        ...


class CentralQueue:
    """One queue, from which every worker draws.

    News is what has reached the queue since a worker was last asked: each worker is asked about it once.
    """

    def __init__(self, agents: Sequence[Agent]) -> None:
        self._agents = agents
        self._queue = agents[0].worker.queue
        self._idle = RankSet(len(agents))
        for agent in agents:
            self._idle.add(agent.worker.index)
        self._is_idle = [True] * len(agents)
        self._eager = all(getattr(agent.policy, "eager", False) for agent in agents)
        self._boundaries = boundaries_of([agent.worker for agent in agents])
        self._news = 0
        self._heard = [0] * len(agents)  # the latest news of which each has been asked
        self._idle_due = False
        self._all_idle_due = False  # also those that come after as many as requests wait
        self._none_heeds = False  # nobody inside a step had a place when last looked for, until refreshed

    def arrive(self, request: int, time: float) -> float:
        self._queue.add(request)
        self._news += 1
        if len(self._idle):
            self._idle_due = True
            return time
        if self._none_heeds:
            return inf
        boundary, _ = self._boundaries.first(time, self._heard, self._news)
        self._none_heeds = boundary == inf
        return boundary

    def anybody_waits(self) -> bool:
        return len(self._queue) > 0

    def due(self, now: float, asked: set[int]) -> None:
        if not self._queue:
            self._idle_due = self._all_idle_due = False
            return
        if self._idle_due:
            asked.update(self._idlers())
            self._idle_due = self._all_idle_due = False
        if self._none_heeds:
            return
        boundary, whose = self._boundaries.first(now, self._heard, self._news)
        if boundary == now:
            asked.update(whose)

    def _idlers(self) -> list[int]:
        """Idle workers in index order; no more than requests wait, where each is sure to take one.

        One that keeps requests for itself (its batch has just become empty) may take none.
        """
        idlers: list[int] = []
        few = self._eager and not self._all_idle_due
        wanted = len(self._queue) if few else len(self._agents)
        index = self._idle.first_at_or_after(0)
        while index >= 0 and wanted > 0:
            idlers.append(index)
            wanted -= not self._agents[index].worker.reserved
            index = self._idle.first_at_or_after(index + 1)
        return idlers

    def came_back(self, index: int) -> None:
        self._news += 1
        self._idle_due = self._all_idle_due = True

    def next_call(self, now: float) -> float:
        if not self._queue or self._none_heeds:
            return inf
        boundary, _ = self._boundaries.first(now, self._heard, self._news)
        return boundary

    def answered(self, agent: Agent) -> None:
        self._heard[agent.worker.index] = self._news

    def refresh(self, agent: Agent) -> None:
        worker = agent.worker
        index, idle = worker.index, not worker.running
        if idle != self._is_idle[index]:
            self._is_idle[index] = idle
            (self._idle.add if idle else self._idle.discard)(index)
        if not idle and agent.heeds():
            self._boundaries.put(worker)
            self._none_heeds = False
        else:
            self._boundaries.drop(worker)

    def gone(self, request: int, index: int) -> None:
        pass

    def index_of(self, request: int) -> int:
        for agent in self._agents:
            if request in agent.worker.reserved:
                return agent.worker.index
        return 0


class OwnQueues:
    """A queue for each worker, which a dispatcher chooses at the arrival.

    Parameters:
        agents: the pool's.
        dispatcher: who chooses.
    """

    def __init__(self, agents: Sequence[Agent], dispatcher: Dispatcher) -> None:
        self._agents = agents
        self._dispatcher = dispatcher
        self._heeds = [False] * len(agents)
        self._calls: list[tuple[float, int]] = []  # heap of (time, worker), some answered meanwhile
        self._called = [inf] * len(agents)  # when each is to be asked because of its queue
        self._worker_of: dict[int, int] = {}  # of the requests that wait

    def arrive(self, request: int, time: float) -> float:
        index = self._dispatcher.choose(request, time)
        worker = self._agents[index].worker
        worker.queue.add(request)
        self._dispatcher.joined(request, index)
        self._worker_of[request] = index
        if not worker.running:
            self._call(index, time)
        elif self._heeds[index] and self._called[index] == inf:
            self._call(index, worker.boundary_from(time))
        return self._called[index]

    def _call(self, index: int, time: float) -> None:
        if time < self._called[index]:
            self._called[index] = time
            heappush(self._calls, (time, index))

    def anybody_waits(self) -> bool:
        return False

    def due(self, now: float, asked: set[int]) -> None:
        calls = self._calls
        while calls and calls[0][0] <= now:
            time, index = heappop(calls)
            if time == self._called[index]:
                asked.add(index)

    def came_back(self, index: int) -> None:
        self._call(index, self._agents[index].worker.calendar.now)

    def next_call(self, now: float) -> float:
        calls = self._calls
        while calls and calls[0][0] != self._called[calls[0][1]]:
            heappop(calls)
        return calls[0][0] if calls else inf

    def answered(self, agent: Agent) -> None:
        self._called[agent.worker.index] = inf

    def refresh(self, agent: Agent) -> None:
        worker = agent.worker
        self._heeds[worker.index] = bool(worker.running) and agent.heeds()
        self._dispatcher.moved(worker)

    def gone(self, request: int, index: int) -> None:
        self._worker_of.pop(request, None)
        self._dispatcher.left(request, index)

    def index_of(self, request: int) -> int:
        return self._worker_of[request]
