"""What is promised, and whether a kept run meets it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import nan

from benchmarks.contest import Spread
from benchmarks.entrants import ENGINES, FLOOR, label
from benchmarks.keeping import Kept
from benchmarks.sections import BACKLOG, MAIN, POOL, SINGLE

__all__ = ["Verdict", "table", "verdicts"]

OF_FLOOR = {"fcfs": {"simpy": 0.25, "compiled": 3.0}, "isjl": {"simpy": 0.10, "compiled": 2.0}}
OF_STRETCH = {"simpy": 0.5, "compiled": 1.0}
MEMORY = {"summary": (10_000_000, 2.5e9), "requests": (1_000_000, 700e6)}


@dataclass(frozen=True)
class Verdict:
    """A target, and what was seen; the median decides.

    Attributes:
        target: in words.
        seen: the ratio; None where it was not measured.
        limit: what it must reach (`at_least`) or must not exceed.
        at_least: which of the two.
    """

    target: str
    seen: Spread | None
    limit: float
    at_least: bool

    @property
    def met(self) -> bool | None:
        """None where it was not measured.

        >>> Verdict("half as fast", Spread(0.6, 0.4, 0.8), 0.5, at_least=True).met
        True
        """
        if self.seen is None:
            return None
        return self.seen.median >= self.limit if self.at_least else self.seen.median <= self.limit


def verdicts(kept: Kept) -> list[Verdict]:
    """All targets, in the order in which they are promised."""
    return [*_floor(kept), *_single(kept), *_growth(kept), *_oracle(kept), *_memory(kept)]


def table(kept: Kept) -> Iterator[str]:
    """Target, seen, met."""
    yield f"{'target':92}{'seen':30}met"
    for verdict in verdicts(kept):
        seen = "not measured" if verdict.seen is None else str(verdict.seen)
        met = {True: "yes", False: "NO", None: "-"}[verdict.met]
        yield f"{verdict.target:92}{seen:30}{met}"


def _speed(kept: Kept, contest: str, own: str, base: str, limit: float, words: str) -> Verdict:
    outcome = kept.outcome(contest)
    seen = None if outcome is None else outcome.speed(own, base)
    return Verdict(words, seen, limit, at_least=True)


def _cost(kept: Kept, contest: str, own: str, base: str, limit: float, words: str) -> Verdict:
    outcome = kept.outcome(contest)
    seen = None if outcome is None else outcome.cost(own, base)
    return Verdict(words, seen, limit, at_least=False)


def _floor(kept: Kept) -> Iterator[Verdict]:
    for policy, limits in OF_FLOOR.items():
        for engine, limit in limits.items():
            own = f"{label(policy)}, {engine}, 0.5 of slots"
            yield _speed(kept, POOL, own, FLOOR, limit, f"{own}: at least {limit:g} times the floor")


def _single(kept: Kept) -> Iterator[Verdict]:
    for base, limit in (("SimPy, process and Resource", 2.5), ("Ciw", 5.0)):
        words = f"M/M/8, fcfs, simpy: at least {limit:g} times {base}"
        yield _speed(kept, SINGLE, "fcfs, simpy", base, limit, words)


def _growth(kept: Kept) -> Iterator[Verdict]:
    for engine in ENGINES:
        own = f"{label('isjl')}, {engine}"
        words = f"{own}: a request of 10 times the backlog at most 1.5"
        yield _cost(kept, BACKLOG, f"{own}, large backlog", f"{own}, middle backlog", 1.5, words)
    for policy in MAIN:
        for engine in ENGINES:
            own = f"{label(policy)}, {engine}"
            words = f"{own}: a request at load 1.2 to 0.9 at most 2"
            yield _cost(kept, POOL, f"{own}, 1.2 of stable", f"{own}, 0.9 of stable", 2.0, words)


def _oracle(kept: Kept) -> Iterator[Verdict]:
    for policy in MAIN:
        for what in ("load 0.5, 8 workers", "backlog, one worker"):
            contest = f"oracle, B = 32, lmsys-like, {what}: {label(policy)}"
            outcome = kept.outcome(contest)
            stretch = nan if outcome is None else outcome.facts["mean stretch length"]
            for engine, part in OF_STRETCH.items():
                own = f"{label(policy)}, {engine}"
                words = f"{own}, {what}: over the oracle at least {part:g} of a stretch ({stretch:.2f})"
                yield _speed(kept, contest, own, "oracle", part * stretch, words)


def _memory(kept: Kept) -> Iterator[Verdict]:
    for policy in MAIN:
        for record, (requests, limit) in MEMORY.items():
            name = f"{policy}, compiled, {record}"
            sizes = [peak.size for peak in kept.peaks if (peak.name, peak.requests) == (name, requests)]
            seen = Spread.of([size / 1e6 for size in sizes if size is not None]) if any(sizes) else None
            words = f"{name}, {requests:,} requests: under {limit / 1e6:,.0f} MB"
            yield Verdict(words, seen, limit / 1e6, at_least=False)
