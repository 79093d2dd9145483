"""The pool: G workers behind a front, driven by SimPy processes, one instant at a time.

Four kinds of process share the calendar.  The *source* brings arrivals to the pool, a *worker* closes
the boundary at each of its completions, an *agent* rings at the wakes its policy asked for, and the
*reaper* takes out requests that have waited too long.  None of them decides anything: when an
instant is over, the pool asks the agents (`settle`).
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from heapq import heappop
from math import inf
from typing import Any

from fairq.agent import Agent
from fairq.constant_worker import make_worker
from fairq.cost import StepTime
from fairq.decision import Policy
from fairq.dispatch import make_dispatcher
from fairq.dispatcher import Arrivals
from fairq.errors import PolicyError
from fairq.front import CentralQueue, Front, OwnQueues
from fairq.limits import Limits
from fairq.ranking import Ranking
from fairq.schedule import Ledger, Schedule
from fairq.timeline import Alarm, Calendar
from fairq.waiting import Queue
from fairq.worker import Worker

__all__ = ["Pool"]

_PATIENCE = 100_000  # instants at which an idle pool may be asked without anything happening


class Pool:
    """Workers, their agents and the queue or queues of one run.

    Parameters:
        policies: one policy object a worker.
        name: what the policies are called in errors.
        slots, laws: batch size and step time of each worker.
        ranking: requests by the policy's order.
        dispatch: a dispatcher's name.
        arrivals: what a dispatcher sees of the requests; also their order and the budget in whole tokens.
        ledger: where the schedule is written.
        limits: what ends waits and the run early.
    """

    def __init__(
        self,
        policies: Sequence[Policy],
        *,
        name: str,
        slots: Sequence[int],
        laws: Sequence[StepTime],
        ranking: Ranking,
        dispatch: str,
        arrivals: Arrivals,
        ledger: Ledger,
        limits: Limits,
    ) -> None:
        self._calendar = calendar = Calendar()
        self._ledger = ledger
        self._limits = limits
        self._order = ranking.ids if ranking.order == "arrival" else arrivals.by_arrival.tolist()
        central = Queue(ranking)
        self._agents = [
            Agent(
                name,
                policy,
                make_worker(
                    calendar,
                    index,
                    batch_size=slots[index],
                    law=laws[index],
                    alpha=arrivals.alpha,
                    queue=central if dispatch == "central" else Queue(ranking),
                    ledger=ledger,
                ),
            )
            for index, policy in enumerate(policies)
        ]
        dispatcher = make_dispatcher(dispatch, [agent.worker for agent in self._agents], arrivals)
        self._front: Front = (
            CentralQueue(self._agents) if dispatcher is None else OwnQueues(self._agents, dispatcher)
        )
        self._released = 0  # requests, in arrival order
        self._lost = 0  # of them, rejected or abandoned
        self._due: set[int] = set()  # agents to ask at the end of this instant
        self._touched: set[int] = set()  # workers whose alarms may have moved
        self._door = Alarm(calendar)  # when a worker can next take what has arrived, or will have
        self._called = False  # that time has come
        self._deadline = Alarm(calendar)
        self._oldest = 0  # everybody before it, in arrival order, has started or is lost
        self._last_progress = (0, 0)
        self._idle_instants = 0

    def run(self) -> Schedule:
        """Serve the workload (up to `until`) and return the schedule.

        Raises:
            PolicyError: a policy answered wrongly, or left requests unserved.
        """
        calendar = self._calendar
        calendar.process(self._source())
        calendar.process(self._reaper())
        for agent in self._agents:
            calendar.process(agent.worker.run(self._closed))
            calendar.process(agent.run(self._woken))
        calendar.end = self._limits.until
        calendar.start_processes()
        self._look_ahead()
        calendar.run_instants(self._settle)
        if calendar.end < inf:
            self._release(calendar.end)
            for agent in self._agents:
                agent.worker.stop(calendar.end)
        else:
            self._check_all_served()
        return self._ledger.schedule()

    def _source(self) -> Generator[Any, Any, None]:
        """The arrival process: it opens the instants at which somebody can take what has arrived."""
        while True:
            yield self._door
            self._called = True

    def _reaper(self) -> Generator[Any, Any, None]:
        """It opens the instants at which somebody has waited for as long as they will."""
        while True:
            yield self._deadline

    def _closed(self, worker: Worker, done: list[int]) -> None:
        """A worker has closed a boundary at which requests are done."""
        for request in done:
            self._front.gone(request, worker.index)
        self._touched.add(worker.index)

    def _woken(self, agent: Agent) -> None:
        self._due.add(agent.worker.index)

    def _release(self, time: float) -> None:
        """Let arrivals up to and including `time` join their queues, one by one in (arrival, id) order."""
        order, arrival = self._order, self._ledger.arrival
        while self._released < len(order) and arrival[order[self._released]] <= time:
            self._arrive(order[self._released])

    def _arrive(self, request: int) -> float:
        """`request` is rejected or joins a queue; when somebody is due because of it (infinity: never)."""
        limits, ledger = self._limits, self._ledger
        waiting = self._released - self._lost - ledger.entered
        self._released += 1
        if waiting >= limits.queue_limit:
            ledger.reject(request)
            self._lost += 1
            return inf
        time = ledger.arrival[request]
        if waiting >= limits.max_queued and time < self._calendar.end:
            self._calendar.end = ledger.stopped_at = time
        return self._front.arrive(request, time)

    def _look_ahead(self) -> None:
        """Release who arrives before anything else happens, and set the door to when somebody is due.

        Until the next event nothing changes but the queues, so these arrivals need no event of their own.
        """
        order, arrival, calendar = self._order, self._ledger.arrival, self._calendar
        door = self._front.next_call(calendar.instant)
        self._door.set(door)
        horizon, patient = calendar.next_time(), self._limits.abandon_after == inf
        while self._released < len(order):
            request = order[self._released]
            if arrival[request] >= horizon or arrival[request] >= calendar.end:
                break
            due = self._arrive(request)
            if due < door:
                door = due
                horizon = min(due, horizon)
            if not patient:
                horizon = min(horizon, self._deadline_after(request))
        self._door.set(door)

    def _deadline_after(self, request: int) -> float:
        """The first deadline of who waits, `request` being the last who came."""
        patience = self._limits.abandon_after
        if patience < inf and self._deadline.time == inf and request not in self._ledger.lost:
            self._deadline.set(self._ledger.arrival[request] + patience)
        return self._deadline.time

    def _settle(self) -> None:
        """The end of an instant: ask who is due, again while requests come back, then begin steps."""
        now, agents, due = self._calendar.instant, self._agents, self._due
        released, order = self._released, self._order
        called, self._called = self._called, False
        if released < len(order) and self._ledger.arrival[order[released]] <= now:
            self._refresh_touched()
            self._release(now)
            called = True
        elif called and self._front.anybody_waits():
            self._refresh_touched()
        if now >= self._calendar.end:
            return
        for index in self._touched:
            if agents[index].answers():
                due.add(index)
        if called:  # else nobody but those who completed can answer: the others have been asked
            self._front.due(now, due)
        if self._ledger.entered == self._ledger.left:
            self._check_stall()
        if due:
            self._ask_all(now)
        if self._limits.abandon_after < inf:
            self._give_up(now)
        self._begin_steps()
        self._look_ahead()

    def _refresh_touched(self) -> None:
        for index in self._touched:
            self._front.refresh(self._agents[index])

    def _ask_all(self, now: float) -> None:
        """Ask who is due in index order; again, with whom that concerns, while requests come back."""
        rounds = 0
        while self._due:
            due, self._due = sorted(self._due), set()  # a sorted list is a heap
            givers = 0
            while due:
                index = heappop(due)
                self._touched.add(index)
                if self._ask(self._agents[index], now):
                    givers += 1
                    self._spread_the_news(index, now, due)
            if givers:
                rounds += 1
                self._check_rounds(rounds, index)

    def _spread_the_news(self, giver: int, now: float, due: list[int]) -> None:
        """Requests came back: who comes after `giver` hears of it in this round, the others in the next."""
        self._refresh_touched()
        self._front.came_back(giver)
        self._front.due(now, self._due)
        later = {index for index in self._due if index > giver}
        self._due -= later
        due[:] = sorted(later.union(due))

    def _ask(self, agent: Agent, now: float) -> bool:
        """Ask `agent`; whether it gave requests back."""
        agent.worker.catch_up(now)
        self._front.answered(agent)
        return agent.ask()

    def _give_up(self, now: float) -> None:
        """Who has waited for `abandon_after` leaves; a worker that had kept such a request is asked again."""
        order, ledger = self._order, self._ledger
        while self._oldest < self._released:
            request = order[self._oldest]
            if ledger.worker[request] < 0 and request not in ledger.lost:
                deadline = ledger.arrival[request] + self._limits.abandon_after
                if deadline > now:
                    self._deadline.set(deadline)
                    break
                self._abandon(request, now)
            self._oldest += 1
        if self._due:
            self._ask_all(now)
            self._give_up(now)

    def _abandon(self, request: int, now: float) -> None:
        agent = self._agents[self._front.index_of(request)]
        if request in agent.worker.queue:
            agent.worker.queue.remove(request)
        else:
            agent.worker.abandon(request)
            self._touched.add(agent.worker.index)
            if agent.summon(now):
                self._due.add(agent.worker.index)
        self._ledger.abandon(request)
        self._lost += 1
        self._front.gone(request, agent.worker.index)

    def _begin_steps(self) -> None:
        for index in self._touched:
            agent = self._agents[index]
            self._front.refresh(agent)
            agent.set_alarms()
        self._touched.clear()
        if self._ledger.left + self._lost == len(self._order):
            for agent in self._agents:
                agent.silence()

    def _check_stall(self) -> None:
        """Nothing runs: a policy that only asks to be woken must not keep the pool busy for ever."""
        progress = (self._ledger.entered, self._released)
        if progress != self._last_progress:
            self._last_progress, self._idle_instants = progress, 0
            return
        self._idle_instants += 1
        somebody_waits = self._released - self._lost > self._ledger.entered
        most = _PATIENCE if somebody_waits else 100 * _PATIENCE  # it may look for work every so often
        if self._idle_instants > most:
            agent = self._agents[min(self._due, default=0)]
            detail = f"asked {most} times in a row while nothing ran, it admitted nobody"
            raise PolicyError(agent.name, agent.worker.index, self._calendar.instant, "service", detail)

    def _check_rounds(self, rounds: int, worker: int) -> None:
        count = len(self._order)
        if rounds > count:
            raise PolicyError(
                self._agents[0].name,
                worker,
                self._calendar.instant,
                "release",
                f"requests were given back more than {count} times at one instant",
            )

    def _check_all_served(self) -> None:
        left = len(self._order) - self._lost - self._ledger.left
        if left:
            holder = next((a for a in self._agents if a.worker.reserved or a.worker.queue), self._agents[0])
            raise PolicyError(
                holder.name,
                holder.worker.index,
                self._calendar.instant,
                "service",
                f"{left} requests were left unserved and nobody asked to be woken",
            )
