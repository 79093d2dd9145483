"""Policies that the load was too much for: unstable replications, their backlog, and where they stopped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from fairq.statistics import Interval, mean_interval
from fairq.wording import estimate_text, number_text, time_unit

if TYPE_CHECKING:
    from fairq.study import Study

__all__ = ["Overload", "find_overloads", "overload_sentences"]


@dataclass(frozen=True, slots=True)
class Overload:
    """What became of a cell that did not keep up with its arrivals in some replication.

    Attributes:
        runs: replications in all.
        unstable: those whose queue grew throughout the arrivals, or that were stopped.
        queued: requests queued at the end, over the unstable replications.
        mean_queue: requests queued on average over a run, over the same.
        stopped_at: when `max_queued` ended a run, in the clock's unit, for each that it did.
    """

    runs: int
    unstable: int
    queued: Interval
    mean_queue: Interval
    stopped_at: tuple[float, ...]

    @property
    def mark(self) -> str:
        """What a table says beside the policy's name.

        >>> none = mean_interval([])
        >>> Overload(3, 2, none, none, ()).mark, Overload(3, 3, none, none, (9.0,)).mark
        ('unstable 2/3', 'unstable 3/3, stopped 1/3')
        """
        stopped = f", stopped {len(self.stopped_at)}/{self.runs}" if self.stopped_at else ""
        return f"unstable {self.unstable}/{self.runs}{stopped}"


def find_overloads(runs: pd.DataFrame) -> dict[int, Overload]:
    """The cells with an unstable replication, in the order of `runs`, which is a study's `runs.csv`.

    >>> runs = pd.DataFrame({"cell": [0, 1], "unstable": [True, False], "queued_end": [70, 0]})
    >>> found = find_overloads(runs.assign(mean_queue=[33.5, 0.2], stopped_at=[float("nan")] * 2))
    >>> {cell: (overload.mark, overload.queued.mean) for cell, overload in found.items()}
    {0: ('unstable 1/1', 70.0)}
    """
    found = {}
    for cell, group in runs.groupby("cell", sort=False):
        bad = group[group["unstable"].astype(bool)]
        if len(bad):
            queued, waited = (mean_interval(bad[name]) for name in ("queued_end", "mean_queue"))
            times = tuple(bad["stopped_at"].dropna().astype(float).tolist())
            found[int(str(cell))] = Overload(len(group), len(bad), queued, waited, times)
    return found


def overload_sentences(study: Study) -> list[str]:
    """One sentence on what overload means for the figures, and one per policy; none where all kept up."""
    if not study.overloads:
        return []
    many, total = len(study.overloads), len(study.labels)
    which = "the only policy" if total == 1 else f"{many} of {total} policies"
    lead = (
        f"The load is too much for {which}: figures marked unstable are no steady state's, they depend on "
        "how long the run is, and are not ranked."
    )
    if any(len(over.stopped_at) < over.unstable < over.runs for over in study.overloads.values()):
        lead += " (The test also flags one stable run in a hundred.)"
    return [lead, *(_of_cell(study, cell, over) for cell, over in study.overloads.items())]


def _of_cell(study: Study, cell: int, over: Overload) -> str:
    noun = "replication" if over.runs == 1 else "replications"
    text = f"{study.labels[cell]} is unstable in {over.unstable} of {over.runs} {noun}, with "
    if over.queued.mean == 0:
        text += (
            "none queued at the end because the run went on until all had left the queue, and "
            f"{estimate_text(over.mean_queue, 'requests')} queued on average over the run"
        )
    else:
        text += f"{estimate_text(over.queued, 'requests')} queued at the end"
    return f"{text}.{_stop(study, over)}"


def _stop(study: Study, over: Overload) -> str:
    """That `max_queued` ended runs, and when."""
    if not over.stopped_at:
        return ""
    first, last = number_text(min(over.stopped_at)), number_text(max(over.stopped_at))
    mean = number_text(mean_interval(over.stopped_at).mean)
    unit, limit = time_unit(study.scenario.clock), study.scenario.pool.max_queued
    spread = "" if first == last else f" on average (from {first} to {last})"
    which = "It was" if over.runs == 1 else f"{len(over.stopped_at)} of them were"
    return (
        f" {which} stopped at {mean} {unit}{spread}, when more than max_queued ({limit:,}) requests were "
        "queued; what follows is measured until then."
    )
