"""fairq's own contestants: a policy on an engine, from the workload to requests table and summary."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import fairq
from benchmarks.contest import Contestant
from benchmarks.peers import floor
from fairq.errors import InputError

__all__ = ["ENGINES", "FLOOR", "POLICIES", "Served", "entrants", "floor_of", "label", "served"]

ENGINES = ("simpy", "compiled")
FLOOR = "SimPy, two timeouts a request"
POLICIES: dict[str, float | None] = {
    "fcfs": None,
    "isjl": 100.0,
    "sjf": None,
    "ljf-fair": 100.0,
    "free-ride": 100.0,
    "matched": None,
}
"""The policies that are measured, with their alpha."""


@dataclass(frozen=True)
class Served:
    """What a contestant of ours serves.

    Attributes:
        policy, engine: who serves it, and on which engine.
        workload: the requests, made beforehand.
        workers, batch_size: the pool, on the token clock.
        note: the rest of the contestant's name.
        size: as `Contestant` has it.
    """

    policy: str
    engine: str
    workload: fairq.Workload
    workers: int = 8
    batch_size: int = 32
    note: str = ""
    size: float = 0.0

    @property
    def name(self) -> str:
        """Policy, engine, note."""
        return ", ".join(part for part in (label(self.policy), self.engine, self.note) if part)

    def run(self, record: str = "requests") -> fairq.Result:
        """Serve, and account for it."""
        return fairq.simulate(
            self.workload,
            self.policy,
            alpha=POLICIES[self.policy],
            workers=self.workers,
            batch_size=self.batch_size,
            engine=self.engine,
            record=record,
        )


def label(policy: str) -> str:
    """A policy's name and alpha.

    >>> label("isjl")
    'isjl 100'
    """
    alpha = POLICIES[policy]
    return policy if alpha is None else f"{policy} {alpha:g}"


def served(what: Served) -> Contestant:
    """A contestant whose answer is read as a user would: every column of requests, and the summary."""

    def run() -> object:
        result = what.run()
        return len(result.requests), len(result.summary)

    return Contestant(what.name, len(what.workload), run, what.size)


def floor_of(requests: int) -> Contestant:
    """The base of most contests."""
    return Contestant(FLOOR, requests, lambda: floor(requests))


def entrants(all_of: Iterable[Served]) -> tuple[list[Contestant], dict[str, str]]:
    """Those that can run here, and why others cannot: tried on two requests, which loads the engine too."""
    able, skipped = [], {}
    for what in all_of:
        reason = _reason(what)
        if reason is None:
            able.append(served(what))
        else:
            skipped[what.name] = reason
    return able, skipped


def _reason(what: Served) -> str | None:
    try:
        replace(what, workload=fairq.Workload.from_arrays(tokens=[2, 1])).run()
    except InputError as error:
        return str(error)
    return None
