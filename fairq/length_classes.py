"""Requests by length: who starves, who is slowed down, and how evenly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairq.errors import InputError
from fairq.groups import WorkerGroup, per_worker
from fairq.latencies import group_positions, quantile, quantiles
from fairq.occupancy import Occupancy
from fairq.stretches import Laws
from fairq.validation import whole_number

__all__ = ["LengthClasses", "jain_index", "length_class_table", "length_classes", "slowdown"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

MOST_CLASSES = 1000
_QUARTERS = (0.25, 0.5, 0.75)
_FEW = 8


@dataclass(frozen=True, eq=False, slots=True)
class LengthClasses:
    """Requests put into classes by their number of tokens.

    Attributes:
        low, high: the least and the largest number of tokens that belong to each class.
        index: the class of each request.
    """

    low: Ints
    high: Ints
    index: Ints

    def __len__(self) -> int:
        return len(self.low)

    @property
    def names(self) -> list[str]:
        """The classes in words.

        >>> length_classes(np.array([1, 4, 9]), [4]).names
        ['1-4', '5-9']
        """
        pairs = zip(self.low.tolist(), self.high.tolist(), strict=True)
        return [f"{low}-{high}" if low < high else f"{low}" for low, high in pairs]


def length_classes(tokens: Ints, edges: Sequence[float] | None = None) -> LengthClasses:
    """Classes of length: up to the first edge, above it up to the second, ..., above the last.

    Parameters:
        tokens: o_i of each request.
        edges: the largest number of tokens of every class but the last, whole, at least 1, increasing.
            None: the quartiles of `tokens`, so that the classes hold about a quarter of the requests each
            (fewer classes, where quartiles coincide).  The last class reaches up to the longest request,
            and there is none above an edge that no request exceeds.

    Raises:
        InputError: an edge that is not as above, or more than 999 edges.

    >>> length_classes(np.array([8, 1, 3, 5]), edges=[3]).index.tolist()
    [1, 0, 0, 1]
    """
    longest = int(tokens.max(initial=1))
    uppers = _quartiles(tokens) if edges is None else _checked(edges)
    uppers = uppers[uppers < longest]
    high = np.concatenate((uppers, [longest]))
    low = np.concatenate(([1], uppers + 1))
    return LengthClasses(low, high, _places(tokens, high))


def _places(tokens: Ints, high: Ints) -> Ints:
    """For each of `tokens` the first of `high` that it does not exceed."""
    if len(high) > _FEW:
        return np.searchsorted(high, tokens, side="left")
    index = np.zeros(len(tokens), dtype=np.int64)
    for edge in high[:-1]:  # which is quicker than a search where there are few
        index += tokens > edge
    return index


def slowdown(requests: Mapping[Any, Any] | pd.DataFrame, groups: Sequence[WorkerGroup]) -> Floats:
    """Latency over the time that the request takes alone on the same worker; NaN where not completed.

    Alone, o tokens take o steps of a batch of one: N = K1 = o and K2 = o(o + 1)/2.

    Source: the stretch of Bender, Chakrabarti and Muthukrishnan, SODA 1998.

    >>> import fairq
    >>> run = fairq.simulate(fairq.Workload.from_arrays([3, 1]), "fcfs", batch_size=1)
    >>> slowdown(run.requests, run.groups).tolist()
    [1.0, 4.0]
    """
    ratio = np.array(requests["latency"])  # NaN where not completed
    size = np.asarray(requests["tokens"]).astype(np.int64)
    law = Laws(per_worker(groups)[1]).of(np.asarray(requests["worker"]))
    ratio /= law.of(size, size, size * (size + 1) // 2)
    return ratio


def jain_index(values: Floats) -> float:
    """(sum x)²/(n·sum x²) of the n `values` that are not NaN: 1 if all are equal, 1/n if one has all.

    Source: Jain, Chiu and Hawe, A quantitative measure of fairness, DEC-TR-301, 1984.

    >>> jain_index(np.array([2.0, 2.0, np.nan])), jain_index(np.array([1.0, 3.0]))
    (1.0, 0.8)
    """
    known = values[~np.isnan(values)]
    squares = float((known * known).sum())
    return float(known.sum()) ** 2 / (len(known) * squares) if squares > 0 else np.nan


def mean_by_class(values: Floats, classes: LengthClasses) -> Floats:
    """Mean of the `values` that are not NaN in each class; NaN for a class without any."""
    index, known = classes.index, ~np.isnan(values)
    if not known.all():
        index, values = index[known], values[known]
    count = np.bincount(index, minlength=len(classes))
    total = np.bincount(index, weights=values, minlength=len(classes))
    means: Floats = np.divide(total, count, out=np.full(len(classes), np.nan), where=count > 0)
    return means


def length_class_table(
    requests: pd.DataFrame,
    classes: LengthClasses,
    groups: Sequence[WorkerGroup],
    books: Occupancy,
    until: float | None,
) -> pd.DataFrame:
    """A row per class of length: how many, how old they grew waiting, how long they waited, how slowed.

    Columns: arrived, completed, oldest_age (the longest that anybody waited, served or not),
    wait_mean, wait_p99, wait_p999 (of those that started), slowdown_mean, slowdown_p99 (of the completed).
    """
    age, slow = books.ages(until), slowdown(requests, groups)
    wait, done = np.asarray(requests["wait"]), np.asarray(requests["completed"])
    rows = []
    for at in group_positions(classes.index, len(classes)):
        waits, slowed, ages = wait[at], slow[at], age[at]
        arrived = ~np.isnan(ages)
        rows.append(
            {
                "arrived": int(arrived.sum()),
                "completed": int(done[at].sum()),
                "oldest_age": float(np.max(ages[arrived], initial=-np.inf)) if arrived.any() else np.nan,
                "wait_mean": _mean(waits),
                "wait_p99": quantile(waits, 0.99),
                "wait_p999": quantile(waits, 0.999),
                "slowdown_mean": _mean(slowed),
                "slowdown_p99": quantile(slowed, 0.99),
            }
        )
    return pd.DataFrame(rows, index=pd.Index(classes.names, name="tokens"))


def _mean(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else np.nan


def _quartiles(tokens: Ints) -> Ints:
    if len(tokens) == 0:
        return np.zeros(0, dtype=np.int64)
    if int(tokens.max()) > 10 * len(tokens):
        return np.unique(np.array(quantiles(tokens.astype(np.float64), _QUARTERS)).astype(np.int64))
    ranks = [ceil(len(tokens) * level) for level in _QUARTERS]
    return np.unique(np.searchsorted(np.cumsum(np.bincount(tokens)), ranks, side="left"))


def _checked(edges: Sequence[float]) -> Ints:
    whole = [whole_number(f"edges[{at}]", edge, at_least=1) for at, edge in enumerate(edges)]
    if len(whole) >= MOST_CLASSES:
        raise InputError(f"edges has {len(whole)} entries: at most {MOST_CLASSES - 1} are allowed")
    for at in range(1, len(whole)):
        if whole[at] <= whole[at - 1]:
            raise InputError(f"edges[{at}] is {whole[at]}: it must exceed the one before, {whole[at - 1]}")
    return np.array(whole, dtype=np.int64)
