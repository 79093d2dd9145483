"""What fairq is held against: SimPy's own floor, a textbook program, Ciw, a bare heap, the oracle.

The queues serve first come first served with the arrivals and service times they are given, keep
every wait, and summarise them as a user would: the same work, end to end.
"""

from __future__ import annotations

import heapq
import sys
from collections import deque
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import simpy
from numpy.typing import NDArray

import fairq

__all__ = ["ciw_network", "floor", "heap_loop", "missing", "oracle", "summary", "textbook"]

TESTS = Path(__file__).resolve().parent.parent / "tests"
Floats = NDArray[np.float64]


def missing(name: str) -> str | None:
    """Why a contestant cannot take part, or None: ``"ciw"`` or ``"oracle"``."""
    if name == "ciw" and find_spec("ciw") is None:
        return "Ciw is not installed: pip install 'fairq[bench]'"
    if name == "oracle" and not (TESTS / "oracle.py").exists():
        return "the folder tests, where it lives, is not beside the benchmarks"
    return None


def floor(requests: int) -> None:
    """The least that SimPy can do for a request: one process, two timeouts."""

    def process(env: simpy.Environment) -> simpy.events.ProcessGenerator:
        for _ in range(requests):
            yield env.timeout(1.0)
            yield env.timeout(0.5)

    env = simpy.Environment()
    env.process(process(env))
    env.run()


def summary(waits: Sequence[float]) -> Floats:
    """Mean, median, 95th and 99th percentile.

    >>> summary([0.0, 1.0, 2.0])[:2].tolist()
    [1.0, 1.0]
    """
    values = np.asarray(waits, dtype=np.float64)
    return np.concatenate(([values.mean()], np.quantile(values, (0.5, 0.95, 0.99))))


def textbook(arrival: Sequence[float], service: Sequence[float], servers: int) -> list[float]:
    """The program of SimPy's own introduction: a process for each request, and a `Resource`."""
    waits: list[float] = []

    def request(env: simpy.Environment, desk: simpy.Resource, time: float) -> simpy.events.ProcessGenerator:
        arrived = env.now
        with desk.request() as turn:
            yield turn
            waits.append(env.now - arrived)
            yield env.timeout(time)

    def source(env: simpy.Environment, desk: simpy.Resource) -> simpy.events.ProcessGenerator:
        for at, time in zip(arrival, service, strict=True):
            yield env.timeout(at - env.now)
            env.process(request(env, desk, time))

    env = simpy.Environment()
    env.process(source(env, simpy.Resource(env, capacity=servers)))
    env.run()
    summary(waits)
    return waits


def heap_loop(arrival: Sequence[float], service: Sequence[float], servers: int) -> list[float]:
    """A calendar of arrivals and departures in a heap, and a queue: no library at all."""
    waits: list[float] = []
    queue: deque[int] = deque()
    calendar: list[tuple[float, bool, int]] = [(arrival[0], False, 0)]
    free, last = servers, len(arrival) - 1
    while calendar:
        now, departs, i = heapq.heappop(calendar)
        if departs:
            free += 1
        else:
            queue.append(i)
            if i < last:
                heapq.heappush(calendar, (arrival[i + 1], False, i + 1))
        if free and queue:
            free -= 1
            first = queue.popleft()
            waits.append(now - arrival[first])
            heapq.heappush(calendar, (now + service[first], True, first))
    summary(waits)
    return waits


def ciw_network(arrival: Sequence[float], service: Sequence[float], servers: int) -> list[float]:
    """The same queue in Ciw; its records of every visit are read."""
    import ciw

    gaps = [float(gap) for gap in np.diff(arrival, prepend=0.0)]
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Sequential([*gaps, float("inf")])],
        service_distributions=[ciw.dists.Sequential(list(service))],
        number_of_servers=[servers],
    )
    simulation = ciw.Simulation(network)
    simulation.simulate_until_max_customers(len(arrival), method="Finish")
    records = sorted(simulation.get_all_records(), key=lambda record: record.arrival_date)
    waits = [record.waiting_time for record in records]
    summary(waits)
    return waits


def oracle(workload: fairq.Workload, policy: str, **pool: Any) -> Any:
    """The step-by-step simulator of the tests, which knows no stretches; `pool` are its keywords."""
    if str(TESTS) not in sys.path:
        sys.path.append(str(TESTS))
    from oracle import run

    return run(workload.tokens.tolist(), workload.arrival.tolist(), policy, **pool)
