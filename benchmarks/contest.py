"""Contestants side by side: each runs once a round, in turn, and a ratio is taken within a round.

A machine that slows down for a while then slows all of them.  Seconds are those of the processor, so that
other work on the machine is not counted; nobody here waits for anything, or uses a second thread.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from statistics import median

import numpy as np

__all__ = ["Contest", "Contestant", "Outcome", "Spread", "Timing", "race"]


@dataclass(frozen=True)
class Contestant:
    """Someone who serves requests.

    Attributes:
        name: unique in its contest.
        requests: how many one call serves.
        run: the call; its inputs were made before.
        size: what grows in a contest about growth (requests, workers, B).
    """

    name: str
    requests: int
    run: Callable[[], object]
    size: float = 0.0


@dataclass(frozen=True)
class Contest:
    """Contestants to be measured in the same rounds.

    Attributes:
        name: unique in a run of the suite; says what is served.
        contestants: the first is the base of the printed ratios.
        skipped: who is left out, and why.
        grows: ``"N"``, ``"G"`` or ``"B"`` where the sizes of the contestants are what it is about.
        facts: numbers about the workload that a target needs.
    """

    name: str
    contestants: tuple[Contestant, ...]
    skipped: Mapping[str, str] = field(default_factory=dict)
    grows: str = ""
    facts: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Spread:
    """A ratio over the rounds: its median, least and most."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: list[float]) -> Spread:
        """The spread of at least one value.

        >>> Spread.of([3.0, 1.0, 2.0])
        Spread(median=2.0, least=1.0, most=3.0)
        """
        return cls(median(values), min(values), max(values))

    def __str__(self) -> str:
        return f"{self.median:.3g} ({self.least:.3g} to {self.most:.3g})"


@dataclass(frozen=True)
class Timing:
    """Seconds of processor time of one call of a contestant in each round."""

    name: str
    requests: int
    size: float
    seconds: tuple[float, ...]

    @property
    def rate(self) -> float:
        """Requests per second, by the median round."""
        return self.requests / median(self.seconds)


@dataclass(frozen=True)
class Outcome:
    """What a contest measured; `Contest` says what the other fields are."""

    name: str
    timings: tuple[Timing, ...]
    skipped: Mapping[str, str]
    grows: str
    facts: Mapping[str, float]

    def timing(self, name: str) -> Timing | None:
        """That of one contestant; None where it was left out."""
        return next((timing for timing in self.timings if timing.name == name), None)

    def cost(self, name: str, base: str) -> Spread | None:
        """Time per request as a multiple of the base's; None where either was left out."""
        own, other = self.timing(name), self.timing(base)
        if own is None or other is None:
            return None
        share = other.requests / own.requests
        return Spread.of([t / b * share for t, b in zip(own.seconds, other.seconds, strict=True)])

    def speed(self, name: str, base: str) -> Spread | None:
        """Requests per second as a multiple of the base's; None where either was left out."""
        return self.cost(base, name)

    def exponent(self) -> Spread:
        """The power of the size with which the time of a call grows, by least squares of the logarithms.

        >>> timings = [Timing(str(n), n, n, (1e-6 * n * n, 1e-3 * n)) for n in (10, 100, 1000)]
        >>> print(Outcome("squares, then a line", tuple(timings), {}, "N", {}).exponent())
        1.5 (1 to 2)
        """
        sizes = np.log([timing.size for timing in self.timings])
        rounds = zip(*(timing.seconds for timing in self.timings), strict=True)
        return Spread.of([float(np.polyfit(sizes, np.log(seconds), 1)[0]) for seconds in rounds])


def race(contest: Contest, rounds: int, least: float = 0.0) -> Outcome:
    """Measure: first a round that is not counted, in which things are loaded and compiled.

    Parameters:
        rounds: how many are counted.
        least: seconds that a contestant computes at least in a round, called again and again.
    """
    seconds: dict[str, list[float]] = {each.name: [] for each in contest.contestants}
    for each in contest.contestants:
        each.run()
    for _ in range(rounds):
        for each in contest.contestants:
            seconds[each.name].append(_seconds(each.run, least))
    timings = [Timing(c.name, c.requests, c.size, tuple(seconds[c.name])) for c in contest.contestants]
    return Outcome(contest.name, tuple(timings), contest.skipped, contest.grows, contest.facts)


def _seconds(run: Callable[[], object], least: float) -> float:
    gc.collect()  # what others left behind is not this one's to clear away
    calls, began = 0, time.process_time()
    while True:
        run()
        calls += 1
        elapsed = time.process_time() - began
        if elapsed >= least:
            return elapsed / calls
