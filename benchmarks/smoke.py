"""A handful of ratios against those kept in smoke.json: has anything become much slower?

Quick enough for every change.  A ratio has dropped when its median is below two thirds of the kept one,
twice in a row: on a machine with other work to do, the better of two measurements counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.contest import Contest, Contestant, race
from benchmarks.entrants import ENGINES, Served, entrants, floor_of
from benchmarks.keeping import machine, now, versions
from benchmarks.peers import textbook
from benchmarks.workloads import backlog, poisson, single_slots
from fairq.errors import InputError

__all__ = ["FILE", "Ratios", "better", "compare", "measure", "read_kept", "smoke", "write_kept"]

FILE = Path(__file__).resolve().parent / "smoke.json"
ROUNDS = 5
REQUESTS = {"simpy": 2_000, "compiled": 20_000}
LEAST = 0.05  # seconds that each contestant runs in a round
DROP = 2 / 3


@dataclass(frozen=True)
class Ratios:
    """Medians of ratios by name, and what could not be measured here, with the reason."""

    values: Mapping[str, float]
    skipped: Mapping[str, str] = field(default_factory=dict)


def contests(requests: Mapping[str, int]) -> Iterator[Contest]:
    """Both engines on a pool, on a backlog, and with B = 1; the first contestant is the base."""
    count = requests["simpy"]
    load = {engine: poisson(n, load=0.5, workers=8, batch_size=32) for engine, n in requests.items()}
    ours = [Served(policy, engine, load[engine]) for policy in ("fcfs", "isjl") for engine in ENGINES]
    ours += [Served("isjl", e, backlog(n), workers=1, note="backlog") for e, n in requests.items()]
    able, skipped = entrants(ours)
    yield Contest("the floor", (floor_of(10 * count), *able), skipped)
    workload = single_slots(count)
    arrival, service = workload.arrival.tolist(), workload.tokens.astype(float).tolist()
    able, skipped = entrants([Served("fcfs", "simpy", workload, batch_size=1)])
    base = Contestant("textbook", count, lambda: textbook(arrival, service, 8))
    yield Contest("a textbook program, M/M/8", (base, *able), skipped)


def measure(requests: Mapping[str, int] = REQUESTS, rounds: int = ROUNDS, least: float = LEAST) -> Ratios:
    """The ratios now: speed as a multiple of the base's, median over the rounds."""
    values: dict[str, float] = {}
    skipped: dict[str, str] = {}
    for contest in contests(requests):
        outcome = race(contest, rounds, least)
        base = outcome.timings[0].name
        for timing in outcome.timings[1:]:
            ratio = outcome.speed(timing.name, base)
            if ratio is not None:
                values[f"{timing.name} to {contest.name}"] = ratio.median
        skipped |= {f"{name} to {contest.name}": why for name, why in outcome.skipped.items()}
    return Ratios(values, skipped)


def compare(kept: Mapping[str, float], seen: Ratios) -> list[str]:
    """What is wrong, a line each: ratios that dropped by a third or more, or that are missing on one side.

    >>> compare({"a": 3.0, "b": 1.0}, Ratios({"a": 1.9, "b": 0.9}))
    ['a: 1.9, was 3: dropped by 37 %']
    """
    wrong = []
    for name, before in kept.items():
        value = seen.values.get(name)
        if value is None and name not in seen.skipped:
            wrong.append(f"{name}: kept, but no longer measured")
        elif value is not None and value <= DROP * before:
            lost = 100 * (1 - value / before)
            wrong.append(f"{name}: {value:.3g}, was {before:.3g}: dropped by {lost:.0f} %")
    wrong += [f"{name}: measured, but not kept" for name in seen.values if name not in kept]
    return wrong


def better(one: Ratios, other: Ratios) -> Ratios:
    """Of each ratio the larger."""
    names = one.values.keys() | other.values.keys()
    return Ratios({n: max(r.values[n] for r in (one, other) if n in r.values) for n in names}, one.skipped)


def read_kept(path: Path = FILE) -> dict[str, float]:
    """The kept ratios.

    Raises:
        InputError: there are none.
    """
    try:
        return {name: float(value) for name, value in json.loads(path.read_text())["ratios"].items()}
    except OSError as error:
        raise InputError(f"{path.name} cannot be read: {error.strerror}; --smoke --keep writes it") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{path.name} holds no ratios; --smoke --keep writes it anew") from None


def write_kept(seen: Ratios, path: Path = FILE) -> None:
    """Keep them, with where and when they were measured."""
    ratios = {name: float(f"{value:.4g}") for name, value in seen.values.items()}
    made = {"date": now(), "machine": machine(), "versions": versions()}
    path.write_text(json.dumps({"made": made, "ratios": ratios}, indent=2) + "\n", encoding="utf-8")


def smoke(*, keep: bool) -> int:
    """Measure and compare, or keep; 1 where a ratio has dropped."""
    kept = {} if keep else read_kept()
    seen = measure()
    if keep:
        write_kept(seen)
    elif compare(kept, seen):
        print("measured again, since a ratio has dropped")
        seen = better(seen, measure())
    for name, value in seen.values.items():
        print(f"{name}: {value:.3g}" + (f", was {kept[name]:.3g}" if name in kept else ""))
    for name, reason in seen.skipped.items():
        print(f"skipped: {name}: {reason}")
    wrong = [] if keep else compare(kept, seen)
    for line in wrong:
        print(f"FAILED: {line}")
    return int(bool(wrong))
