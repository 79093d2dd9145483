"""How often the intervals of fairq.output cover the exact waits of queues.

    python -m benchmarks.coverage [--customers N] [--repeats R] [--batches K] [--warmup none|mser]

Queues start empty; each run is cut into batches, after its warm-up where --warmup asks for that.
A refused interval counts neither as covering nor as missing; its share stands beside.
"""

from __future__ import annotations

import argparse
import heapq
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairq.errors import InputError
from fairq.output import Estimate, batches, mean_of_batches, mser5, no_cut, quantile
from fairq.theory.queues import MDC, MMC, mdc, mmc
from fairq.validation import whole_number

__all__ = ["QUEUES", "Coverage", "coverage", "main", "multi_server_waits", "single_server_waits", "wilson"]

LOAD = 0.9
QUEUES: Mapping[str, MMC | MDC] = {
    "M/M/1": mmc(LOAD, 1),
    "M/M/8": mmc(8 * LOAD, 8),
    "M/D/8": mdc(8 * LOAD, 8),
}
LEVELS = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
Z99 = 2.5758293035489004  # standard normal quantile 0.995


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """What came of one interval over many runs.

    Attributes:
        hits, given: intervals that cover, and that were given at all.
        repeats: number of runs.
        half_width: median of those given, as a share of the truth.
    """

    hits: int
    given: int
    repeats: int
    half_width: float


def single_server_waits(gaps: NDArray[np.float64], service: NDArray[np.float64]) -> NDArray[np.float64]:
    """Lindley's recursion W' = max(0, W + S − gap), from an empty start.

    `gaps` precede each customer; the first one is of no consequence.

    >>> single_server_waits(np.array([1.0, 1.0, 5.0]), np.array([3.0, 1.0, 1.0]))
    array([0., 2., 0.])
    """
    walk = np.concatenate([[0.0], np.cumsum(service[:-1] - gaps[1:])])
    waits: NDArray[np.float64] = walk - np.minimum.accumulate(walk)
    return waits


def multi_server_waits(
    gaps: NDArray[np.float64], service: NDArray[np.float64], servers: int
) -> NDArray[np.float64]:
    """Kiefer and Wolfowitz's recursion: each customer takes the server that is free first.

    >>> multi_server_waits(np.array([1.0, 0.5, 0.5]), np.array([3.0, 4.0, 1.0]), 2)
    array([0., 0., 2.])
    """
    free, waits = [0.0] * servers, []
    for arrival, work in zip(np.cumsum(gaps).tolist(), service.tolist(), strict=True):
        start = max(arrival, free[0])
        waits.append(start - arrival)
        heapq.heapreplace(free, start + work)
    return np.array(waits)


def wilson(hits: int, trials: int, z: float = Z99) -> tuple[float, float]:
    """Wilson's interval of a share, at 99 % by default.

    >>> [round(end, 4) for end in wilson(0, 10, z=1.0)]
    [0.0, 0.0909]
    """
    if not trials:
        return 0.0, 1.0
    share = hits / trials
    middle, shrink = share + z * z / (2 * trials), 1 + z * z / trials
    reach = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials**2))
    return max(0.0, (middle - reach) / shrink), min(1.0, (middle + reach) / shrink)


def coverage(
    name: str, customers: int, repeats: int, count: int = 10, warmup: str = "none"
) -> dict[str, Coverage]:
    """Of each interval, over `repeats` runs of the queue `name`; run k has the seed k."""
    queue = QUEUES[name]
    truth = {"mean": queue.wait_mean, **{key: queue.wait_quantile(p) for key, p in LEVELS.items()}}
    found: dict[str, list[Estimate | None]] = {key: [] for key in truth}
    for waits in _runs(queue, customers, repeats):
        warm_up = mser5(waits) if warmup == "mser" else no_cut()
        for key, estimator in _estimators(count).items():
            found[key].append(None if warm_up.refused else estimator(waits[warm_up.index :]))
    return {key: _counted(found[key], truth[key]) for key in truth}


def _runs(queue: MMC | MDC, customers: int, repeats: int) -> Iterator[NDArray[np.float64]]:
    for seed in range(repeats):
        rng = np.random.default_rng(seed)
        gaps = rng.exponential(1 / queue.arrival_rate, customers)
        service = rng.exponential(size=customers) if isinstance(queue, MMC) else np.ones(customers)
        one = queue.servers == 1
        yield single_server_waits(gaps, service) if one else multi_server_waits(gaps, service, queue.servers)


def _estimators(count: int) -> dict[str, Callable[[NDArray[np.float64]], Estimate]]:
    def at(level: float) -> Callable[[NDArray[np.float64]], Estimate]:
        return lambda run: quantile(batches(run, count), level)

    return {"mean": lambda run: mean_of_batches(run, count), **{key: at(p) for key, p in LEVELS.items()}}


def _counted(found: list[Estimate | None], truth: float) -> Coverage:
    given = [estimate for estimate in found if estimate is not None and estimate.refused is None]
    return Coverage(
        hits=sum(estimate.covers(truth) for estimate in given),
        given=len(given),
        repeats=len(found),
        half_width=float(np.median([e.half_width for e in given])) / truth if given else math.nan,
    )


def main(argv: list[str] | None = None) -> int:
    """Print the table; 2 where an argument is not allowed."""
    parser = argparse.ArgumentParser(prog="benchmarks.coverage", allow_abbrev=False)
    parser.add_argument("--customers", type=int, default=100_000, help="of a run (100000)")
    parser.add_argument("--repeats", type=int, default=400, help="runs of each queue (400)")
    parser.add_argument("--batches", type=int, default=10, help="of a run (10)")
    parser.add_argument("--warmup", choices=["none", "mser"], default="none", help="left out (none)")
    options = parser.parse_args(argv)
    try:
        whole_number("--customers", options.customers, at_least=1000)
        whole_number("--repeats", options.repeats, at_least=1)
        whole_number("--batches", options.batches, at_least=2, at_most=100)
    except InputError as error:
        sys.stderr.write(f"benchmarks.coverage: error: {error}\n")
        return 2
    print(f"{options.repeats} runs of {options.customers:,} customers at load {LOAD}, nominal 95 %")
    print("\n| queue | of | covers | 99 % Wilson | refused | median half-width |\n|---|---|---|---|---|---|")
    for name in QUEUES:
        rows = coverage(name, options.customers, options.repeats, options.batches, options.warmup)
        for key, row in rows.items():
            print(_row(name, key, row), flush=True)
    return 0


def _row(name: str, key: str, row: Coverage) -> str:
    low, high = wilson(row.hits, row.given)
    share = f"{row.hits / row.given:.3f}" if row.given else "none"
    refused = 1 - row.given / row.repeats
    return f"| {name} | {key} | {share} | {low:.3f} to {high:.3f} | {refused:.1%} | {row.half_width:.1%} |"


if __name__ == "__main__":
    sys.exit(main())
