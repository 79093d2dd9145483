"""What a result tells beyond its summary: by class, length, worker and window, and of predictions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from math import floor
from typing import TYPE_CHECKING, cast

import numpy as np
import pandas as pd

from fairq.classes import class_table
from fairq.errors import RecordError
from fairq.groups import per_worker
from fairq.kv import kv_held
from fairq.latencies import latency_columns
from fairq.length_classes import LengthClasses, length_class_table, length_classes
from fairq.occupancy import Occupancy, occupancy
from fairq.slack import PredictionQuality, prediction_quality
from fairq.stretches import Stretches, find_stretches
from fairq.subsidy import subsidy_matrix
from fairq.validation import finite_number
from fairq.windows import window_table

if TYPE_CHECKING:
    from fairq.result import Result
    from fairq.schedule import Schedule

__all__ = ["Metrics"]


class Metrics:
    """The part of `fairq.Result` that looks closer than the summary.

    All of it is formed when asked for, from the requests table and the schedule: a run that kept its
    summary alone raises `fairq.RecordError`.
    """

    @property
    def _run(self) -> Result:
        return cast("Result", self)

    @cached_property
    def stretches(self) -> Stretches:
        """The schedule cut into stretches with a constant batch, for metrics of one's own."""
        run = self._run
        if run.schedule is None:
            raise RecordError(f"schedule was not recorded: record is {run.record!r}, it needs 'requests'")
        return find_stretches(run.schedule, per_worker(run.groups)[1])

    @property
    def occupancy(self) -> Occupancy:
        """When each request came, left the queue and left the system.

        Raises:
            RecordError: the run kept the summary alone.
        """
        run = self._run
        return occupancy(run.requests, until=run.horizon, abandon_after=run.abandon_after)

    @property
    def classes(self) -> pd.DataFrame:
        """A row per class label and, last, ``"all"``: counts, money, SLA, latencies.

        Money, attainment and goodput use each class's own price and SLA; see `fairq.classes.class_table`
        for the columns.

        Raises:
            RecordError: the run kept the summary alone.

        >>> import fairq
        >>> workload = fairq.Workload.from_arrays([3, 1, 2], label=["chat", "code", "chat"])
        >>> run = fairq.simulate(workload, "fcfs", batch_size=2)
        >>> run.classes["latency_mean"].tolist()
        [3.0, 1.0, 2.3333333333333335]
        """
        run, stretches = self._run, self.stretches
        return class_table(
            run.requests, run.workload, stretches, cast("Schedule", run.schedule), groups=run.groups,
            cost=run.cost, books=self.occupancy, until=run.horizon,
        )  # fmt: skip

    def length_classes(self, edges: Sequence[float] | None = None) -> pd.DataFrame:
        """A row per class of length: oldest age, p99.9 of wait, slowdown; who starves.

        Parameters:
            edges: largest tokens of every class but the last; None: the quartiles of the workload.

        Raises:
            InputError: an edge that is not allowed.
            RecordError: the run kept the summary alone.

        >>> import fairq
        >>> run = fairq.simulate(fairq.Workload.from_arrays([4, 1, 1]), "ljf", batch_size=1)
        >>> run.length_classes([1])["oldest_age"].to_dict()
        {'1': 5.0, '2-4': 0.0}
        """
        run = self._run
        return length_class_table(
            run.requests, self._by_length(edges), run.groups, self.occupancy, run.horizon
        )

    def subsidy(self, edges: Sequence[float] | None = None) -> pd.DataFrame:
        """The externality by class of length that pays it (row) and causes it (column), in tokens².

        The matrix sums to E; times `cost.tau` it is money.

        Parameters:
            edges: largest tokens of every class but the last; None: the quartiles of the workload.

        Raises:
            InputError: an edge that is not allowed.
            RecordError: the run kept the summary alone.

        >>> import fairq
        >>> run = fairq.simulate(fairq.Workload.from_arrays([4, 2, 3]), "fcfs", batch_size=2)
        >>> float(run.subsidy([3]).loc["1-3", "4"])  # request 2 is behind request 0 in two steps, by two
        4.0
        """
        run, classes = self._run, self._by_length(edges)
        stretches = self.stretches
        matrix = subsidy_matrix(stretches, cast("Schedule", run.schedule), classes.index, len(classes))
        return pd.DataFrame(
            matrix, pd.Index(classes.names, name="payer"), pd.Index(classes.names, name="causer")
        )

    @property
    def worker_table(self) -> pd.DataFrame:
        """A row per worker: batch_size, completed, busy_steps, busy_fraction, utilisation, kv_mean, kv_peak.

        Raises:
            RecordError: the run kept the summary alone.
        """
        run, stretches = self._run, self.stretches
        makespan, count = float(run.summary["makespan"]), run.workers
        duration = stretches.end_times() - stretches.start_times()
        size = np.array(per_worker(run.groups)[0])
        held = kv_held(stretches, cast("Schedule", run.schedule), run.workload)
        served = run.requests["worker"].to_numpy()[run.requests["completed"].to_numpy()]

        def by_worker(weights: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> pd.Series:
            return pd.Series(np.bincount(stretches.worker, weights=weights, minlength=count))

        span = makespan if makespan > 0 else np.nan
        return pd.DataFrame(
            {
                "batch_size": size,
                "completed": np.bincount(served, minlength=count),
                "busy_steps": by_worker(stretches.steps).astype(np.int64),
                "busy_fraction": by_worker(duration) / span,
                "utilisation": by_worker(duration * stretches.batch) / (size * span),
                "kv_mean": held.mean,
                "kv_peak": held.peak,
            },
            index=pd.RangeIndex(count, name="worker"),
        )

    def windows(self, count: int = 20) -> pd.DataFrame:
        """How the run develops: queue, batch and latencies in `count` equal windows of its time.

        Raises:
            InputError: a count outside 1 .. 10,000.
            RecordError: the run kept the summary alone.

        >>> import fairq
        >>> workload = fairq.Workload.from_arrays([2, 2, 2], arrival=[0, 1, 2])
        >>> run = fairq.simulate(workload, "fcfs", batch_size=1)
        >>> run.windows(3)["mean_queue"].tolist()  # one waits from 1 to 2, the other from 2 to 4
        [0.5, 1.0, 0.0]
        """
        run = self._run
        finish = run.requests["finish"].to_numpy()
        columns = latency_columns(run.requests, run.workload)
        return window_table(columns, finish, self.occupancy, self.stretches, run.workers, count)

    def extent_above(self, alphas: float | Iterable[float]) -> pd.Series:
        """The share of busy steps whose extent exceeds each of `alphas`, by alpha; NaN without a step.

        Raises:
            InputError: an alpha that is negative or not a finite number.
            RecordError: the run kept the summary alone.

        >>> import fairq
        >>> run = fairq.simulate(fairq.Workload.from_arrays([4, 2, 3]), "fcfs", batch_size=2)
        >>> run.extent_above([0, 1, 2]).tolist()  # two of the five steps have an extent of 2
        [0.4, 0.4, 0.0]
        """
        given = [alphas] if isinstance(alphas, (int, float)) else list(alphas)
        budgets = [finite_number("alpha", alpha, at_least=0) for alpha in given]
        stretches = self.stretches
        order = np.argsort(stretches.extent)
        upto = np.concatenate(([0], np.cumsum(stretches.steps[order])))
        within = upto[np.searchsorted(stretches.extent[order], [floor(a) for a in budgets], side="right")]
        shares = (upto[-1] - within) / upto[-1] if upto[-1] else np.full(len(budgets), np.nan)
        return pd.Series(shares, pd.Index(budgets, name="alpha"), name="extent_above")

    @property
    def predictions(self) -> PredictionQuality:
        """How loose the intervals [l_i, u_i] are, and the bounds of Section 3.4 beside the measured ratio.

        >>> import fairq
        >>> workload = fairq.Workload.from_arrays([6, 6, 2, 2], upper=[6, 6, 2, 3])
        >>> found = fairq.simulate(workload, "robust-isjl", alpha=3, batch_size=2).predictions
        >>> found.kappa, found.packable.value, found.measured
        (0.6666666666666666, 1, 0.8)
        """
        return prediction_quality(self._run)

    @property
    def jain(self) -> float:
        """Jain's index of the mean slowdown by quarter of length: 1 if all are slowed alike."""
        return float(self._run.summary["jain_slowdown"])

    def _by_length(self, edges: Sequence[float] | None) -> LengthClasses:
        return length_classes(self._run.workload.tokens, edges)
