"""What a summary needs of the stretches: sums and largest values, which workers by workers add up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairq.kv import kv_held
from fairq.schedule import Schedule
from fairq.stretches import Stretches
from fairq.workload import Workload

__all__ = ["Totals", "total", "totals_of"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, slots=True)
class Totals:
    """Sums over the steps of some workers; arrays have an entry per worker.

    Sums of floats are kept by worker, each formed step by step in the order of time, so that they do not
    depend on which workers are added up together, nor on who forms them.

    Attributes:
        steps: how many they ran.
        externality: sum over batch and steps of (max m − m_i), in tokens (equation (6)).
        extent, max_extent: sum over the steps of the extent, and the largest, in tokens.
        violations: steps with an extent above the budget; 0 where there is none.
        kv_peak: the most tokens that one worker held.
        slot_times, busy_times, extent_times: integrals over step time of the batch, of 1, and of the extent.
        kv_times, kv_busy: the integral over step time of the tokens held, and that time.
    """

    steps: int
    externality: int
    extent: int
    max_extent: int
    violations: int
    kv_peak: int
    slot_times: Floats
    busy_times: Floats
    extent_times: Floats
    kv_times: Floats
    kv_busy: Floats

    def __add__(self, other: Totals) -> Totals:
        """Those of both, `other` being of the workers that come next."""
        pairs = ((name, getattr(self, name), getattr(other, name)) for name in self.__dataclass_fields__)
        return Totals(**{name: _COMBINED.get(name, np.append)(one, two) for name, one, two in pairs})


_COMBINED: dict[str, Callable[[Any, Any], Any]] = {
    "steps": add, "externality": add, "extent": add, "violations": add, "max_extent": max, "kv_peak": max,
}  # fmt: skip


def total(times: Floats) -> float:
    """The sum of one of the columns of `Totals`, worker after worker."""
    return float(sum(times.tolist()))


def totals_of(stretches: Stretches, schedule: Schedule, workload: Workload, alpha: int | None) -> Totals:
    """The sums over `stretches`, which `schedule` was cut into.

    Parameters:
        workload: the requests served.
        alpha: fairness budget in whole tokens, or None.

    >>> import fairq
    >>> run = fairq.simulate(fairq.Workload.from_arrays([3, 1]), "fcfs", batch_size=2)
    >>> totals = totals_of(run.stretches, run.schedule, run.workload, alpha=None)
    >>> totals.steps, total(totals.slot_times), totals.kv_peak
    (3, 4.0, 3)
    """
    steps, extent, workers = stretches.steps, stretches.extent, len(stretches.origin)
    duration = stretches.end_times() - stretches.start_times()
    held = kv_held(stretches, schedule, workload)

    def by_worker(weights: Floats) -> Floats:
        sums: Floats = np.asarray(
            np.bincount(stretches.worker, weights=weights, minlength=workers), dtype=float
        )
        return sums

    return Totals(
        steps=int(steps.sum()),
        externality=int(stretches.externality @ steps),
        extent=int(extent @ steps),
        max_extent=int(extent.max(initial=0)),
        violations=0 if alpha is None else int(steps[extent > alpha].sum()),
        kv_peak=int(held.peak.max(initial=0)),
        slot_times=by_worker(duration * stretches.batch),
        busy_times=by_worker(duration),
        extent_times=by_worker(duration * extent),
        kv_times=held.integral,
        kv_busy=held.busy,
    )
