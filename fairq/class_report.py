"""What the report says of each class of request: SLA, money, latency, over the replications."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pandas as pd

from fairq.sections import CLASS_SECTIONS
from fairq.statistics import Interval, intervals, summarise

if TYPE_CHECKING:
    from fairq.study import Study

__all__ = ["class_estimates", "class_labels"]


def class_estimates(study: Study) -> dict[tuple[tuple[int, str], str], Interval]:
    """Means over replications with their intervals, by cell and class, and metric.

    Only the metrics that a table of the report shows; nothing where the scenario has no classes.
    """
    if study.classes is None:
        return {}
    table = study.classes.assign(completed_share=100 * study.classes["completed"] / study.classes["arrived"])
    metrics = [name for section in CLASS_SECTIONS for name in section.metrics]
    found: dict[tuple[tuple[int, str], str], Interval] = {}
    for key, rows in _groups(table):
        estimates = intervals(summarise(rows, ["cell"], metrics))
        found |= {(key, name): interval for (_, name), interval in estimates.items()}
    return found


def class_labels(study: Study) -> dict[tuple[int, str], tuple[str, str]]:
    """Cell and class to a name for people and the cell's mark, cells in order and the classes within."""
    if study.classes is None:
        return {}
    return {
        (cell, name): (f"{study.labels[cell]}: {name}", study.mark(cell))
        for (cell, name), _ in _groups(study.classes)
    }


def _groups(table: pd.DataFrame) -> Iterator[tuple[tuple[int, str], pd.DataFrame]]:
    for cell in table["cell"].unique().tolist():
        rows = table[table["cell"] == cell]
        for name in rows["class"].unique().tolist():
            yield (cell, name), rows[rows["class"] == name]
