"""Comparing policies that met the same workloads: paired differences, and which may be the best."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairq.errors import InputError, unknown_name
from fairq.output.estimate import Estimate
from fairq.output.means import t_reach
from fairq.output.samples import series
from fairq.trend import t_quantile
from fairq.validation import proper_fraction

__all__ = ["Best", "Difference", "best", "paired_differences"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A policy less the baseline.

    Attributes:
        name: of the policy.
        estimate: of the difference; all intervals of one comparison hold at once (Bonferroni).
        p_value: of no difference, adjusted by Holm.
        differs: whether it is below 1 − confidence; such a verdict is wrong nowhere with `confidence`.
    """

    name: str
    estimate: Estimate
    p_value: float
    differs: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Best:
    """Which policies may be the best.

    Attributes:
        leader: the one with the best mean here.
        may_be: those that are not excluded, in the order given; the best is among them with `confidence`.
        confidence: as asked for.
    """

    leader: str
    may_be: tuple[str, ...]
    confidence: float


def paired_differences(
    results: Mapping[str, ArrayLike], baseline: str, confidence: float = 0.95
) -> tuple[Difference, ...]:
    """Each policy less the baseline, over replications that share their workload.

    Intervals are Bonferroni's, each at 1 − (1 − confidence)/m for m differences, so that all of them cover
    at once with `confidence`.  Verdicts are Holm's, which finds at least as much at the same risk; so a
    difference may be found whose interval still reaches 0.

    Parameters:
        results: by policy, one number per replication, in the same order of replications for all.
        baseline: one of the policies.

    Raises:
        InputError: fewer than two policies or replications, unlike numbers of them, an unknown baseline.

    Source: Holm, A simple sequentially rejective multiple test procedure, Scand. J. Stat. 6 (1979).

    >>> (found,) = paired_differences({"fcfs": [5.0, 9.0, 7.0], "isjl": [4.0, 8.0, 6.0]}, "fcfs")
    >>> found.name, found.estimate.mean, found.differs
    ('isjl', -1.0, True)
    """
    confidence, table = proper_fraction("confidence", confidence), _checked(results)
    if baseline not in table:
        raise unknown_name("baseline", baseline, table)
    gaps = {name: values - table[baseline] for name, values in table.items() if name != baseline}
    each = 1 - (1 - confidence) / len(gaps)
    adjusted = _holm([_p_value(gap) for gap in gaps.values()])
    return tuple(
        Difference(
            name=name, estimate=_estimate(gap, each, confidence), p_value=p, differs=p < 1 - confidence
        )
        for (name, gap), p in zip(gaps.items(), adjusted, strict=True)
    )


def best(results: Mapping[str, ArrayLike], confidence: float = 0.95, *, largest: bool = False) -> Best:
    """Which policies may have the best mean, by paired comparison of each with all others.

    A policy is excluded if it is worse than another beyond Student's one-sided bound at
    (1 − confidence)/(k − 1), k being the number of policies.  The truly best one is compared with k − 1
    others, so it is excluded with probability at most 1 − confidence, however the policies are correlated.

    Parameters:
        results: by policy, one number per replication, in the same order of replications for all.
        largest: whether the best is the largest; otherwise the smallest.

    Raises:
        InputError: fewer than two policies or replications, or unlike numbers of them.

    Source: multiple comparison with the best (Hsu, 1984), in Bonferroni's form for common random numbers
    (Nelson and Matejcik, Management Science 41, 1995).

    >>> best({"a": [1.0, 2.0, 3.0], "b": [1.1, 1.9, 3.1], "c": [7.0, 8.1, 9.0]}).may_be
    ('a', 'b')
    """
    confidence, table = proper_fraction("confidence", confidence), _checked(results)
    costs = {name: -values if largest else values for name, values in table.items()}
    bound = t_quantile(1 - (1 - confidence) / (len(costs) - 1), len(next(iter(costs.values()))) - 1)
    may_be = tuple(
        name
        for name, own in costs.items()
        if not any(_is_worse(own - other, bound) for key, other in costs.items() if key != name)
    )
    leader = min(costs, key=lambda name: float(costs[name].mean()))
    return Best(leader=leader, may_be=may_be, confidence=confidence)


def _checked(results: Mapping[str, ArrayLike]) -> dict[str, NDArray[np.float64]]:
    table = {name: series(f"results[{name!r}]", values) for name, values in results.items()}
    if len(table) < 2:
        raise InputError(f"results holds {len(table)}: a comparison needs at least 2 policies")
    lengths = {name: len(values) for name, values in table.items()}
    if len(set(lengths.values())) > 1 or min(lengths.values()) < 2:
        listing = ", ".join(f"{name}: {length}" for name, length in lengths.items())
        raise InputError(
            f"results holds replications {listing}: the same number, at least 2, is needed of all"
        )
    return table


def _estimate(gap: NDArray[np.float64], each: float, confidence: float) -> Estimate:
    mean, reach = float(gap.mean()), t_reach(gap, each)
    return Estimate(
        mean=mean, low=mean - reach, high=mean + reach, confidence=confidence,
        size=len(gap), effective_size=float(len(gap)),
    )  # fmt: skip


def _p_value(gap: NDArray[np.float64]) -> float:
    """Two-sided, of a mean of 0."""
    from scipy.special import stdtr

    mean, error = abs(float(gap.mean())), t_error(gap)
    if not error:
        return float(mean == 0)
    return 2 * float(stdtr(len(gap) - 1, -mean / error))


def t_error(gap: NDArray[np.float64]) -> float:
    """Standard error of the mean of independent values.

    >>> t_error(np.array([1.0, 3.0]))
    1.0
    """
    return float(gap.std(ddof=1) / np.sqrt(len(gap)))


def _holm(p_values: list[float]) -> list[float]:
    """Adjusted: the i-th least of m (from 0) times m − i, at least as much as those before, at most 1."""
    order = np.argsort(p_values, kind="stable")
    factors = len(p_values) - np.arange(len(p_values))
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(np.maximum.accumulate(np.asarray(p_values)[order] * factors), 1.0)
    return [float(p) for p in adjusted]


def _is_worse(gap: NDArray[np.float64], bound: float) -> bool:
    return float(gap.mean()) > bound * t_error(gap)
