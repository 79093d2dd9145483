"""How time per request and memory grow with a backlog under isjl.

    python -m benchmarks.scaling [--rounds 5]

Time per request of a backlog of 20,000 as a ratio to one of 2,000 (B = 32, alpha = 150, token
clock), interleaved; and the peak memory of a process that does nothing but the larger one.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from statistics import median

import fairq
from benchmarks.throughput import measure
from benchmarks.workloads import backlog

__all__ = ["main"]

SMALL, LARGE = 2_000, 20_000
PEAK = (
    "import resource, fairq; from benchmarks.workloads import backlog; "
    f"fairq.simulate(backlog({LARGE}), 'isjl', alpha=150, batch_size=32); "
    "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
)


def main(argv: list[str] | None = None) -> None:
    """Measure and print both figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args(argv).rounds
    small, large = backlog(SMALL), backlog(LARGE)
    runs = {
        "small": lambda: [fairq.simulate(small, "isjl", alpha=150, batch_size=32) for _ in range(5)],
        "large": lambda: fairq.simulate(large, "isjl", alpha=150, batch_size=32),
    }
    seconds = measure(runs, rounds)
    each = [t / (5 * SMALL) for t in seconds["small"]], [t / LARGE for t in seconds["large"]]
    ratios = [large_time / small_time for small_time, large_time in zip(*each, strict=True)]
    print(f"backlog of {SMALL}: {median(each[0]) * 1e6:.1f} us a request")
    print(f"backlog of {LARGE}: {median(each[1]) * 1e6:.1f} us a request")
    print(f"ratio: median {median(ratios):.2f}, least {min(ratios):.2f}, most {max(ratios):.2f}")
    command = [sys.executable, "-c", PEAK]
    peak = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 - our own
    print(f"peak memory of the larger in a process of its own: {float(peak.stdout):.0f} MB")


if __name__ == "__main__":
    main()
