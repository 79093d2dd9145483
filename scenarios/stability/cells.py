"""The searches of the study, and the table of what they found."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from fairq import StepTime, Workload, simulate, stable_rate
from fairq.lengths import LengthLaw
from fairq.load import demand_of
from fairq.streams import open_uniforms, stream

__all__ = ["Cell", "Found", "Settings", "load_found", "save_found"]


@dataclass(frozen=True)
class Cell:
    """One search: a policy, a pool, a step time and the length of its runs.

    `part` is "region" or "map"; `x` is tau·B·E[o]/c, 0 on the token clock.
    """

    part: str
    policy: str
    alpha: float | None
    workers: int
    x: float
    requests: int

    @property
    def label(self) -> str:
        """Policy and alpha."""
        return self.policy if self.alpha is None else f"{self.policy} {self.alpha:g}"


@dataclass(frozen=True)
class Found:
    """What a search found; rates in tokens, per B·G tokens and c of time ("slots"), and as offered load.

    `backlog` is the share of the slots that the policy fills on a backlog, for one worker of the region.
    """

    cell: Cell
    slots_low: float
    slots_high: float
    load_low: float
    load_high: float
    runs: int
    backlog: float | None

    @property
    def middle(self) -> float:
        """Of the interval, in slots."""
        return (self.slots_low + self.slots_high) / 2


@dataclass(frozen=True)
class Settings:
    """The study's file."""

    seed: int
    batch_size: int
    requests: int
    requests_per_worker: int
    replications: int
    precision: float
    backlog: int
    tokens: LengthLaw
    region: dict[str, Any]
    map: dict[str, Any]

    @classmethod
    def load(cls, path: Path) -> Settings:
        """From a TOML file."""
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        return cls(**table | {"tokens": LengthLaw(**table["tokens"])})

    @property
    def mean_tokens(self) -> float:
        """E[o]."""
        return demand_of(self.tokens).tokens

    def cells(self) -> Iterator[Cell]:
        """The region's, pool by pool, then the map's, x by x."""
        for workers in self.region["workers"]:
            for policy, alpha, requests in self._arms(self.region, workers):
                yield Cell("region", policy, alpha, workers, 0.0, requests)
        for x in self.map["x"]:
            for policy, alpha, requests in self._arms(self.map, 1):
                yield Cell("map", policy, alpha, 1, x, requests)

    def _arms(self, part: dict[str, Any], workers: int) -> Iterator[tuple[str, float | None, int]]:
        for policy in part["policies"]:
            requests = max(policy.get("requests", self.requests), self.requests_per_worker * workers)
            for alpha in policy.get("alpha", [None]):
                yield policy["name"], alpha, requests

    def search(self, cell: Cell) -> Found:
        """The largest stable rate of one cell."""
        mean = self.mean_tokens
        found = stable_rate(
            cell.policy,
            self.tokens,
            alpha=cell.alpha,
            workers=cell.workers,
            batch_size=self.batch_size,
            clock=StepTime(c=1.0, tau=cell.x / (self.batch_size * mean)),
            requests=cell.requests,
            replications=self.replications,
            precision=self.precision,
            seed=self.seed,
            engine="auto",
        )
        share = mean / (self.batch_size * cell.workers)  # of the slots, for each request per step
        runs = sum(probe.runs for probe in found.probes)
        first = cell.part == "region" and cell.workers == 1
        return Found(
            cell, found.low * share, found.high * share, found.load_low, found.load_high,
            runs, self.saturation(cell) if first else None,
        )  # fmt: skip

    def saturation(self, cell: Cell) -> float:
        """Share of the slots that the policy fills on a backlog."""
        uniforms = open_uniforms(stream(self.seed, 0, "lengths"), self.backlog)
        workload = Workload.from_arrays(self.tokens.tokens(uniforms))
        run = simulate(workload, cell.policy, alpha=cell.alpha, batch_size=self.batch_size, record="summary")
        return float(run.summary["utilisation"])


def load_found(path: Path) -> dict[Cell, Found]:
    """The rows of a results table, by cell; none where there is no table yet."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        rows = [_read(row) for row in csv.DictReader(file)]
    return {found.cell: found for found in rows}


def save_found(path: Path, found: dict[Cell, Found]) -> None:
    """Write the table anew, rows in the order of `found`."""
    rows = [asdict(one.cell) | {name: getattr(one, name) for name in _FIGURES} for one in found.values()]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Cell)] + _FIGURES, lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _text(value) for name, value in row.items()} for row in rows)


_FIGURES = [field.name for field in fields(Found) if field.name != "cell"]


def _text(value: Any) -> Any:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else value


def _read(row: dict[str, str]) -> Found:
    alpha = float(row["alpha"]) if row["alpha"] else None
    cell = Cell(row["part"], row["policy"], alpha, int(row["workers"]), float(row["x"]), int(row["requests"]))
    shares = (float(row[name]) for name in ("slots_low", "slots_high", "load_low", "load_high"))
    backlog = float(row["backlog"]) if row["backlog"] else None
    return Found(cell, *shares, int(row["runs"]), backlog)
