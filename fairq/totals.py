"""What a summary needs of the stretches: sums and largest values, which workers by workers add up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairq.kv import kv_held
from fairq.schedule import Schedule
from fairq.stretches import Stretches
from fairq.workload import Workload

__all__ = ["Totals", "totals_of"]


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over the steps of some workers.

    Attributes:
        steps: how many they ran.
        externality: sum over batch and steps of (max m − m_i), in tokens (equation (6)).
        extent, max_extent: sum over the steps of the extent, and the largest, in tokens.
        violations: steps with an extent above the budget; 0 where there is none.
        slot_time, busy_time, extent_time: integrals over step time of the batch, of 1, and of the extent.
        kv_peak: the most tokens that one worker held.
        kv_time: integral over step time of the tokens held.
    """

    steps: int = 0
    externality: int = 0
    extent: int = 0
    max_extent: int = 0
    violations: int = 0
    slot_time: float = 0.0
    busy_time: float = 0.0
    extent_time: float = 0.0
    kv_peak: int = 0
    kv_time: float = 0.0
    kv_busy: float = 0.0

    def __add__(self, other: Totals) -> Totals:
        largest = ("max_extent", "kv_peak")
        return Totals(
            **{
                name: (max if name in largest else sum)((getattr(self, name), getattr(other, name)))
                for name in self.__dataclass_fields__
            }
        )


def totals_of(stretches: Stretches, schedule: Schedule, workload: Workload, alpha: int | None) -> Totals:
    """The sums over `stretches`, which `schedule` was cut into.

    Parameters:
        workload: the requests served.
        alpha: fairness budget in whole tokens, or None.

    >>> import fairq
    >>> run = fairq.simulate(fairq.Workload.from_arrays([3, 1]), "fcfs", batch_size=2)
    >>> totals = totals_of(run.stretches, run.schedule, run.workload, alpha=None)
    >>> totals.steps, totals.slot_time, totals.kv_peak
    (3, 4.0, 3)
    """
    steps, extent = stretches.steps, stretches.extent
    duration = stretches.end_times() - stretches.start_times()
    held = kv_held(stretches, schedule, workload)
    return Totals(
        steps=int(steps.sum()),
        externality=int(stretches.externality @ steps),
        extent=int(extent @ steps),
        max_extent=int(extent.max(initial=0)),
        violations=0 if alpha is None else int(steps[extent > alpha].sum()),
        slot_time=float((duration * stretches.batch).sum()),
        busy_time=float(duration.sum()),
        extent_time=float((duration * extent).sum()),
        kv_peak=int(held.peak.max(initial=0)),
        kv_time=float(held.integral.sum()),
        kv_busy=float(held.busy.sum()),
    )
