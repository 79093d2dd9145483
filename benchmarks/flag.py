"""How often the flag ``unstable`` is raised just below and just above what a policy carries.

    python -m benchmarks.flag [--runs 200] [--requests 200000] [--workers 1]

The rates are 0.9 times the lower and 1.1 times the upper end of the interval that
`scenarios/stability/results.csv` keeps for the policy.  The flag is a test at level 1 %, so below some
2 runs in 200 are flagged; the runs are independent, on the token clock, with the paper's LMSYS lengths.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

from fairq.joint import lmsys_like
from fairq.load import offered_load
from fairq.trial import Trial

__all__ = ["main"]

TABLE = Path(__file__).resolve().parent.parent / "scenarios" / "stability" / "results.csv"
POLICIES = {"fcfs": None, "isjl": 100.0}
BATCH_SIZE = 32
SEED = 4242  # not the seed of the search, whose runs must not judge themselves


def interval(policy: str, alpha: float | None, workers: int) -> tuple[float, float]:
    """The loads between which the policy stops keeping up, as the study found them."""
    wanted = ("region", policy, "" if alpha is None else f"{alpha:g}", str(workers))
    with TABLE.open(newline="", encoding="utf-8") as table:
        for row in csv.DictReader(table):
            if (row["part"], row["policy"], row["alpha"], row["workers"]) == wanted:
                return float(row["load_low"]), float(row["load_high"])
    raise SystemExit(f"{TABLE} has no row {','.join(wanted)}")


def flagged(policy: str, alpha: float | None, load: float, options: argparse.Namespace) -> int:
    """Runs in which the flag is raised."""
    settings = {"alpha": alpha, "batch_size": BATCH_SIZE, "workers": options.workers}
    trial = Trial(
        policy, lmsys_like(), options.requests, settings=settings | {"engine": "auto", "seed": SEED}
    )
    unit = offered_load(1.0, lmsys_like(), batch_size=BATCH_SIZE, workers=options.workers)
    return sum(trial.run(load / unit, replication).grows for replication in range(options.runs))


def main(argv: list[str] | None = None) -> None:
    """Count and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--requests", type=int, default=200_000)
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args(argv)
    for policy, alpha in POLICIES.items():
        low, high = interval(policy, alpha, options.workers)
        for side, load in (("below", 0.9 * low), ("above", 1.1 * high)):
            count = flagged(policy, alpha, load, options)
            print(f"{policy} {side}, load {load:.4f}: flagged in {count} of {options.runs} runs", flush=True)


if __name__ == "__main__":
    main()
