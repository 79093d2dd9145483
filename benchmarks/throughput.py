"""Requests per second as a ratio to a bare SimPy loop of two timeouts a request.

    python -m benchmarks.throughput [--requests 20000] [--rounds 5]

Every contestant runs once a round, in turn, so that a machine that slows down slows all of them; a
ratio is taken within a round, and the table shows the median over rounds with the least and the most.
Requests table and summary are part of what is timed.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable
from statistics import median

import simpy

import fairq
from benchmarks.workloads import poisson

__all__ = ["main"]

POOL = {"workers": 8, "batch_size": 32}


def floor(requests: int) -> None:
    """The least that SimPy can do for a request: one process, two timeouts."""

    def process(env: simpy.Environment) -> simpy.events.ProcessGenerator:
        for _ in range(requests):
            yield env.timeout(1.0)
            yield env.timeout(0.5)

    env = simpy.Environment()
    env.process(process(env))
    env.run()


def contestants(requests: int) -> dict[str, Callable[[], object]]:
    """What is timed, by name; the first is the floor."""
    workload = poisson(requests, load=0.5, **POOL)
    cost_clock = fairq.StepTime(c=0.02, tau=1e-7)
    slow = fairq.Workload.from_arrays(tokens=workload.tokens, arrival=workload.arrival * cost_clock.c)
    return {
        "SimPy, two timeouts a request": lambda: floor(requests),
        "fcfs, token clock": lambda: fairq.simulate(workload, "fcfs", **POOL),
        "isjl 100, token clock": lambda: fairq.simulate(workload, "isjl", alpha=100, **POOL),
        "fcfs, cost clock": lambda: fairq.simulate(slow, "fcfs", clock=cost_clock, **POOL),
        "isjl 100, cost clock": lambda: fairq.simulate(slow, "isjl", alpha=100, clock=cost_clock, **POOL),
    }


def measure(runs: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Seconds of each contestant in each round, one round after another."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            began = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - began)
    return seconds


def main(argv: list[str] | None = None) -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(argv)
    runs = contestants(options.requests)
    seconds = measure(runs, options.rounds)
    base = next(iter(seconds.values()))
    print(f"Python {platform.python_version()}, {platform.machine()}; 8 workers, B = 32, load 0.5,")
    print(f"{options.requests} requests, {options.rounds} rounds; requests table and summary included\n")
    print(f"{'':32}{'requests/s':>12}{'ratio to the floor: median':>28}{'least':>8}{'most':>8}")
    for name, times in seconds.items():
        ratios = [floor_time / own for floor_time, own in zip(base, times, strict=True)]
        rate = options.requests / median(times)
        print(f"{name:32}{rate:12,.0f}{median(ratios):28.3f}{min(ratios):8.3f}{max(ratios):8.3f}")


if __name__ == "__main__":
    main()
