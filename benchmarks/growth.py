"""How time per request and memory grow with the number of requests and of workers, under arrivals.

    python -m benchmarks.growth [--rounds 3] [--requests 100000]

Prints, under fcfs at a load of 0.9 and isjl (alpha 100) at 0.5: time per request on 1,000 workers as
a ratio to 8, on the token and on a cost clock, interleaved; time for ten times as many requests as a
ratio; and the peak memory of a process that does nothing but the larger run.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from statistics import median

import fairq
from benchmarks.throughput import measure
from benchmarks.workloads import poisson

__all__ = ["main"]

POLICIES = {"fcfs": (0.9, {}), "isjl": (0.5, {"alpha": 100.0})}  # loads about 0.9 of what each can carry
COST_CLOCK = fairq.StepTime(c=0.02, tau=1e-7)
PEAK = (
    "import resource; from benchmarks.growth import served; served({policy!r}, {requests}, 8); "
    "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
)


def served(policy: str, requests: int, workers: int, clock: str | fairq.StepTime = "token") -> fairq.Result:
    """One run, requests table and summary included; on the cost clock time is that of its empty steps."""
    load, settings = POLICIES[policy]
    workload = poisson(requests, load=load, workers=workers, batch_size=32)
    if isinstance(clock, fairq.StepTime):
        workload = fairq.Workload.from_arrays(
            tokens=workload.tokens, arrival=workload.arrival * clock.c * 1.2
        )
    return fairq.simulate(workload, policy, workers=workers, batch_size=32, clock=clock, **settings)


def workers_ratio(policy: str, requests: int, rounds: int) -> None:
    """Time per request on 1,000 workers to that on 8."""
    for name, clock in {"token clock": "token", "cost clock": COST_CLOCK}.items():
        runs = {
            str(workers): lambda workers=workers, clock=clock: served(policy, requests, workers, clock)
            for workers in (8, 1000)
        }
        seconds = measure(runs, rounds)
        ratios = [large / small for small, large in zip(seconds["8"], seconds["1000"], strict=True)]
        print(f"{policy}, {name}: 1,000 workers to 8, time per request: {_spread(ratios)}")


def requests_ratio(policy: str, requests: int, rounds: int) -> None:
    """Time for ten times as many requests, and the memory of a process that serves them."""
    runs = {count: lambda count=count: served(policy, count, 8) for count in (requests, 10 * requests)}
    seconds = measure({str(count): run for count, run in runs.items()}, rounds)
    pairs = zip(seconds[str(requests)], seconds[str(10 * requests)], strict=True)
    print(f"{policy}: {10 * requests:,} requests to {requests:,}, time: {_spread([b / a for a, b in pairs])}")
    command = [sys.executable, "-c", PEAK.format(policy=policy, requests=10 * requests)]
    peak = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 - our own
    print(f"{policy}: peak memory of {10 * requests:,} requests: {float(peak.stdout):.0f} MB")


def _spread(ratios: list[float]) -> str:
    return f"median {median(ratios):.2f}, least {min(ratios):.2f}, most {max(ratios):.2f}"


def main(argv: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--requests", type=int, default=100_000)
    options = parser.parse_args(argv)
    for policy in POLICIES:
        workers_ratio(policy, options.requests // 2, options.rounds)
        requests_ratio(policy, options.requests, options.rounds)


if __name__ == "__main__":
    main()
