"""A run by class of request (tenant): counts, latencies, SLA, and who brings and costs how much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairq.cost import Cost
from fairq.groups import WorkerGroup
from fairq.latencies import group_positions, latency_columns, statistics_by_group
from fairq.occupancy import Occupancy
from fairq.reshaping import billed_after
from fairq.schedule import Schedule
from fairq.sla import judge
from fairq.stretches import Stretches
from fairq.terms import POOLED, Terms
from fairq.workload import Workload

__all__ = [
    "POOLED", "Classes", "class_table", "find_classes", "per_million", "pooled_name", "request_costs",
    "revenue",
]  # fmt: skip

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, slots=True)
class Classes:
    """The classes of a workload's requests.

    Attributes:
        labels: their names: those with terms in the order given, then others as they appear.
        index: the class of each request.
        terms: price and SLA by label, for the classes that have any.
    """

    labels: Sequence[str]
    index: Ints
    terms: Mapping[str, Terms]

    def price(self, default: float) -> Floats:
        """Price per token of each class, `default` where it has none of its own."""
        own = [self.terms.get(label, Terms()).price for label in self.labels]
        return np.array([default if price is None else price for price in own])

    def limits(self) -> list[Mapping[str, float] | None]:
        """The SLA of each class, None without one."""
        return [self.terms.get(label, Terms()).sla for label in self.labels]


def find_classes(workload: Workload) -> Classes:
    """The classes of `workload`, by its labels and its terms.

    >>> find_classes(Workload.from_arrays([5, 3, 4], label=["chat", "code", "chat"])).labels
    ['chat', 'code']
    """
    terms = workload.terms
    codes, found = pd.factorize(workload.label)
    labels = [*terms, *(label for label in found if label not in terms)]
    place = {label: k for k, label in enumerate(labels)}
    return Classes(labels, np.array([place[label] for label in found], dtype=np.int64)[codes], terms)


def pooled_name(labels: Sequence[str]) -> str:
    """What the row of all requests together is called: ``"all"``, in brackets where that is a label.

    >>> pooled_name(["chat"]), pooled_name(["all"]), pooled_name(["(all)", "all"])
    ('all', '(all)', '((all))')
    """
    name = POOLED
    while name in labels:
        name = f"({name})"
    return name


def revenue(workload: Workload, price: float, earned: Ints) -> float:
    """What the `earned` billed tokens of each request bring, at its class's own price or else at `price`."""
    if all(term.price is None for term in workload.terms.values()):
        return price * int(earned.sum())
    classes = find_classes(workload)
    return float((classes.price(price)[classes.index] * earned).sum())


def request_costs(stretches: Stretches, schedule: Schedule, requests: pd.DataFrame, cost: Cost) -> Floats:
    """Each request's share of the cost (3), by causation; the shares sum to the run's `cost`.

    A request is charged tau for each of its own tokens m_i, an equal part of c in each of its steps, and
    tau for each token of externality it causes.

    Source: the parts of Theorem 5.1 of the paper, split by request; the split is ours.
    """
    progress = requests["progress"].to_numpy(np.int64)
    own = cost.tau * (progress * (progress + 1) // 2)
    time = np.concatenate(([0.0], np.cumsum(stretches.steps / stretches.batch)))
    at = np.searchsorted(stretches.first, np.stack((stretches.begin, stretches.end)))
    steps = np.bincount(
        schedule.request[stretches.stays], weights=time[at[1]] - time[at[0]], minlength=len(requests)
    )
    shares: Floats = own + cost.c * steps + cost.tau * requests["externality_caused"].to_numpy()
    return shares


def class_table(
    requests: pd.DataFrame,
    workload: Workload,
    stretches: Stretches,
    schedule: Schedule,
    *,
    groups: Sequence[WorkerGroup],
    cost: Cost,
    books: Occupancy,
    until: float | None,
) -> pd.DataFrame:
    """A row per class and, last, one for all requests together.

    Columns: arrived and the outcomes; tokens (billed tokens processed), throughput; revenue, cost,
    cost_workers, profit, and the first two and the last per million billed tokens of the completed;
    externality_paid, externality_caused; attainment, goodput, sla_censored, sla_undefined; oldest_age;
    mean and quantiles of each latency metric.
    """
    classes = find_classes(workload)
    positions = [*group_positions(classes.index, len(classes.labels)), np.arange(len(requests))]
    makespan = books.end - books.first
    billed = billed_after(workload, requests["progress"].to_numpy(np.int64))
    done = requests["completed"].to_numpy()
    ages, outcome = books.ages(until), requests["outcome"]
    rent = cost.worker * sum(group.count for group in groups) * makespan
    verdicts = judge(requests, workload, classes.index, classes.limits(), until)
    columns = {
        "revenue": classes.price(cost.price)[classes.index] * np.where(done, billed, 0),
        "cost": request_costs(stretches, schedule, requests, cost),
        "cost_workers": rent * _slot_shares(requests, stretches, schedule, ~np.isnan(ages)),
    }
    rows = []
    for at in positions:
        row: dict[str, Any] = {"arrived": int((~np.isnan(ages[at])).sum())}
        counts = outcome.iloc[at].value_counts(sort=False).drop("unreleased")
        row |= {str(name): int(number) for name, number in counts.items()}
        row |= {"tokens": int(billed[at].sum()), "throughput": _ratio(int(billed[at].sum()), makespan)}
        row |= _money({name: float(column[at].sum()) for name, column in columns.items()})
        row |= per_million(row, int(billed[at][done[at]].sum()))
        row |= {f"externality_{part}": requests[f"externality_{part}"].to_numpy()[at].sum()
                for part in ("paid", "caused")}  # fmt: skip
        row |= verdicts.counts(at, makespan)
        row["oldest_age"] = float(np.nanmax(ages[at])) if row["arrived"] else np.nan
        rows.append(row)
    table = pd.concat(
        [pd.DataFrame(rows), statistics_by_group(latency_columns(requests, workload), positions)], axis=1
    )
    return table.set_axis(pd.Index([*classes.labels, pooled_name(classes.labels)], name="label"), axis=0)


def per_million(money: Mapping[str, float], billed: int) -> dict[str, float]:
    """Cost, revenue and profit per million billed tokens of the completed; NaN where there are none.

    >>> per_million({"cost": 1.0, "revenue": 4.0, "profit": 3.0}, 500_000)["profit_per_million"]
    6.0
    """
    names = ("cost", "revenue", "profit")
    return {f"{name}_per_million": money[name] * 1e6 / billed if billed else np.nan for name in names}


def _money(sums: dict[str, float]) -> dict[str, float]:
    rent = np.nan_to_num(sums["cost_workers"])
    return sums | {"profit": sums["revenue"] - sums["cost"] - rent}


def _slot_shares(
    requests: pd.DataFrame, stretches: Stretches, schedule: Schedule, arrived: NDArray[np.bool_]
) -> Floats:
    """Each request's share of the slot time used; where none was, all that arrived have equal shares."""
    begins = stretches.start_times()[np.searchsorted(stretches.first, stretches.begin)]
    spent = stretches.time_at(stretches.end) - begins
    used = np.bincount(schedule.request[stretches.stays], weights=spent, minlength=len(requests))
    weights = used if used.any() else arrived
    shares: Floats = weights / max(weights.sum(), np.finfo(float).tiny)
    return shares


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else np.nan
