"""A worker: at most B requests in lockstep, a token each per step, and the SimPy process that runs them.

Between two events the batch does not change, so n steps are one event.  With k the worker's step
count and k_i the count at which request i was admitted, its progress is k − k_i and it finishes at
count k_i + o_i.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Sequence
from heapq import heappop, heappush
from math import inf, nan
from typing import Any

from fairq.cost import StepTime, max_feature
from fairq.schedule import Ledger
from fairq.timeline import Alarm, Calendar
from fairq.waiting import Queue

__all__ = ["Worker"]


class Worker:
    """One worker of the pool: its batch, its step count and its clock.

    Boundary times are ``base + law.of(N, K1, K2)``: base is when the worker last began to run after
    an idle gap, and N, K1, K2 are counted since, in whole numbers; never a running sum of floats.

    Attributes:
        steps: steps run since the beginning of the run.
        running: request id -> the step count at which it was admitted, in order of admission.
        reserved: ids kept for this worker (the values mean nothing; a dict keeps their order).
        base: when it last began to run after an idle gap.
    """

    __slots__ = (
        "_finishes", "_k1", "_k2", "_left_at", "_n", "_starts", "abandoned", "alarm", "alpha",
        "arrival", "base", "batch_size", "calendar", "completed", "index", "law", "ledger", "queue",
        "reserved", "running", "steps", "tokens",
    )  # fmt: skip

    def __init__(
        self,
        calendar: Calendar,
        index: int,
        *,
        batch_size: int,
        law: StepTime,
        alpha: int | None,
        queue: Queue,
        ledger: Ledger,
    ) -> None:
        self.calendar = calendar
        self.index = index
        self.batch_size = batch_size
        self.law = law
        self.alpha = alpha
        self.queue = queue
        self.ledger = ledger
        self.tokens = ledger.tokens
        self.arrival = ledger.arrival
        self.steps = 0
        self.running: dict[int, int] = {}
        self.reserved: dict[int, None] = {}
        self.completed: list[int] = []  # since the policy was last asked
        self.abandoned: list[int] = []  # from its reserve, since the policy was last asked
        self.alarm = Alarm(calendar)
        self._finishes: list[tuple[int, int]] = []  # heap of (step count at completion, request)
        self._starts: deque[tuple[int, int]] = deque()  # (step count at admission, request), some completed
        self.base = nan
        self._left_at = nan  # the boundary at which the batch last became empty
        self._n = self._k1 = self._k2 = 0

    def run(self, closed: Callable[[Worker, list[int]], None]) -> Generator[Any, Any, None]:
        """The worker's process: at each completion, close the boundary and say who is done."""
        while True:
            yield self.alarm
            done = self.complete()
            self.completed += done
            closed(self, done)

    def serve(self, closed: list[int]) -> Generator[Any, Any, None]:
        """As `run`, for who only wants to know that this worker has `closed` a boundary."""
        while True:
            yield self.alarm
            self.complete()
            closed.append(self.index)

    def admit(self, request: int, now: float) -> None:
        """Let `request` join the batch at the boundary `now`, at which the worker stands."""
        steps, running = self.steps, self.running
        if not running and now != self._left_at:  # after an idle gap the clock begins anew
            self.base = now
            self._n = self._k1 = self._k2 = 0
        running[request] = steps
        self._starts.append((steps, request))
        heappush(self._finishes, (steps + self.tokens[request], request))
        ledger = self.ledger
        ledger.entered += 1
        ledger.worker[request] = self.index
        ledger.start_step[request] = steps
        ledger.start[request] = now

    def join(self, count: int, queue: list[int], ids: Sequence[int], now: float) -> None:
        """Let `count` requests join the batch at the boundary `now`, come up to it first, and run on.

        Parameters:
            queue: a heap of ranks, from which they are taken.
            ids: request id by rank.
        """
        self.catch_up(now)
        for _ in range(count):
            self.admit(ids[heappop(queue)], now)
        self.set_alarm()

    def abandon(self, request: int) -> None:
        """`request`, kept for this worker, has waited for as long as it will."""
        del self.reserved[request]
        self.abandoned.append(request)

    def max_progress(self) -> int:
        """The largest progress in the batch in tokens; 0 for an empty batch."""
        return self.steps - self._oldest() if self.running else 0

    def progress_sum(self) -> int:
        """The progress of the batch in tokens, summed, at the last boundary counted."""
        return len(self.running) * self.steps - sum(self.running.values())

    def counts(self) -> tuple[int, int, int]:
        """N, K1 and K2 since `base`; the latter two stay 0 in a `ConstantWorker`."""
        return self._n, self._k1, self._k2

    def catch_up(self, now: float) -> None:
        """Bring the step count up to `now`, a boundary of this worker (or a time at which it idles)."""
        if self.running:
            self._advance(self._steps_by(now))

    def boundary_from(self, time: float) -> float:
        """This running worker's first boundary at or after `time`, or the last one counted if later."""
        whole = self._steps_by(time)
        reached = self._time_after(whole)
        return reached if reached >= time else self._time_after(whole + 1)

    @property
    def idle_since(self) -> float:
        """When the batch last became empty; −infinity where the worker has run nothing yet."""
        return self._left_at if self._left_at == self._left_at else -inf

    @property
    def next_finish(self) -> int:
        """The step count at which the running batch next has a completion."""
        return self._finishes[0][0]

    def boundary_of(self, step: int) -> float:
        """The time at which this worker's step count becomes `step`, the batch unchanged."""
        return self._time_after(step - self.steps)

    def set_alarm(self) -> None:
        """Ring at the next completion."""
        self.alarm.set(self._time_after(self._to_completion()) if self.running else inf)

    def stop(self, until: float) -> None:
        """Count the whole steps that ended by `until` and write down how far each request came."""
        self.catch_up(until)
        for request, start in self.running.items():
            self.ledger.interrupt(request, self.steps - start)

    def complete(self) -> list[int]:
        """Who is done at this boundary."""
        self._advance(self._finishes[0][0] - self.steps)
        now, steps, ledger = self.calendar.instant, self.steps, self.ledger
        finishes, running, done = self._finishes, self.running, []
        while finishes and finishes[0][0] == steps:
            request = heappop(finishes)[1]
            del running[request]
            ledger.finish[request] = now
            done.append(request)
        ledger.left += len(done)
        if not running:
            self._starts.clear()
            self._left_at = now
        return done

    def _to_completion(self) -> int:
        return self._finishes[0][0] - self.steps

    def _oldest(self) -> int:
        """Least step count at admission in the (nonempty) batch."""
        starts, running = self._starts, self.running
        while starts[0][1] not in running:
            starts.popleft()
        return starts[0][0]

    def _advance(self, steps: int) -> None:
        if steps == 0:
            return
        batch = len(self.running)
        self._k1 += steps * batch
        self._k2 += max_feature(steps, batch, self.steps - self._oldest() + 1)
        self._n += steps
        self.steps += steps

    def _time_after(self, steps: int) -> float:
        """The boundary `steps` from the last one counted, the batch unchanged."""
        batch = len(self.running)
        k2 = self._k2 + max_feature(steps, batch, self.steps - self._oldest() + 1)
        elapsed: float = self.law.of(self._n + steps, self._k1 + steps * batch, k2)
        return self.base + elapsed

    def _steps_by(self, time: float) -> int:
        """Whole steps finished by `time`, at most up to the next completion.

        The law's guess, checked against both neighbours: only the boundary times decide.
        """
        limit = self._to_completion()
        largest = self.steps - self._oldest() + 1
        guess = self.law.steps_within(time - self._time_after(0), len(self.running), largest)
        whole = min(guess, limit)
        while whole > 0 and self._time_after(whole) > time:
            whole -= 1
        while whole < limit and self._time_after(whole + 1) <= time:
            whole += 1
        return whole
