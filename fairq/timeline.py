"""SimPy's clock with two things added: absolute times, and the end of an instant.

SimPy takes delays, and ``now + (t - now)`` is not always ``t``: here an `Alarm` is put on
the calendar at the very time it is meant for.  And since several boundaries and arrivals may
share an instant, whoever runs the calendar is told when nothing more happens at it.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from math import inf

from simpy import Environment
from simpy.events import NORMAL, Event

__all__ = ["Alarm", "Calendar"]


class Alarm(Event):
    """An event that a process waits for again and again; it can be moved while it is pending.

    >>> calendar = Calendar()
    >>> alarm = Alarm(calendar)
    >>> rung = []
    >>> def sleeper():
    ...     while True:
    ...         yield alarm
    ...         rung.append(calendar.now)
    >>> process = calendar.process(sleeper())
    >>> alarm.set(5.0); alarm.set(0.3)
    >>> calendar.run_instants(lambda: None)
    >>> rung
    [0.3]
    """

    __slots__ = ("ticket", "time")

    env: Calendar

    def __init__(self, env: Calendar) -> None:
        super().__init__(env)
        self._ok = True
        self._value = None
        self.time = inf
        self.ticket = -1

    def set(self, time: float) -> None:
        """Ring at `time` (absolute; infinity: not at all) instead of whenever it was set to."""
        if time != self.time:
            self.time = time
            self.ticket = self.env.enter(self, time) if time < inf else -1

    def ring(self) -> None:
        """Resume who waits.  The callbacks are replaced first, so that the alarm can be waited for anew."""
        self.time = inf
        self.ticket = -1
        callbacks, self.callbacks = self.callbacks, []
        for callback in callbacks:
            callback(self)


class Calendar(Environment):
    """A SimPy environment that rings alarms at absolute times and closes each instant.

    Attributes:
        end: nothing later than this time happens.
        instant: as `now`, without the price of a property: it is asked for several times at every event.
    """

    def __init__(self) -> None:
        super().__init__()
        self.end = inf
        self.instant = self._now

    def start_processes(self) -> None:
        """Let every process come to its first wait."""
        while self._queue and self._queue[0][0] <= self._now and not isinstance(self._queue[0][3], Alarm):
            super().step()

    def enter(self, alarm: Alarm, time: float) -> int:
        """Put `alarm` on the calendar at `time`; the number returned tells this entry from older ones."""
        ticket = next(self._eid)
        heappush(self._queue, (time, NORMAL, ticket, alarm))
        return ticket

    def next_time(self) -> float:
        """When the next event that still counts happens; entries that were moved away are dropped."""
        queue = self._queue
        while queue:
            time, _, ticket, event = queue[0]
            if isinstance(event, Alarm) and ticket != event.ticket:
                heappop(queue)
            else:
                return time
        return inf

    def run_instants(self, close: Callable[[], None]) -> None:
        """Process every event up to and including `end`; call `close` at the end of each instant.

        An alarm that has been moved since is passed over.
        """
        queue = self._queue
        while (time := self.next_time()) <= self.end and time < inf:
            self._now = self.instant = time
            while queue and queue[0][0] == time:
                _, _, ticket, event = queue[0]
                if isinstance(event, Alarm):
                    heappop(queue)
                    if ticket == event.ticket:
                        event.ring()
                else:
                    super().step()
            close()
