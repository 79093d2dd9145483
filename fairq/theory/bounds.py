"""Lower bounds on the makespan of every fair schedule, whatever policy made it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairq.errors import InputError
from fairq.validation import finite_number, whole_number
from fairq.workload import Workload

__all__ = ["Bound", "makespan_lower_bound"]

_MOST_THRESHOLDS = 256

_Numbers = Sequence[float] | NDArray[np.integer] | NDArray[np.floating]


@dataclass(frozen=True, slots=True)
class Bound:
    """Three lower bounds on a makespan, in steps, and the best of them.

    Attributes:
        value: the largest of the three.
        area: the tokens need at least a B-th as many steps.
        longest: a request needs as many steps as it has tokens.
        cohort: long requests share steps only in groups of B that begin together.

    Whole numbers (int) without release dates, floats with them.

    >>> Bound(value=9, area=6, longest=7, cohort=9).value
    9
    """

    value: float
    area: float
    longest: float
    cohort: float


def makespan_lower_bound(
    tokens: _Numbers, batch_size: int, alpha: float, release: _Numbers | None = None
) -> Bound:
    """Steps that every fair schedule of these requests needs, from first release to last completion.

    Valid for nonpreemptive service (a request once begun gets a token in every step until it is done)
    on one worker on the token clock, in batches of at most B whose extent never exceeds alpha.  A
    policy that pauses requests, more workers, or steps of another length may well stay below it.

    Parameters:
        tokens: o_i of each request, whole, from 1 to 100,000,000 (tokens).
        batch_size: B, at least 1 (requests).
        alpha: the fairness budget, at least 0 (tokens); as everywhere, floor(alpha) counts.
        release: release date of each request, at least 0 (steps); None for a backlog.

    Raises:
        InputError: a value that is not as above, no request at all, or release dates too few or too many.

    **Area.** A step does at most B tokens: at least ceil(O/B) steps, O the sum of o_i.

    **Longest.** A step does one token of a request: at least max o_i steps, or with release dates
    max (release_i + o_i) minus the first release.

    **Cohort.** Call a request long if o_i > 2·floor(alpha), strictly.  While two requests share a step,
    their progress differs by as much as their first steps do, since neither is interrupted: requests
    that overlap begin within floor(alpha) of each other.  Among long requests overlap is transitive: if
    i overlaps j and j overlaps k, then i and k begin within 2·floor(alpha) of each other, so the earlier
    one is still in service when the later begins.  So the long requests fall into cliques.  The members
    of a clique overlap pairwise, and intervals that overlap pairwise have a common step, so a clique has
    at most B members; different cliques share no step.  A clique takes at least as many steps as its
    longest member.  With cliques in decreasing order of their longest, the first k hold at most kB
    requests, so the longest of the next is no shorter than the (1 + kB)-th largest of all.  Hence the
    makespan is at least the sum, over k = 0, 1, ..., of the (1 + kB)-th largest long request.

    **Release dates.** No step that begins before r serves a request released at r or later, so a schedule
    ends no sooner than r plus either bound for those requests alone.  Area and cohort are the best over
    such r: over all distinct release dates if there are at most 256, else over 256 of them spread evenly
    (any choice is valid; a finer one can only be tighter).

    Source: ours, for the model of Section 2 of the paper (batch size, contiguity and fairness constraints).

    >>> makespan_lower_bound([9, 7, 6, 5], batch_size=2, alpha=2)
    Bound(value=15, area=14, longest=9, cohort=15)
    >>> makespan_lower_bound([9, 7, 6, 5], batch_size=2, alpha=2, release=[0, 0, 3.5, 20]).value
    25.0
    """
    size = Workload.from_arrays(tokens=tokens).tokens
    batch_size = whole_number("batch_size", batch_size, at_least=1)
    longest_short = 2 * math.floor(finite_number("alpha", alpha, at_least=0))
    largest_first = np.argsort(-size, kind="stable")
    size = size[largest_first]
    if release is None:
        area, cohort = _area(size, batch_size), _cohort(size, batch_size, longest_short)
        longest = int(size[0])
        return Bound(max(area, longest, cohort), area, longest, cohort)
    return _bound_with_releases(
        size, batch_size, longest_short, _checked_release(release, len(size))[largest_first]
    )


def _bound_with_releases(
    size: NDArray[np.int64], batch_size: int, longest_short: int, release: NDArray[np.float64]
) -> Bound:
    """The three bounds for sizes in decreasing order with their release dates."""
    first = float(release.min())
    area = cohort = 0.0
    for threshold in _thresholds(release):
        later = size[release >= threshold]
        offset = float(threshold) - first
        area = max(area, offset + _area(later, batch_size))
        steps = _cohort(later, batch_size, longest_short)
        if steps:
            cohort = max(cohort, offset + steps)
    longest = float((release + size).max()) - first
    return Bound(max(area, longest, cohort), area, longest, cohort)


def _thresholds(release: NDArray[np.float64]) -> NDArray[np.float64]:
    """The release dates at which the bounds are taken, the first one always among them."""
    distinct = np.unique(release)
    if len(distinct) <= _MOST_THRESHOLDS:
        return distinct
    return distinct[np.linspace(0, len(distinct) - 1, _MOST_THRESHOLDS).astype(np.int64)]


def _area(size: NDArray[np.int64], batch_size: int) -> int:
    return -(-int(size.sum()) // batch_size)


def _cohort(size: NDArray[np.int64], batch_size: int, longest_short: int) -> int:
    """The first of every B long requests, summed; sizes in decreasing order."""
    return int(size[size > longest_short][::batch_size].sum())


def _checked_release(release: _Numbers, count: int) -> NDArray[np.float64]:
    if not isinstance(release, Iterable):
        raise InputError(f"release is {release!r}: it must be a sequence of numbers, one per request")
    dates = [finite_number(f"release[{i}]", value, at_least=0) for i, value in enumerate(release)]
    if len(dates) != count:
        raise InputError(f"release has {len(dates)} dates for {count} requests: each needs one")
    return np.array(dates)
