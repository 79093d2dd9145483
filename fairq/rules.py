"""Six policies that are data: in what order requests start, into which slots, under which guard."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from fairq.decision import NOTHING, Decision, InsideView
from fairq.oldest import overdue
from fairq.ranking import Order

__all__ = ["RULES", "Rule", "RuleAgent"]


@dataclass(frozen=True, slots=True)
class Rule:
    """A policy without memory.

    Attributes:
        order: ``"arrival"``, ``"smallest"`` or ``"largest"`` first.
        when: ``"empty"``: only into an empty batch (static batching); ``"slot"``: into any free slot.
        guard: admit only while the largest progress of the batch is <= alpha, which keeps (1).
    """

    order: Order
    when: str
    guard: bool

    @property
    def guarded(self) -> bool:
        """Whether every schedule of the rule keeps (1): by its guard, or since all start together."""
        return self.guard or self.when == "empty"


RULES: dict[str, Rule] = {
    "fcfs": Rule("arrival", "slot", guard=False),  # Remark 2.6
    "fcfs-static": Rule("arrival", "empty", guard=False),
    "fcfs-fair": Rule("arrival", "slot", guard=True),
    "sjf": Rule("smallest", "slot", guard=False),  # Remark 2.6
    "ljf": Rule("largest", "empty", guard=False),  # Algorithm 1
    "ljf-fair": Rule("largest", "slot", guard=True),  # Phase TWO of Algorithm 3 alone
}


class RuleAgent:
    """Carries out a `Rule`: fills the free slots in the rule's order where the rule lets it.

    Parameters:
        rule: the policy.
        max_wait: requests older than this go before all others, oldest first; None: none does.
    """

    needs_requests = True
    sees_ranks = True
    eager = True

    def __init__(self, rule: Rule, max_wait: float | None = None) -> None:
        self.rule = rule
        self.max_wait = max_wait
        self.order = rule.order
        self.guarded = rule.guarded
        self._into_slots = rule.when == "slot"

    def heeds(self, view: InsideView) -> bool:
        """Whether a request that reaches the queue could start at the next boundary of a running batch."""
        worker = view.state
        if not self._into_slots or len(worker.running) >= worker.batch_size:
            return False
        return not self.rule.guard or worker.max_progress() <= (worker.alpha or 0)

    def decide(self, view: InsideView) -> Decision:
        """Admit the first requests of the queue, as many as there are free slots."""
        free = view.free
        if free == 0 or not (self._into_slots or free == view.batch_size) or not self._guard_lets(view):
            return NOTHING
        if self.max_wait is not None:
            return self._aged(view, free, self.max_wait)
        waiting, ids = view.waiting, view.ranking.ids
        admit: list[int] = []
        rank = waiting.first_at_or_after(0)
        while rank >= 0 and free > 0:
            admit.append(ids[rank])
            free -= 1
            rank = waiting.first_at_or_after(rank + 1) if free else -1
        return Decision(admit=admit) if admit else NOTHING

    def _aged(self, view: InsideView, free: int, max_wait: float) -> Decision:
        """As `decide`, those that have waited too long first."""
        ids = view.ranking.ids
        late = dict.fromkeys(islice(overdue(view, max_wait), free))
        others = (ids[rank] for rank in view.waiting if ids[rank] not in late)
        return Decision(admit=[*late, *islice(others, free - len(late))])

    def _guard_lets(self, view: InsideView) -> bool:
        return not self.rule.guard or view.max_progress <= (view.alpha or 0)
