"""`isjl`, `robust-isjl` and `free-ride`: cohorts around the longest request, under constraint (1).

The paper's Algorithm 3 and its prose differ, and taken literally they can break (1); this agent is
the reading of this package, which keeps (1) for every input:

- Phase ONE runs only on an empty batch (the paper's "repeat from Phase ONE" would let it run beside
  requests of the cohort before).
- o_1 idles for the longest overhang of *any* pack (line 19 takes the pack of lane M alone).
- o_2 .. o_M start through Phase TWO (the pseudo-code never starts them).
- Phase TWO's A_max is the largest *progress* in the batch (the prose says remaining time).
- What a cohort could not start by the time o_1's progress passes alpha goes back to the queue.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import islice

from fairq.cohort import CohortPlan, plan_cohort, running_order
from fairq.decision import Decision, InsideView
from fairq.lanes import Lanes
from fairq.oldest import overdue
from fairq.ranking import RankSet

__all__ = ["CohortAgent"]

_NONE = -1


class CohortAgent:
    """The agent of one worker.

    Order within one ask: completions, give-back, Phase ONE, o_1, packs, Phase TWO.

    Parameters:
        free_ride: plan as `free-ride`: o_1 starts at once, and each lane ends in one of o_2 .. o_B.
        descending: lanes run their packs in order of packing (largest first), not smallest first.
        max_wait: in Phase TWO requests older than this go before all others, oldest first, and while
            one is queued Phase ONE is skipped; None: age does not count.
    """

    order = "largest"
    guarded = True
    needs_requests = True
    sees_ranks = True
    eager = True

    def __init__(
        self, *, free_ride: bool = False, descending: bool = False, max_wait: float | None = None
    ) -> None:
        self.free_ride = free_ride
        self.descending = descending
        self.max_wait = max_wait
        self._leader = _NONE
        self._due: int | None = None  # step count at which o_1 starts; None once it has, or without a cohort
        self._own: deque[int] = deque()  # ranks of o_2 .. o_M not started, longest first
        self._lanes = Lanes([])

    def heeds(self, view: InsideView) -> bool:
        """Only Phase TWO looks at the queue while a batch runs: once o_1 has started, up to alpha."""
        worker = view.state
        if self._due is not None or worker.batch_size - len(worker.running) <= self._lanes.held:
            return False
        return worker.max_progress() <= (worker.alpha or 0)

    def may_answer(self, view: InsideView) -> bool:
        """Not with nothing kept and a batch above alpha: it has to come down or to run out first."""
        worker = view.state
        if self._due is not None or worker.reserved or not worker.running:
            return True
        return worker.max_progress() <= (worker.alpha or 0)

    def decide(self, view: InsideView) -> Decision:
        """One ask, in the order of the class's docstring (Algorithm 3, lines 2 to 30)."""
        alpha = view.alpha or 0
        self._lanes.note(view.completed)
        if view.abandoned:
            self._forget(view)
        release = self._give_back(view, alpha)
        waiting = _with_ranks(view, release)
        empty = view.free == view.batch_size
        plan = None
        if empty and self._due is None:
            plan = self._plan(view, waiting, release, alpha)
            self._begin(view, plan)
        admit = self._start_leader(view)
        if view.max_progress <= alpha:
            admit += self._lanes.start()
            if self._due is None:
                self._phase_two(view, waiting, plan, release, admit)
        reserve = _members(view, plan) if plan is not None and plan.leader != _NONE else ()
        return Decision(admit, reserve, release, wake_steps=self._wake_steps(view, alpha, admit))

    def _forget(self, view: InsideView) -> None:
        """Requests that were kept have left; if o_1 is one of them, the cohort ends as at its completion."""
        if self._due is not None and self._leader in view.abandoned:
            self._due = None
        gone = {view.ranking.rank[request] for request in view.abandoned}
        self._own = deque(rank for rank in self._own if rank not in gone)
        self._lanes.drop(view.abandoned)

    def _give_back(self, view: InsideView, alpha: int) -> list[int]:
        """At o_1's progress floor(alpha) + 1, or at its completion, the cohort's rest goes back."""
        if self._due is not None or not view.holds_reserve():
            return []
        if view.is_running(self._leader) and view.progress(self._leader) <= alpha:
            return []
        self._own.clear()
        self._lanes = Lanes([])
        return list(view.reserved)

    def _plan(self, view: InsideView, waiting: RankSet, release: list[int], alpha: int) -> CohortPlan:
        if self._late(view, release, 1):
            return CohortPlan(_NONE, [], [], [], 0)
        return plan_cohort(view.ranking.sizes, waiting, view.batch_size, alpha, self.free_ride)

    def _late(self, view: InsideView, besides: Iterable[int], most: int) -> list[int]:
        """Of the queue and the requests `besides`, at most so many older than `max_wait`, oldest first."""
        if self.max_wait is None or most <= 0:
            return []
        arrivals, now, limit = view.arrivals, view.now, self.max_wait
        late = [request for request in besides if now - arrivals[request] > limit]
        late += islice(overdue(view, limit), most)
        return sorted(late, key=lambda request: (arrivals[request], request))[:most]

    def _begin(self, view: InsideView, plan: CohortPlan) -> None:
        """Phase ONE: keep the planned cohort; each lane's pack in the order in which it will run."""
        self._own.clear()
        self._lanes = Lanes([])
        if plan.leader == _NONE:
            return
        ids, sizes = view.ranking.ids, view.ranking.sizes
        self._leader = ids[plan.leader]
        self._due = view.steps + plan.delay
        lanes: dict[int, list[int]] = {}
        for rank, lane in zip(*running_order(sizes, plan, self.free_ride, self.descending), strict=True):
            lanes.setdefault(lane, []).append(rank)
        if not self.free_ride:
            self._own.extend(plan.own)
        self._lanes = Lanes([deque(ids[rank] for rank in lanes[lane]) for lane in sorted(lanes)])

    def _start_leader(self, view: InsideView) -> list[int]:
        """o_1 starts when it is due, or when every pack has finished if that is sooner."""
        if self._due is None:
            return []
        if view.steps < self._due and not self._lanes.done:
            return []
        self._due = None
        return [self._leader]

    def _phase_two(
        self,
        view: InsideView,
        waiting: RankSet,
        plan: CohortPlan | None,
        release: list[int],
        admit: list[int],
    ) -> None:
        """Lines 22 to 29: the longest of the cohort's own and the shared queue into every slot not held."""
        spare = view.free - len(admit) - self._lanes.held
        taken = _planned_ranks(plan)
        if not taken and self.max_wait is not None:  # nobody is late where a cohort was planned now
            late = self._start_late(view, release, spare)
            admit += late
            spare -= len(late)
            taken = frozenset(view.ranking.rank[request] for request in late)
        ids = view.ranking.ids
        shared = _next_not_in(waiting, 0, taken) if spare > 0 else _NONE
        while spare > 0:
            if self._own and (shared == _NONE or self._own[0] < shared):
                admit.append(ids[self._own.popleft()])
            elif shared != _NONE:
                admit.append(ids[shared])
                shared = _next_not_in(waiting, shared + 1, taken)
            else:
                return
            spare -= 1

    def _start_late(self, view: InsideView, release: list[int], spare: int) -> list[int]:
        """The requests that are late, and the cohort's own among them taken out of it."""
        ids, rank = view.ranking.ids, view.ranking.rank
        late = self._late(view, [*release, *(ids[own] for own in self._own)], spare)
        if late and self._own:
            started = {rank[request] for request in late}
            self._own = deque(own for own in self._own if own not in started)
        return late

    def _wake_steps(self, view: InsideView, alpha: int, admit: list[int]) -> int | None:
        """Steps to o_1's start, or to the give-back where anything is left to give."""
        if self._due is not None:
            return self._due - view.steps
        if not self._own and self._lanes.left == 0:
            return None
        progress = 0 if self._leader in admit else view.progress(self._leader)
        return alpha + 1 - progress


def _with_ranks(view: InsideView, released: Iterable[int]) -> RankSet:
    """The queue with what this very ask gives back, which the view does not show yet."""
    if not released:
        return view.waiting
    waiting = view.waiting.copy()
    for request in released:
        waiting.add(view.ranking.rank[request])
    return waiting


def _planned_ranks(plan: CohortPlan | None) -> frozenset[int]:
    if plan is None or plan.leader == _NONE:
        return frozenset()
    return frozenset((plan.leader, *plan.own, *plan.packed))


def _members(view: InsideView, plan: CohortPlan) -> list[int]:
    ids = view.ranking.ids
    return [ids[rank] for rank in (plan.leader, *plan.own, *plan.packed)]


def _next_not_in(waiting: RankSet, rank: int, taken: frozenset[int]) -> int:
    rank = waiting.first_at_or_after(rank)
    while rank in taken:
        rank = waiting.first_at_or_after(rank + 1)
    return rank
