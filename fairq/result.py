"""A run and what it amounts to: the summary, the tables it kept, and what was run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, Any

import pandas as pd

from fairq.check import check_result
from fairq.cost import TOKEN_CLOCK, Cost, StepTime
from fairq.errors import RecordError
from fairq.groups import WorkerGroup
from fairq.metrics import Metrics
from fairq.reshaping import prompt_model
from fairq.schedule import Schedule
from fairq.workload import Workload

if TYPE_CHECKING:
    from matplotlib.axes import Axes


__all__ = ["Result"]


@dataclass(frozen=True, eq=False, repr=False)
class Result(Metrics):
    """A run and what it amounts to.

    Attributes:
        summary: counts, money, fairness, utilisation and quantiles, by name.
        schedule: the stays that the engine returned; None where ``record="summary"``.
        workload, policy, options, alpha, dispatch, cost, until, seed, replication, abandon_after:
            what was run.
        groups: the workers, each group with its batch size and clock.
        guarded: whether the policy promises constraint (1).
        engine: which one ran, ``"simpy"`` or ``"compiled"``.
        record: ``"summary"``, ``"requests"`` or ``"segments"``: which tables are kept.
    """

    summary: pd.Series
    schedule: Schedule | None
    workload: Workload
    policy: str
    options: Mapping[str, Any]
    alpha: float | None
    groups: tuple[WorkerGroup, ...]
    dispatch: str
    cost: Cost
    until: float | None
    seed: int
    replication: int
    abandon_after: float | None
    guarded: bool
    record: str
    engine: str
    _tables: Mapping[str, pd.DataFrame]

    def __repr__(self) -> str:
        alpha = "" if self.alpha is None else f", alpha={self.alpha:g}"
        return (
            f"Result({self.policy!r}{alpha}, workers={self.workers}, batch_size={self.batch_size}: "
            f"{self.summary['completed']} of {self.summary['arrived']} requests completed, "
            f"makespan {self.summary['makespan']:g})"
        )

    @property
    def workers(self) -> int:
        """G, the workers of the pool."""
        return sum(group.count for group in self.groups)

    @property
    def batch_size(self) -> int:
        """B, the slots of a worker; of the largest, where they differ."""
        return max(group.batch_size or 0 for group in self.groups)

    @property
    def clock(self) -> StepTime:
        """The step time of the workers; of the first group, where they differ."""
        return self.groups[0].law or TOKEN_CLOCK

    @property
    def stopped_at(self) -> float:
        """When a queue over `max_queued` ended the run; NaN where none did."""
        return float(self.summary["stopped_at"])

    @property
    def horizon(self) -> float | None:
        """When the run stopped: `until`, or sooner where the queue outgrew its limit; None: never."""
        return self.until if isnan(self.stopped_at) else self.stopped_at

    @property
    def prompt_chunk(self) -> int:
        """Prompt tokens that one step processes (`Workload.chunk_prompt`); 1 is the paper's model."""
        return self.workload.prompt_chunk

    @property
    def prompt_model(self) -> str:
        """What a prompt takes in this run, and what TTFT therefore is, in a sentence."""
        return prompt_model(self.prompt_chunk)

    @property
    def requests(self) -> pd.DataFrame:
        """A row per request: when it arrived, started and finished, what it waited, paid and caused.

        Raises:
            RecordError: the run kept the summary alone.
        """
        return self._table("requests")

    @property
    def segments(self) -> pd.DataFrame:
        """A row per constant stretch of one worker: time, steps, batch, progress before its first step.

        Raises:
            RecordError: the run did not keep it.
        """
        return self._table("segments")

    def check(self) -> None:
        """Raise if the tables break an invariant, naming the rule.

        Capacity, contiguity, release, conservation, a promised constraint (1), the count of
        violations and the cost identity of Theorem 5.1, from the tables alone.

        Raises:
            CheckError: a rule is broken.
            RecordError: the run kept no table to check.
        """
        check_result(self)

    def plot_schedule(self, ax: Axes | None = None, worker: int = 0) -> Axes:
        """Draw one worker's lanes against time, coloured by progress, as the paper's Figures 1 to 3."""
        from fairq.drawing import plot_schedule

        return plot_schedule(self, ax=ax, worker=worker)

    def _table(self, name: str) -> pd.DataFrame:
        if name not in self._tables:
            raise RecordError(f"{name} was not recorded: record is {self.record!r}, it needs {name!r}")
        return self._tables[name]
