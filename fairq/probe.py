"""Small runs to try a policy on, and how to make one smaller."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairq.cost import StepTime
from fairq.simulate import Result, simulate
from fairq.workload import Workload

__all__ = ["Probe", "probes"]

_SLOW = StepTime(c=0.5, b=0.25, tau=0.0625)  # exact in binary


@dataclass(frozen=True)
class Probe:
    """One small run; requests are in order of arrival.

    Attributes:
        tokens, arrival: by request.
        alpha, workers, batch_size: as in `fairq.simulate`.
        slack: upper bounds of the sizes are tokens + slack, and the policy is told them where it is > 0.
        dispatch, until, abandon_after: as in `fairq.simulate`.
        slow: a step takes longer the fuller and longer its batch is; else it is the unit of time.
    """

    tokens: tuple[int, ...]
    arrival: tuple[float, ...]
    alpha: int = 0
    workers: int = 1
    batch_size: int = 1
    slack: int = 0
    dispatch: str = "central"
    until: float | None = None
    abandon_after: float | None = None
    slow: bool = False

    def settings(self) -> dict[str, Any]:
        """The keywords of `fairq.simulate` that differ from its defaults."""
        given: dict[str, Any] = {"alpha": self.alpha, "batch_size": self.batch_size}
        if self.workers > 1:
            given["workers"] = self.workers
        if self.dispatch != "central":
            given["dispatch"] = self.dispatch
        if self.until is not None:
            given["until"] = self.until
        if self.abandon_after is not None:
            given["abandon_after"] = self.abandon_after
        if self.slack:
            given["size"] = "upper"
        if self.slow:
            given["clock"] = _SLOW
        return given

    def run(self, policy: Any, options: Mapping[str, Any]) -> Result:
        """Serve it under `policy`."""
        workload = Workload.from_arrays(
            tokens=self.tokens, arrival=self.arrival, upper=[size + self.slack for size in self.tokens]
        )
        return simulate(workload, policy, record="segments", **self.settings() | dict(options))

    def call(self, policy: str, options: Mapping[str, Any] | None = None) -> str:
        """The Python that runs it, the policy having these `options`."""
        upper = f", upper={[size + self.slack for size in self.tokens]}" if self.slack else ""
        arrival = f", arrival={list(self.arrival)}" if any(self.arrival) else ""
        workload = f"fairq.Workload.from_arrays(tokens={list(self.tokens)}{arrival}{upper})"
        clock = f"fairq.{_SLOW!r}"
        settings = [
            f"{name}={clock if name == 'clock' else repr(value)}"
            for name, value in (self.settings() | dict(options or {})).items()
        ]
        return f"fairq.simulate({workload}, {policy!r}, {', '.join(settings)})"

    def without_last(self) -> Probe | None:
        """The same without the request that arrives last; None where that says nothing about foresight."""
        if len(self.tokens) < 2 or self.arrival[-1] == self.arrival[0]:
            return None
        return replace(self, tokens=self.tokens[:-1], arrival=self.arrival[:-1])

    def smaller(self) -> Iterator[Probe]:
        """Every run that is smaller by one change, the boldest first."""
        count = len(self.tokens)
        for i in reversed(range(count)) if count > 1 else ():
            yield replace(self, tokens=_without(self.tokens, i), arrival=_without(self.arrival, i))
        plain = Probe(self.tokens, self.arrival)
        for name in ("dispatch", "until", "abandon_after", "slack", "slow"):
            if getattr(self, name) != getattr(plain, name):
                yield self._with(name, getattr(plain, name))
        for name, least in (("workers", 1), ("batch_size", 1), ("alpha", 0)):
            for value in _less(getattr(self, name), least):
                yield self._with(name, value)
        for shift in _less(int(self.arrival[0]), 0):
            earlier = self.arrival[0] - shift
            yield replace(self, arrival=tuple(time - earlier for time in self.arrival))
        for i in range(count):
            for size in _less(self.tokens[i], 1):
                yield replace(self, tokens=_put(self.tokens, i, size))
            earliest = self.arrival[i - 1] if i else 0.0
            for time in _less(int(self.arrival[i]), int(earliest)):
                yield replace(self, arrival=_put(self.arrival, i, float(time)))

    def _with(self, name: str, value: Any) -> Probe:
        changes: dict[str, Any] = {name: value}
        return replace(self, **changes)


def probes(rng: np.random.Generator, count: int) -> Iterator[Probe]:
    """So many runs of every kind, smaller ones first.

    >>> [len(probe.tokens) for probe in probes(np.random.default_rng(0), 3)]
    [1, 5, 9]
    """
    for index in range(count):
        requests = 1 + index * 12 // count
        longest = int(rng.choice([2, 6, 16]))
        spread = int(rng.choice([1, 4, 12, 40]))
        arrival = np.sort(rng.integers(0, spread, requests))
        yield Probe(
            tokens=tuple(rng.integers(1, longest + 1, requests).tolist()),
            arrival=tuple(map(float, arrival.tolist())),
            alpha=int(rng.integers(0, 7)),
            workers=int(rng.choice([1, 1, 2, 3])),
            batch_size=int(rng.choice([1, 2, 2, 3, 4])),
            slack=int(rng.choice([0, 0, 0, 3])),
            dispatch=str(rng.choice(["central", "central", "jsq", "round-robin"])),
            until=float(rng.integers(1, 2 * spread + 8)) if rng.random() < 0.15 else None,
            abandon_after=float(rng.integers(1, 12)) if rng.random() < 0.25 else None,
            slow=bool(rng.random() < 0.3),
        )


def _less(value: int, least: int) -> Iterator[int]:
    """Smaller values: the least, half way to it, and one less."""
    tried = {value}
    for smaller in (least, (value + least) // 2, value - 1):
        if least <= smaller < value and smaller not in tried:
            tried.add(smaller)
            yield smaller


def _without(values: tuple[Any, ...], i: int) -> tuple[Any, ...]:
    return values[:i] + values[i + 1 :]


def _put(values: tuple[Any, ...], i: int, value: Any) -> tuple[Any, ...]:
    return (*values[:i], value, *values[i + 1 :])
