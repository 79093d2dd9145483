"""An agent: a policy at work on one worker.  It is asked, its answer is checked and carried out."""

from __future__ import annotations

import operator
from collections.abc import Callable, Generator, Iterable
from itertools import islice
from math import inf
from numbers import Integral, Real
from typing import Any

from fairq.decision import Decision, InsideView, Policy, View
from fairq.errors import PolicyError
from fairq.loading import raised
from fairq.timeline import Alarm
from fairq.worker import Worker

__all__ = ["Agent"]


class Agent:
    """One worker's policy, its wakes, and the rules that its answers must keep.

    Parameters:
        name: what the policy is called in errors.
        policy: who decides.
        worker: whose batch it fills.
    """

    def __init__(self, name: str, policy: Policy, worker: Worker) -> None:
        self.name = name
        self.policy = policy
        self.worker = worker
        self.alarm = Alarm(worker.calendar)
        self._inside: bool = getattr(policy, "sees_ranks", False)  # then its answers need fewer checks
        self._view = InsideView(worker) if self._inside else View(worker)
        self._wake: float | None = None
        self._wake_step: int | None = None
        heeds = getattr(policy, "heeds", None)
        self._heeds: Callable[[View], bool] | None = heeds if callable(heeds) else None
        self._may_answer: Callable[[View], bool] | None = (
            getattr(policy, "may_answer", None) if self._inside else None
        )
        self._needs_requests: bool = getattr(policy, "needs_requests", False)
        self._summoned = inf  # the boundary at which it is asked since a request kept for it has left

    def run(self, woken: Callable[[Agent], None]) -> Generator[Any, Any, None]:
        """The agent's process: ring at the wakes that the policy asked for."""
        while True:
            yield self.alarm
            woken(self)

    def heeds(self) -> bool:
        """Whether the policy may answer something when a request reaches the queue of its running worker."""
        if self._heeds is None or self._inside:
            return self._heeds is None or self._heeds(self._view)
        return bool(self._own_code("heeds", self._heeds))

    def answers(self) -> bool:
        """Whether the policy may answer something at a completion."""
        worker = self.worker
        if self._needs_requests and not worker.reserved and not worker.queue:
            return False
        return self._may_answer is None or self._may_answer(self._view)

    def summon(self, now: float) -> bool:
        """A request kept for this worker has left: be asked at its next boundary; whether that is now."""
        worker = self.worker
        boundary = worker.boundary_from(now) if worker.running else now
        if boundary > now:
            self._summoned = boundary
        return boundary == now

    def ask(self) -> bool:
        """Ask the policy and carry out its answer; whether it gave requests back to the queue.

        Raises:
            PolicyError: the answer breaks capacity, release, reservation or uniqueness, or is no answer.
        """
        worker = self.worker
        decision = self._decide()
        worker.completed.clear()
        worker.abandoned.clear()
        self._summoned = inf
        if not self._inside:
            decision = self._checked(decision)
        for request in decision.release:
            self._release(request)
        for request in decision.reserve:
            self._reserve(request)
        for request in decision.admit:
            self._admit(request)
        self._wake = decision.wake
        steps = decision.wake_steps
        self._wake_step = None if steps is None else worker.steps + steps
        return any(request in worker.queue for request in decision.release)

    def _checked(self, decision: Any) -> Decision:
        """`decision`, if it is one: ids as whole numbers, wakes later than now."""
        if not isinstance(decision, Decision):
            raise self._error("answer", f"{decision!r} is no fairq.Decision")
        release = self._ids("release", decision.release)
        reserve = self._ids("reserve", decision.reserve)
        admit = self._ids("admit", decision.admit)
        if len(set(admit)) < len(admit):
            raise self._error("uniqueness", f"admit names a request twice: {list(admit)!r}")
        wake, steps = decision.wake, decision.wake_steps
        if wake is not None and not (_is_a(Real, wake) and wake > self.worker.calendar.instant):
            raise self._error("wake", f"wake is {wake!r}: it must be a time later than now")
        if steps is not None and not (_is_a(Integral, steps) and not _is_a(bool, steps) and steps >= 1):
            raise self._error("wake", f"wake_steps is {steps!r}: it must be a whole number >= 1")
        return Decision(
            admit,
            reserve,
            release,
            wake=None if wake is None else _as_time(wake),
            wake_steps=None if steps is None else int(steps),
        )

    def _decide(self) -> Decision:
        if self._inside:
            return self.policy.decide(self._view)
        decision: Decision = self._own_code("decide", self.policy.decide)  # or what not: `_checked` sees
        return decision

    def _own_code(self, name: str, method: Callable[[View], Any]) -> Any:
        """What a stranger's method answers; what it raises is the policy's error, with its line."""
        try:
            return method(self._view)
        except (Exception, SystemExit) as error:
            raise self._error("error", f"{name} raised {raised(error)}") from error

    def set_alarms(self) -> None:
        """Ring the worker at its next completion, and the agent at the boundary of its next wake."""
        worker = self.worker
        worker.set_alarm()
        self.alarm.set(self._next_wake())

    def silence(self) -> None:
        """Ring no more: everything has been served."""
        self.alarm.set(inf)

    def _next_wake(self) -> float:
        """The boundary of the next wake; a wake beyond the next completion is looked at again there."""
        worker = self.worker
        if not worker.running:
            return inf if self._wake is None else self._wake
        ring = self._summoned
        if self._wake_step is not None and self._wake_step < worker.next_finish:
            ring = min(ring, worker.boundary_of(self._wake_step))
        if self._wake is not None and self._wake < worker.alarm.time:
            ring = min(ring, worker.boundary_from(self._wake))
        return ring

    def _ids(self, part: str, requests: Iterable[int]) -> list[int]:
        count = len(self.worker.tokens)
        try:
            given = list(islice(requests, count + 1))
            ids = [operator.index(request) for request in given]
        except TypeError:
            raise self._error("answer", f"{part} is {requests!r}: it must be a list of request ids") from None
        if len(ids) > count:
            raise self._error("answer", f"{part} names more than all {count} requests")
        for request, as_given in zip(ids, given, strict=True):
            if isinstance(as_given, bool):
                raise self._error("answer", f"{part} names {as_given!r}: it must be a list of request ids")
            if not 0 <= request < count:
                raise self._error("release", f"{part} names request {request}, which is not in the view")
        return ids

    def _release(self, request: int) -> None:
        if request not in self.worker.reserved:
            raise self._error(
                "reservation", f"request {request} is given back but not reserved for this worker"
            )
        del self.worker.reserved[request]
        self.worker.queue.add(request)

    def _reserve(self, request: int) -> None:
        if not self.worker.queue.take(request):
            raise self._error(*self._why_not(request, "reserved"))
        self.worker.reserved[request] = None

    def _admit(self, request: int) -> None:
        worker = self.worker
        if request in worker.reserved:
            del worker.reserved[request]
        elif not worker.queue.take(request):
            raise self._error(*self._why_not(request, "admitted"))
        if len(worker.running) >= worker.batch_size:
            raise self._error("capacity", f"request {request} is admitted to a batch of {worker.batch_size}")
        worker.admit(request, worker.calendar.instant)

    def _why_not(self, request: int, act: str) -> tuple[str, str]:
        """The rule that an answer naming `request` breaks: it is neither queued nor reserved here."""
        worker = self.worker
        if worker.arrival[request] > worker.calendar.instant:
            return "release", f"request {request} is {act} before its arrival"
        if worker.ledger.worker[request] >= 0:
            return "uniqueness", f"request {request} is {act}, but it has started already"
        if request in worker.reserved:
            return "uniqueness", f"request {request} is {act} twice"
        if request in worker.ledger.lost:
            return "reservation", f"request {request} is {act}, but it has left unserved"
        return "reservation", f"request {request} is {act}, but it is kept for another worker"

    def _error(self, rule: str, detail: str) -> PolicyError:
        return PolicyError(self.name, self.worker.index, self.worker.calendar.instant, rule, detail)


def _is_a(kind: type, value: object) -> bool:
    """Whether a policy's answer is the number it should be: types are the author's word only."""
    return isinstance(value, kind)


def _as_time(wake: float) -> float:
    """A wake as a float; a whole number beyond what a float holds is never."""
    try:
        return float(wake)
    except OverflowError:
        return inf
