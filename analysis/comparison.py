"""Ours beside the paper's: Tables 1 and 2 and the room that the cohort bound leaves, as tidy tables.

Everything is computed from the runs of a finished study and from its workloads, drawn again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from analysis.paper import REPLICATIONS, TABLE_1, TABLE_1_COLUMNS, TABLE_2, Row
from fairq import InputError
from fairq.scenario import Scenario
from fairq.statistics import Interval, jackknife_ratio, mean_interval, paired_difference
from fairq.study import Study
from fairq.theory import makespan_lower_bound
from fairq.validation import whole_number

__all__ = ["Comparison", "agrees", "tolerance"]

RIVALS = ("isjl", "free-ride", "ljf-fair")
_SETTING = ("clock", "until", "workload", "pool", "cost")
_GROUPS = 20_000


def tolerance(deviation: float, ours: int, theirs: int = REPLICATIONS) -> float:
    """How far two means over `ours` and `theirs` replications may be apart: three standard errors.

    Parameters:
        deviation: standard deviation of one replication, estimated from ours.

    >>> tolerance(2.0, 20)
    3.0
    """
    return 3 * deviation * math.sqrt(1 / ours + 1 / theirs)


def agrees(ours: float, paper: float, allowed: float) -> bool | None:
    """Whether two means are within `allowed`; None where that is not known (one replication).

    >>> agrees(39.5, 39.78, 0.9), agrees(36.5, 46.99, 3.0), agrees(1.0, 2.0, math.nan)
    (True, False, None)
    """
    return None if math.isnan(allowed) else abs(ours - paper) <= allowed


@dataclass(frozen=True)
class Comparison:
    """A finished run of the paper's setting, seen beside the paper.

    Attributes:
        study: the run; its setting must be that of the scenario ``table1``, its policies include ljf.
        draws: replications drawn beyond the study's own for the room that the bound leaves.

    Raises:
        InputError: another setting, or no ljf to compare with.
    """

    study: Study
    draws: int = 1000

    def __post_init__(self) -> None:
        whole_number("draws", self.draws, at_least=1)
        theirs, ours = Scenario.load("table1").to_dict(), self.study.scenario.to_dict()
        for field in _SETTING:
            if theirs[field] != ours[field]:
                raise InputError(
                    f"{self.study.directory} is no run of the paper's setting: {field} is {ours[field]} "
                    f"there and {theirs[field]} in the scenario table1"
                )
        if ("ljf", None) not in self.cells:
            raise InputError(f"{self.study.directory} has no policy 'ljf': Tables 1 and 2 compare with it")

    @cached_property
    def cells(self) -> dict[Row, int]:
        """Cell index by policy and alpha, of the cells that have no other parameter."""
        plain = (cell for cell in self.study.cells if cell.parameters.keys() <= {"alpha"})
        return {(cell.policy, cell.parameters.get("alpha")): cell.index for cell in plain}

    @cached_property
    def runs(self) -> pd.DataFrame:
        """The study's runs, each with its gain of throughput over LJF (%) and its least makespan (steps)."""
        runs = self.study.runs.copy()
        base = runs[runs["cell"] == self.cells["ljf", None]].set_index("replication")["throughput"]
        runs["gain"] = 100 * (runs["throughput"] / runs["replication"].map(base) - 1)
        bounds = {row: self._bounds(*row) for row in self.cells}
        known = {self.cells[row]: values for row, values in bounds.items()}
        runs["bound"] = [
            known[cell][replication] if cell in known else math.nan
            for cell, replication in zip(runs["cell"], runs["replication"], strict=True)
        ]
        return runs

    @cached_property
    def _tokens(self) -> list[np.ndarray]:
        """Token counts of every replication's workload, drawn again."""
        scenario = self.study.scenario
        return [scenario.draw(replication).tokens for replication in range(scenario.replications)]

    def _bounds(self, policy: str, alpha: float | None) -> list[float]:
        """The least makespan that a schedule within alpha can have, for each replication.

        LJF keeps an extent of 0, so its alpha is 0; FCFS keeps none: only area and longest bind it.
        """
        least = {"ljf": 0.0}.get(policy, math.inf) if alpha is None else alpha
        return [self._bound(tokens, least) for tokens in self._tokens]

    def _bound(self, tokens: np.ndarray, alpha: float) -> float:
        batch_size = self.study.scenario.pool.slots
        return float(makespan_lower_bound(tokens, batch_size, min(alpha, float(tokens.max()))).value)

    def mean(self, row: Row, metric: str) -> Interval:
        """Our mean of `metric` in the cell of `row`, with its 95 % interval."""
        return mean_interval(self._values(row, metric))

    def _values(self, row: Row, metric: str) -> pd.Series:
        return self.runs[self.runs["cell"] == self.cells[row]].set_index("replication")[metric]

    @cached_property
    def table_1(self) -> pd.DataFrame:
        """A row per policy, alpha and column: our mean, its interval, the paper's number, whether they agree.

        Beside the paper's columns: mean completion time, makespan and the bound on it, all in steps.
        """
        metrics = (*TABLE_1_COLUMNS, "latency_mean", "makespan", "bound")
        return pd.DataFrame([self._compared(row, metric) for row in self.cells for metric in metrics])

    def _compared(self, row: Row, metric: str) -> dict[str, Any]:
        printed = dict(zip(TABLE_1_COLUMNS, TABLE_1.get(row, ()), strict=False))
        paper = printed.get(metric)
        values, interval = self._values(row, metric), self.mean(row, metric)
        allowed = tolerance(float(values.std(ddof=1)), len(values))
        verdict = None if paper is None else agrees(interval.mean, paper, allowed)
        return {
            "policy": row[0],
            "alpha": row[1],
            "metric": metric,
            "n": interval.n,
            "mean": interval.mean,
            "ci_low": interval.low,
            "ci_high": interval.high,
            "paper": math.nan if paper is None else paper,
            "tolerance": allowed,
            "agrees": verdict,
        }

    @cached_property
    def table_2(self) -> pd.DataFrame:
        """A row per fair policy and alpha: steps saved over LJF, tau·E, break-even c, and the room there is.

        Break-even is the mean of tau·E over the mean saving, NaN where the mean saving is not above 0.
        """
        rows = []
        for policy, alpha in self._rivals():
            saving = paired_difference(
                self.runs, "busy_steps", self.cells["ljf", None], self.cells[policy, alpha]
            )
            break_even = self._break_even((policy, alpha), saving)
            parts = {"saving": saving, "cost_externality": self.mean((policy, alpha), "cost_externality")}
            printed = TABLE_2.get(alpha, (math.nan,) * 3) if policy == "isjl" else (math.nan,) * 3
            record: dict[str, Any] = {"policy": policy, "alpha": alpha}
            for (name, value), paper in zip(
                {**parts, "break_even": break_even}.items(), printed, strict=True
            ):
                ends = {f"{name}_low": value.low, f"{name}_high": value.high, f"{name}_paper": paper}
                record |= {name: value.mean, **ends}
            rows.append({**record, **self._room_row(alpha)})
        return pd.DataFrame(rows)

    def _rivals(self) -> Iterator[tuple[str, float]]:
        for policy, alpha in self.cells:
            if policy in RIVALS and alpha is not None:
                yield policy, alpha

    def paired(self, row: Row, metric: str) -> pd.Series:
        """What `row` has more of `metric` than LJF, by replication."""
        return self._values(row, metric) - self._values(("ljf", None), metric)

    def _break_even(self, row: Row, saving: Interval) -> Interval:
        if not saving.mean > 0:
            return Interval(math.nan, math.nan, math.nan, saving.n)
        steps = -self.paired(row, "busy_steps")
        return jackknife_ratio(self._values(row, "cost_externality").tolist(), steps.tolist())

    def room(self, alpha: float) -> np.ndarray:
        """Steps that any contiguous schedule within alpha can save over LJF at most, for each replication."""
        makespan = self._values(("ljf", None), "makespan").to_numpy(dtype=float)
        return np.asarray(makespan - np.array(self._bounds("", alpha)))

    def _room_row(self, alpha: float) -> dict[str, float]:
        room = self.room(alpha)
        return {"room_mean": float(room.mean()), "room_largest": float(room.max())}

    @cached_property
    def _further(self) -> list[tuple[float, np.ndarray]]:
        """LJF's makespan and the token counts of `draws` replications beyond the study's own."""
        scenario = self.study.scenario
        ljf = next(cell for cell in scenario.cells() if cell.index == self.cells["ljf", None])
        first = scenario.replications
        further = []
        for replication in range(first, first + self.draws):
            workload = scenario.draw(replication)
            makespan = scenario.simulate(ljf, replication, workload).summary["makespan"]
            further.append((float(makespan), workload.tokens))
        return further

    def further_room(self, alpha: float) -> np.ndarray:
        """As `room`, for `draws` replications beyond the study's own, of which only LJF is simulated."""
        return np.array([makespan - self._bound(tokens, alpha) for makespan, tokens in self._further])

    @cached_property
    def reach(self) -> pd.DataFrame:
        """A row per alpha of the paper's Table 2: the saving it reports against the room there is.

        The reported savings are means over five replications, so they are held against the mean room of
        groups of five replications, drawn at random from `draws` of them: `group_largest` is the largest
        of these means, `groups` the share of groups that have as much room as is reported.  The verdict
        is "out of reach" where none has, and "very unlikely" below one in twenty.
        """
        rows = []
        for alpha, (reported, _, _) in TABLE_2.items():
            room = self.further_room(alpha)
            means = _group_means(room)
            share = float((means >= reported).mean())
            verdict = "out of reach" if share == 0 else "very unlikely" if share < 0.05 else "within reach"
            figures = {"room_mean": float(room.mean()), "group_largest": float(means.max()), "groups": share}
            rows.append({"alpha": alpha, "reported": reported, **figures, "verdict": verdict})
        return pd.DataFrame(rows)

    def duel(self, metric: str, alpha: float, policy: str = "free-ride", other: str = "isjl") -> Interval:
        """`policy` less `other` at alpha, paired within replications."""
        return paired_difference(self.runs, metric, self.cells[policy, alpha], self.cells[other, alpha])


def _group_means(room: np.ndarray) -> np.ndarray:
    """Mean room of groups of five replications drawn at random, the same groups at each call."""
    groups = np.random.default_rng(0).integers(len(room), size=(_GROUPS, REPLICATIONS))
    return np.asarray(room[groups].mean(axis=1))
