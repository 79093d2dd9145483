"""A pool under one `Rule` and one queue, without the questions and answers that other policies need.

What a Rule does with a free slot is known beforehand: it takes the first of the queue.  So nobody need be
asked, and the queue need be no more than a heap of ranks.  Processes, instants and their order are those of
`fairq.pool.Pool`, which serves whatever this one is not made for; tests hold the two equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappush
from itertools import islice
from math import inf, nextafter

from fairq.boundaries import boundaries_of
from fairq.constant_worker import make_worker
from fairq.cost import StepTime
from fairq.dispatcher import Arrivals
from fairq.limits import Limits
from fairq.ranking import Ranking, RankSet
from fairq.rules import Rule, RuleAgent
from fairq.schedule import Ledger, Schedule
from fairq.timeline import Calendar
from fairq.waiting import Queue
from fairq.worker import Worker

__all__ = ["RulePool", "rule_of"]

_IDLE, _OPEN, _CLOSED = range(3)
_NEWS = 1  # whoever is inside a step has not been asked about what waits


def rule_of(policy: object) -> Rule | None:
    """The Rule that is all there is to `policy`; None if there is more to it."""
    return policy.rule if type(policy) is RuleAgent and policy.max_wait is None else None


class RulePool:
    """Workers that fill their slots from one queue as a `Rule` says.

    Parameters:
        rule: which request is next, and when a worker may take it.
        slots, laws: batch size and step time of each worker.
        ranking: requests by the rule's order.
        arrivals: their order of arrival, and the budget in whole tokens.
        ledger: where the schedule is written.
        limits: what ends the run early, or turns arrivals away; nobody loses patience here.
    """

    def __init__(
        self,
        rule: Rule,
        *,
        slots: Sequence[int],
        laws: Sequence[StepTime],
        ranking: Ranking,
        arrivals: Arrivals,
        ledger: Ledger,
        limits: Limits,
    ) -> None:
        self._calendar = calendar = Calendar()
        self._into_slots, self._guard = rule.when == "slot", rule.guard
        self._alpha = arrivals.alpha or 0
        order = ranking.ids if ranking.order == "arrival" else arrivals.by_arrival.tolist()
        self._ids, self._order = ranking.ids, order
        self._times = [ledger.arrival[request] for request in order] + [inf]
        self._ranks = [ranking.rank[request] for request in order]
        self._ledger, self._limits = ledger, limits
        self._most = min(limits.queue_limit, limits.max_queued)
        self._queue: list[int] = []  # a heap of ranks
        nothing = Queue(ranking)
        self._workers = [
            make_worker(
                calendar,
                index,
                batch_size=slots[index],
                law=law,
                alpha=arrivals.alpha,
                queue=nothing,
                ledger=ledger,
            )
            for index, law in enumerate(laws)
        ]
        self._state = [_IDLE] * len(slots)
        self._count = [len(slots), 0, 0]  # of the workers in each state
        self._idle = RankSet(len(slots))
        for index in range(len(slots)):
            self._idle.add(index)
        self._open = boundaries_of(self._workers)
        self._asked = [0] * len(slots)
        self._released = 0  # requests, in arrival order
        self._closed: list[int] = []  # workers that have closed a boundary at this instant

    def run(self) -> Schedule:
        """Serve the workload (up to `until`) and return the schedule."""
        calendar = self._calendar
        for worker in self._workers:
            calendar.process(worker.serve(self._closed))
        calendar.end = self._limits.until
        calendar.start_processes()
        self._look_ahead(-inf)
        calendar.run_instants(self._settle)
        if calendar.end < inf:
            self._release(calendar.end)
            for worker in self._workers:
                worker.stop(calendar.end)
        return self._ledger.schedule()

    def _settle(self) -> None:
        """The end of an instant at which batches had completions: fill slots, and begin steps."""
        calendar, closed = self._calendar, self._closed
        now = calendar.instant
        if self._times[self._released] <= now:
            self._release(now)
        if now >= calendar.end:
            return
        count = self._count
        if self._queue and len(closed) == 1 and not count[_IDLE] and not count[_OPEN]:
            self._fill(self._workers[closed[0]], now)
        else:
            for index in closed:
                self._workers[index].set_alarm()
                self._note(self._workers[index])
            if self._queue:
                self._fill_all(now, self._standing_at(now))
        closed.clear()
        self._look_ahead(now)

    def _look_ahead(self, now: float) -> None:
        """Let who arrives before the next completion join, and start whom a worker can take until then.

        Nothing else happens in between, so neither these arrivals nor their starts need an event.
        """
        calendar, times, count = self._calendar, self._times, self._count
        horizon = calendar.next_time()
        while count[_OPEN] or count[_IDLE]:
            if not self._queue:
                now = times[self._released]
                if now >= horizon or now > calendar.end:
                    return
                self._release(now)
            boundary, whose = self._next_start(now)
            if boundary >= horizon:
                break
            now = boundary
            if times[self._released] <= now:
                self._release(now)
            if now >= calendar.end:
                return
            self._fill_all(now, whose)
            horizon = calendar.next_time()
        if times[self._released] < horizon and self._most < inf:  # else it does until then
            self._release(nextafter(horizon, -inf))

    def _next_start(self, now: float) -> tuple[float, Sequence[int]]:
        """When somebody can take what waits at `now`, and who of those that run stands at a boundary then."""
        if self._count[_IDLE]:
            return now, self._standing_at(now)
        return self._open.first(now, self._asked, _NEWS)

    def _release(self, now: float) -> None:
        """Let arrivals up to and including `now` join the queue, as long as the run goes on."""
        times, ranks, queue, place = self._times, self._ranks, self._queue, self._released
        latest = min(now, self._calendar.end)
        while times[place] <= latest:
            if len(queue) < self._most:
                heappush(queue, ranks[place])
            else:
                latest = min(latest, self._arrive(place))
            place += 1
        self._released = place

    def _arrive(self, place: int) -> float:
        """An arrival finds many waiting: it is rejected, or ends the run; when the run ends."""
        waiting, time = len(self._queue), self._times[place]
        if waiting >= self._limits.queue_limit:
            self._ledger.reject(self._order[place])
        else:
            if waiting >= self._limits.max_queued and time < self._calendar.end:
                self._calendar.end = self._ledger.stopped_at = time
            heappush(self._queue, self._ranks[place])
        return self._calendar.end

    def _standing_at(self, now: float) -> Sequence[int]:
        """Running workers that have a place and stand at a boundary."""
        if not self._count[_OPEN]:
            return ()
        boundary, whose = self._open.first(now, self._asked, _NEWS)
        return whose if boundary == now else ()

    def _fill_all(self, now: float, standing: Sequence[int]) -> None:
        """Fill, in index order, the workers `standing` at a boundary and those that idle."""
        if self._count[_IDLE]:
            standing = [*standing, *islice(self._idle, len(self._queue))]
        for index in sorted(standing) if len(standing) > 1 else standing:
            if self._queue:
                self._fill(self._workers[index], now)

    def _fill(self, worker: Worker, now: float) -> None:
        """Let `worker` take the first of the queue into its free slots, as far as the rule lets it."""
        batch, queue = len(worker.running), self._queue
        if batch and self._guard:
            worker.catch_up(now)
        if batch == 0 or self._lets(worker):
            free, waiting = worker.batch_size - batch, len(queue)
            worker.join(min(waiting, free), queue, self._ids, now)
        else:
            worker.set_alarm()
        self._note(worker)

    def _lets(self, worker: Worker) -> bool:
        """Whether the rule lets requests join a batch that is running."""
        return self._into_slots and (not self._guard or worker.max_progress() <= self._alpha)

    def _note(self, worker: Worker) -> None:
        """Whether `worker` idles, has a place for the next request inside its step, or neither."""
        batch, index = len(worker.running), worker.index
        before = self._state[index]
        if batch == 0:
            state = _IDLE
        elif self._into_slots and batch < worker.batch_size and (not self._guard or self._lets(worker)):
            state = _OPEN
            if before != _OPEN or not self._open.keeps:
                self._open.put(worker)
        else:
            state = _CLOSED
        if state != before:
            self._state[index] = state
            self._count[before] -= 1
            self._count[state] += 1
            if before == _OPEN:
                self._open.drop(worker)
            elif before == _IDLE:
                self._idle.discard(index)
            if state == _IDLE:
                self._idle.add(index)
