"""The pool: G workers on one queue, driven by SimPy processes, one instant at a time.

Four kinds of process share the calendar.  The *source* releases requests, a *worker* closes the
boundary at each of its completions, an *agent* rings at the wakes its policy asked for, and the
*herald* calls workers that are inside a step to a queue that has grown, at their next boundary.
None of them decides anything: when an instant is over, the pool asks the agents (`settle`).
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from heapq import heapify, heappop
from math import inf
from typing import Any

from fairq.agent import Agent
from fairq.cost import StepTime
from fairq.decision import Policy
from fairq.errors import PolicyError
from fairq.ranking import Ranking
from fairq.schedule import Ledger, Schedule
from fairq.timeline import Alarm, Calendar
from fairq.waiting import Queue
from fairq.worker import Worker

__all__ = ["Pool"]

_PATIENCE = 100_000  # instants at which an idle pool may be asked without anything happening


class Pool:
    """Workers, their agents and the central queue of one run.

    Parameters:
        policies: one policy object a worker.
        name: what the policies are called in errors.
        batch_size, law, alpha: of every worker (B, the step time, whole tokens or None).
        ranking: requests by the policy's order.
        by_arrival: request ids by (arrival, id).
        ledger: where the schedule is written.
        until: when the run stops; infinity serves everything.
    """

    def __init__(
        self,
        policies: Sequence[Policy],
        *,
        name: str,
        batch_size: int,
        law: StepTime,
        alpha: int | None,
        ranking: Ranking,
        by_arrival: Sequence[int],
        ledger: Ledger,
        until: float,
    ) -> None:
        self._calendar = calendar = Calendar()
        self._queue = Queue(ranking)
        self._ledger = ledger
        self._by_arrival = by_arrival
        self._until = until
        self._agents = [
            Agent(
                name,
                policy,
                Worker(
                    calendar,
                    index,
                    batch_size=batch_size,
                    law=law,
                    alpha=alpha,
                    queue=self._queue,
                    ledger=ledger,
                ),
            )
            for index, policy in enumerate(policies)
        ]
        self._released = 0  # requests, in arrival order
        self._grown = False  # whether requests have reached the queue at this instant
        self._due: set[int] = set()  # agents to ask at the end of this instant
        self._touched: set[int] = set()  # workers whose alarms may have moved
        self._calls: list[
            tuple[float, int]
        ] = []  # heap: (next boundary, worker) still to be called to the queue
        self._herald = Alarm(calendar)
        self._last_progress = (0, 0)
        self._idle_instants = 0

    def run(self) -> Schedule:
        """Serve the workload (up to `until`) and return the schedule.

        Raises:
            PolicyError: a policy answered wrongly, or left requests unserved.
        """
        calendar = self._calendar
        calendar.process(self._source())
        calendar.process(self._call())
        for agent in self._agents:
            calendar.process(agent.worker.run(self._closed))
            calendar.process(agent.run(self._woken))
        calendar.run_instants(self._settle, self._until)
        if self._until < inf:
            for agent in self._agents:
                agent.worker.stop(self._until)
        else:
            self._check_all_served()
        return self._ledger.schedule()

    def _source(self) -> Generator[Any, Any, None]:
        """The arrival process: every request is released at its arrival."""
        alarm = Alarm(self._calendar)
        arrival, order = self._ledger.arrival, self._by_arrival
        while self._released < len(order):
            alarm.set(arrival[order[self._released]])
            yield alarm
            now = self._calendar.now
            while self._released < len(order) and arrival[order[self._released]] == now:
                self._queue.add(order[self._released])
                self._released += 1
            self._grown = True

    def _call(self) -> Generator[Any, Any, None]:
        """The herald's process: workers whose boundary is now are asked for the queue's sake."""
        while True:
            yield self._herald
            while self._calls and self._calls[0][0] == self._calendar.now:
                self._due.add(heappop(self._calls)[1])

    def _closed(self, worker: Worker) -> None:
        """A worker has closed a boundary with completions."""
        self._touched.add(worker.index)
        if self._agents[worker.index].answers():
            self._due.add(worker.index)

    def _woken(self, agent: Agent) -> None:
        self._due.add(agent.worker.index)

    def _settle(self) -> None:
        """The end of an instant: ask who is due, again while requests come back, then begin steps."""
        now = self._calendar.now
        if now >= self._until:
            return
        if self._grown:
            self._grown = False
            self._call_everyone(now)
        self._check_stall()
        rounds = 0
        while self._due:
            due, self._due = sorted(self._due), set()
            self._touched.update(due)
            if self._ask(due, now):
                rounds += 1
                self._check_rounds(rounds, due[0])
                self._call_everyone(now)
        self._begin_steps()

    def _call_everyone(self, now: float) -> None:
        """Something has reached the queue: who is inside a step is due at its next boundary, others now."""
        self._calls = []
        for agent in self._agents:
            worker = agent.worker
            if not worker.running:
                self._due.add(worker.index)
            elif agent.heeds():
                boundary = worker.boundary_from(now)
                if boundary == now:
                    self._due.add(worker.index)
                else:
                    self._calls.append((boundary, worker.index))
        heapify(self._calls)

    def _ask(self, due: list[int], now: float) -> bool:
        """Ask the agents in index order; whether any gave requests back."""
        came_back = False
        for index in due:
            agent = self._agents[index]
            agent.worker.catch_up(now)
            came_back |= agent.ask()
        return came_back

    def _begin_steps(self) -> None:
        if not self._queue:  # what grew it has been taken meanwhile: nobody else need come
            self._calls.clear()
        self._herald.set(self._calls[0][0] if self._calls else inf)
        for index in self._touched:
            self._agents[index].set_alarms()
        self._touched.clear()
        if self._ledger.left == len(self._by_arrival):
            for agent in self._agents:
                agent.silence()

    def _check_stall(self) -> None:
        """A policy that only asks to be woken must not keep an idle pool busy for ever."""
        progress = (self._ledger.entered, self._released)
        if progress != self._last_progress or any(agent.worker.running for agent in self._agents):
            self._last_progress, self._idle_instants = progress, 0
            return
        self._idle_instants += 1
        if self._idle_instants > _PATIENCE:
            agent = self._agents[min(self._due, default=0)]
            detail = f"asked {_PATIENCE} times in a row while nothing ran, it admitted nobody"
            raise PolicyError(agent.name, agent.worker.index, self._calendar.now, "service", detail)

    def _check_rounds(self, rounds: int, worker: int) -> None:
        count = len(self._by_arrival)
        if rounds > count:
            raise PolicyError(
                self._agents[0].name,
                worker,
                self._calendar.now,
                "release",
                f"requests were given back more than {count} times at one instant",
            )

    def _check_all_served(self) -> None:
        for agent in self._agents:
            if agent.worker.reserved or self._queue:
                left = len(self._queue) + sum(len(a.worker.reserved) for a in self._agents)
                raise PolicyError(
                    agent.name,
                    agent.worker.index,
                    self._calendar.now,
                    "service",
                    f"{left} requests were left unserved and nobody asked to be woken",
                )
