"""`window`: wait until a batch has gathered or the first has waited long enough, then ask another."""

from __future__ import annotations

from fairq.decision import NOTHING, Decision, InsideAgent, InsideView
from fairq.oldest import first_arrived

__all__ = ["WindowAgent"]


class WindowAgent:
    """The agent of one worker: a base policy that is not asked before a batch has gathered.

    It waits only while the batch is empty and the base holds nothing in reserve; in every other case,
    and once `min_batch` requests are queued or `window` has passed since the later of the first arrival
    still queued and the worker's going idle, the base answers.

    Parameters:
        base: the agent that answers.
        window: longest wait, in the clock's unit of time.
        min_batch: requests that end the wait; None is B.
    """

    needs_requests = True
    sees_ranks = True

    def __init__(self, base: InsideAgent, window: float, min_batch: int | None = None) -> None:
        self.base = base
        self.order = base.order
        self.guarded = base.guarded
        self._window = window
        self._min_batch = min_batch

    def heeds(self, view: InsideView) -> bool:
        """As the base, for a batch runs."""
        return self.base.heeds(view)

    def decide(self, view: InsideView) -> Decision:
        """Wait, or answer as the base does."""
        if view.free < view.batch_size or view.holds_reserve():
            return self.base.decide(view)
        queued = len(view.waiting)
        if not queued:
            return NOTHING
        if queued < (self._min_batch or view.batch_size):
            due = max(first_arrived(view), view.idle_since) + self._window
            if view.now < due:
                return Decision(wake=due)
        return self.base.decide(view)
