"""How loose the predicted intervals are, and what the paper claims that costs Robust-ISJL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from math import floor
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairq.errors import InputError
from fairq.validation import whole_number

if TYPE_CHECKING:
    from fairq.result import Result

__all__ = [
    "PackableSlack",
    "PredictionQuality",
    "aggregate_bound",
    "packable_bound",
    "packable_slack",
    "prediction_quality",
]

Ints = NDArray[np.int64]

MOST_EXACT = 12


@dataclass(frozen=True, slots=True)
class PackableSlack:
    """The packable residual prediction error of Section 3.4, or an upper bound on it.

    Attributes:
        value: the sum over groups of the largest u_i − o_i in each (tokens).
        method: how the groups were found.  ``"exact"``: no partition is cheaper.  ``"by length"``:
            consecutive in order of length.  ``"by slack"``: within windows of length, in order of slack.
        groups: how many there are.
    """

    value: int
    method: str
    groups: int


@dataclass(frozen=True, slots=True)
class PredictionQuality:
    """A workload's intervals [l_i, u_i], the bounds of Section 3.4, and what the run achieved.

    Attributes:
        kappa: the least l_i/u_i; 1 is exact, NaN without requests.
        slack: the sum of u_i − o_i (tokens).
        mean_slack: slack over the sum of o_i.
        packable: slack once requests of like length share it; None without an alpha.
        packable_bound: Theorem 3.22's lower bound on T_OPT/T, 3/4 / (1 + packable/T_OPT), with the
            certified lower bound in the place of T_OPT, which can only lower it; NaN without an alpha.
        aggregate_bound: Corollary 3.24's, 3/4 / (1 + B·mean_slack).
        measured: the certified lower bound on the makespan over the run's makespan, in steps: at most
            T_OPT/T.  NaN where the run has none to compare with: more workers than one, steps of
            varying length, requests left unserved, or no alpha.
        claimed: whether the paper claims the bounds of this run: robust-isjl on a backlog, one worker,
            B at least 2, steps of one length.  (The claim itself fails; see the theorem audit.)
    """

    kappa: float
    slack: int
    mean_slack: float
    packable: PackableSlack | None
    packable_bound: float
    aggregate_bound: float
    measured: float
    claimed: bool


def packable_bound(packable: float, makespan: float) -> float:
    """Theorem 3.22 of the paper: T_OPT/T >= 3/4 / (1 + packable/T_OPT); NaN for a makespan of 0.

    >>> packable_bound(0, 10), packable_bound(10, 10)
    (0.75, 0.375)
    """
    return 0.75 / (1 + packable / makespan) if makespan > 0 else np.nan


def aggregate_bound(mean_slack: float, batch_size: int) -> float:
    """Corollary 3.24 of the paper: T_OPT/T >= 3/4 / (1 + B·mean_slack).

    >>> aggregate_bound(0.5, 2)
    0.375
    """
    return 0.75 / (1 + batch_size * mean_slack)


def packable_slack(tokens: ArrayLike, upper: ArrayLike, batch_size: int, alpha: int) -> PackableSlack:
    """Split the requests into groups that share their slack, for the least sum of largest slacks.

    A group holds at most B requests whose lengths differ by at most alpha; it costs its largest
    u_i − o_i.  Up to 12 requests the least cost is found by trying all groups that matter; beyond, the
    better of two partitions is taken, which is valid but may not be the cheapest, and `method` says so.
    Without any slack the cost is 0, which is exact for any number.

    Parameters:
        tokens, upper: o_i and u_i of each request, whole, u_i at least o_i.
        batch_size: B, at least 1.
        alpha: whole, at least 0 (tokens).

    Raises:
        InputError: a batch size or alpha that is not allowed, or an upper bound below the tokens.

    Source: the definition of the packable residual before Theorem 3.22 of the paper.

    >>> packable_slack([5, 5, 9], [8, 6, 10], batch_size=2, alpha=1)  # groups {5, 5} and {9}
    PackableSlack(value=4, method='exact', groups=2)
    """
    size = np.asarray(tokens, dtype=np.int64)
    slack = np.asarray(upper, dtype=np.int64) - size
    batch_size = whole_number("batch_size", batch_size, at_least=1)
    alpha = whole_number("alpha", alpha, at_least=0)
    if (slack < 0).any():
        at = int(np.flatnonzero(slack < 0)[0])
        raise InputError(f"upper[{at}] is {size[at] + slack[at]}: it must be >= tokens[{at}], {size[at]}")
    if not slack.any():
        cuts = _runs(np.sort(size), batch_size, alpha)
        return PackableSlack(0, "exact", len(cuts))
    if len(size) <= MOST_EXACT:
        return PackableSlack(*_exact(size.tolist(), slack.tolist(), batch_size, alpha))
    return min(
        _by_length(size, slack, batch_size, alpha),
        _by_slack(size, slack, batch_size, alpha),
        key=lambda found: found.value,
    )


def _exact(size: list[int], slack: list[int], batch_size: int, alpha: int) -> tuple[int, str, int]:
    """The cheapest partition, by the set of requests that are left.

    The request of largest slack that is left fixes its group's cost.  A group that could take another
    request loses nothing by it, so only groups that are full, or hold all that fit, are tried.
    """
    order = sorted(range(len(size)), key=lambda i: -slack[i])
    size, slack = [size[i] for i in order], [slack[i] for i in order]

    @cache
    def best(left: int) -> tuple[int, int]:
        if not left:
            return 0, 0
        members = [i for i in range(len(size)) if left >> i & 1]
        head = members[0]
        found = []
        for group in _groups(size, members, batch_size, alpha):
            cost, number = best(left & ~sum(1 << i for i in group))
            found.append((slack[head] + cost, number + 1))
        return min(found)

    cost, number = best((1 << len(size)) - 1)
    return cost, "exact", number


def _groups(size: list[int], members: list[int], batch_size: int, alpha: int) -> set[tuple[int, ...]]:
    """The groups with the first of `members` that are full, or hold all of a window of length."""
    head = members[0]
    groups: set[tuple[int, ...]] = set()
    for shortest in {size[i] for i in members if size[head] - alpha <= size[i] <= size[head]}:
        fitting = [i for i in members[1:] if shortest <= size[i] <= shortest + alpha]
        groups.update((head, *others) for others in combinations(fitting, min(batch_size - 1, len(fitting))))
    return groups


def _by_length(size: Ints, slack: Ints, batch_size: int, alpha: int) -> PackableSlack:
    """Cut the requests in order of length as soon as a group is full or its lengths differ too much."""
    order = np.argsort(-size, kind="stable")
    cuts = _runs(-size[order], batch_size, alpha)
    return PackableSlack(int(np.maximum.reduceat(slack[order], cuts).sum()), "by length", len(cuts))


def _by_slack(size: Ints, slack: Ints, batch_size: int, alpha: int) -> PackableSlack:
    """Windows of alpha + 1 lengths; in each the requests in order of slack, B to a group (the best there)."""
    window = (size - size.min()) // (alpha + 1)
    order = np.lexsort((-slack, window))
    begins = np.searchsorted(window[order], window[order], side="left")
    heads = (np.arange(len(size)) - begins) % batch_size == 0
    return PackableSlack(int(slack[order][heads].sum()), "by slack", int(heads.sum()))


def _runs(ordered: Ints, batch_size: int, alpha: int) -> Sequence[int]:
    """Where groups begin if increasing numbers are cut into runs of at most B within alpha of each other."""
    within = np.searchsorted(ordered, ordered + alpha, side="right")
    reach = np.minimum(within, np.arange(len(ordered)) + batch_size).tolist()
    cuts, at = [], 0
    while at < len(reach):
        cuts.append(at)
        at = reach[at]
    return cuts


def prediction_quality(run: Result) -> PredictionQuality:
    """The intervals of a run's workload, and the bounds of Section 3.4 beside what the run achieved."""
    workload, alpha = run.workload, None if run.alpha is None else floor(run.alpha)
    slack = int((workload.upper - workload.tokens).sum())
    mean_slack = slack / int(workload.tokens.sum()) if len(workload) else np.nan
    shortest, packable = _least_makespan(run), None
    if alpha is not None and len(workload):
        packable = packable_slack(workload.tokens, workload.upper, run.batch_size, alpha)
    steps = run.summary["makespan"] / run.clock.c if _in_steps(run) else np.nan
    return PredictionQuality(
        kappa=float((workload.lower / workload.upper).min()) if len(workload) else np.nan,
        slack=slack,
        mean_slack=mean_slack,
        packable=packable,
        packable_bound=np.nan if packable is None else packable_bound(packable.value, shortest),
        aggregate_bound=aggregate_bound(mean_slack, run.batch_size),
        measured=shortest / steps,
        claimed=_in_steps(run) and run.policy == "robust-isjl" and run.batch_size >= 2 and _is_backlog(run),
    )


def _in_steps(run: Result) -> bool:
    """Whether the makespan is that of one worker that served all, in steps of one length."""
    served = len(run.workload) > 0 and run.summary["completed"] == len(run.workload)
    return bool(served) and run.workers == 1 and run.clock.is_constant


def _is_backlog(run: Result) -> bool:
    return bool(np.ptp(run.workload.arrival) == 0)


def _least_makespan(run: Result) -> float:
    """The certified lower bound on the makespan in steps; NaN where it says nothing of this run."""
    from fairq.theory import makespan_lower_bound

    if run.alpha is None or not _in_steps(run):
        return np.nan
    workload = run.workload
    release = None if _is_backlog(run) else (workload.arrival - workload.arrival.min()) / run.clock.c
    return makespan_lower_bound(workload.tokens, run.batch_size, run.alpha, release).value
