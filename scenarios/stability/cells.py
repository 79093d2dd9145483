"""The searches of the study, and the table of what they found."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from fairq import StepTime, Workload, simulate, stable_rate
from fairq.lengths import LengthLaw
from fairq.load import demand_of
from fairq.streams import open_uniforms, stream

__all__ = ["Cell", "Found", "Settings", "load_found", "save_found"]


@dataclass(frozen=True)
class Cell:
    """One search: a policy, a pool, a step time, the length of its runs and how many at a rate at most.

    `part` is "region" or "map"; `x` is tau·B·E[o]/c, 0 on the token clock.
    """

    part: str
    policy: str
    alpha: float | None
    workers: int
    x: float
    requests: int
    replications: int

    @property
    def label(self) -> str:
        """Policy and alpha."""
        return self.policy if self.alpha is None else f"{self.policy} {self.alpha:g}"


@dataclass(frozen=True)
class Found:
    """What a search found: the largest stable token rate and offered load, between a low and a high.

    Token rates are tokens per c of time over B·G; on the token clock that is the offered load.  `open`:
    whether the search ended with rates that its runs do not decide, so that the interval is wider than
    asked for.  `backlog` is the load at which the policy works a backlog off, for one worker of the region.
    """

    cell: Cell
    rate_low: float
    rate_high: float
    load_low: float
    load_high: float
    open: bool
    runs: int
    backlog: float | None

    @property
    def middle(self) -> float:
        """Of the interval of token rates."""
        return (self.rate_low + self.rate_high) / 2

    def surely_above(self, other: Found) -> bool:
        """Whether the whole interval of token rates is above the other's."""
        return self.rate_low > other.rate_high


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
        """The region's, pool by pool, then the map's, x by x; at x = 0 the map is the region's one worker."""
        single: dict[str, Cell] = {}
        for workers in self.region["workers"]:
            for cell in self._arms(self.region, "region", workers, 0.0):
                yield cell
                if workers == 1:
                    single[cell.label] = cell
        for x in self.map["x"]:
            for cell in self._arms(self.map, "map", 1, x):
                same = single.get(cell.label) if x == 0 else None
                yield cell if same is None else replace(same, part="map")

    def _arms(self, part: dict[str, Any], name: str, workers: int, x: float) -> Iterator[Cell]:
        """The policies of a part; one may have longer or fewer runs, and be searched at fewer x."""
        for policy in part["policies"]:
            if x not in policy.get("x", [x]):
                continue
            requests = max(policy.get("requests", self.requests), self.requests_per_worker * workers)
            runs = policy.get("replications", self.replications)
            for alpha in policy.get("alpha", [None]):
                yield Cell(name, policy["name"], alpha, workers, x, requests, runs)

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
            replications=cell.replications,
            precision=self.precision,
            seed=self.seed,
            engine="auto",
        )
        share = mean / (self.batch_size * cell.workers)  # token rate of one request per c of time
        runs = sum(probe.runs for probe in found.probes)
        first = cell.part == "region" and cell.workers == 1
        return Found(
            cell, found.low * share, found.high * share, found.load_low, found.load_high,
            not found.is_precise, runs, self.saturation(cell) if first else None,
        )  # fmt: skip

    def saturation(self, cell: Cell) -> float:
        """The load at which the policy works a backlog off: the share of the slots that it fills."""
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
    if isinstance(value, bool):
        return "yes" if value else ""
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else value


def _read(row: dict[str, str]) -> Found:
    alpha = float(row["alpha"]) if row["alpha"] else None
    workers, requests, replications = (int(row[name]) for name in ("workers", "requests", "replications"))
    cell = Cell(row["part"], row["policy"], alpha, workers, float(row["x"]), requests, replications)
    ends = (float(row[name]) for name in ("rate_low", "rate_high", "load_low", "load_high"))
    backlog = float(row["backlog"]) if row["backlog"] else None
    return Found(cell, *ends, row["open"] == "yes", int(row["runs"]), backlog)
