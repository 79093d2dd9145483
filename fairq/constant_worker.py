"""A worker whose steps all take the same time, so that its boundaries are ``base + c·N``."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from heapq import heappop, heappush
from typing import Any

from fairq.boundaries import first_step
from fairq.worker import Worker

__all__ = ["ConstantWorker", "make_worker"]


class ConstantWorker(Worker):
    """A `Worker` whose law is constant: K1 and K2 are not counted, and a step is found by a division.

    Floats may put a division a step off; only the boundary times decide.
    """

    __slots__ = ("_c", "_ringing")

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._c = self.law.c
        self._ringing = -1  # the step count that the alarm is set to: no two batches complete at the same

    def boundary_from(self, time: float) -> float:
        """As `Worker.boundary_from`."""
        return self.base + self._c * max(first_step(self.base, self._c, time), self._n)

    def catch_up(self, now: float) -> None:
        """As `Worker.catch_up`."""
        finishes = self._finishes
        if finishes:
            base, c = self.base, self._c
            whole = int((now - base) / c + 0.5)
            if base + c * whole != now:  # it is no boundary
                whole = self._n + self._steps_by(now)
            ahead = min(whole - self._n, finishes[0][0] - self.steps)
            if ahead > 0:
                self._n += ahead
                self.steps += ahead

    def join(self, count: int, queue: list[int], ids: Sequence[int], now: float) -> None:
        """As `Worker.join`, in one piece: it is the most frequent thing to happen."""
        running, finishes, starts, ledger = self.running, self._finishes, self._starts, self.ledger
        if finishes:
            self.catch_up(now)
        elif now != self._left_at:  # after an idle gap the clock begins anew
            self.base, self._n = now, 0
        steps, tokens = self.steps, self.tokens
        ledger.entered += count
        while count:
            request = ids[heappop(queue)]
            running[request] = steps
            starts.append((steps, request))
            heappush(finishes, (steps + tokens[request], request))
            ledger.worker[request] = self.index
            ledger.start_step[request] = steps
            ledger.start[request] = now
            count -= 1
        if finishes[0][0] != self._ringing:
            self.set_alarm()

    def set_alarm(self) -> None:
        """As `Worker.set_alarm`."""
        finishes = self._finishes
        if finishes and (step := finishes[0][0]) != self._ringing:
            self._ringing = step
            alarm, time = self.alarm, self.base + self._c * (self._n + step - self.steps)
            alarm.time, alarm.ticket = time, self.calendar.enter(alarm, time)

    def serve(self, closed: list[int]) -> Generator[Any, Any, None]:
        """As `Worker.serve`; what it touches at every completion is looked up once."""
        alarm, calendar, ledger, finish = self.alarm, self.calendar, self.ledger, self.ledger.finish
        finishes, running, index = self._finishes, self.running, self.index
        while True:
            yield alarm
            now, steps = calendar.instant, finishes[0][0]
            self._n += steps - self.steps
            self.steps = steps
            while finishes and finishes[0][0] == steps:
                request = heappop(finishes)[1]
                del running[request]
                finish[request] = now
                ledger.left += 1
            if not running:
                self._starts.clear()
                self._left_at = now
            closed.append(index)

    def _advance(self, steps: int) -> None:
        self._n += steps
        self.steps += steps

    def _time_after(self, steps: int) -> float:
        return self.base + self._c * (self._n + steps)

    def _steps_by(self, time: float) -> int:
        whole = first_step(self.base, self._c, time)
        if self._time_after(whole - self._n) > time:
            whole -= 1
        return max(0, min(whole - self._n, self._finishes[0][0] - self.steps))


def make_worker(*arguments: Any, **settings: Any) -> Worker:
    """A `Worker` for its law of step times."""
    kind = ConstantWorker if settings["law"].is_constant else Worker
    return kind(*arguments, **settings)
