"""Running on until an estimate is as precise as asked for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairq.errors import InputError
from fairq.output.estimate import Estimate
from fairq.output.samples import series
from fairq.validation import finite_number, whole_number

__all__ = ["Stopped", "until_precise"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """Where a run was ended.

    Attributes:
        estimate: the last one.
        is_precise: whether it is as precise as asked for; otherwise `at_most` was reached.
        lengths: at which it was looked at.
    """

    estimate: Estimate
    is_precise: bool
    lengths: tuple[int, ...]


def until_precise(
    more: Callable[[int], ArrayLike],
    estimate: Callable[[NDArray[np.float64]], Estimate],
    *,
    relative: float | None = None,
    absolute: float | None = None,
    first: int = 10_000,
    growth: float = 2.0,
    at_most: int = 10_000_000,
) -> Stopped:
    """Ask for values until the interval of their estimate is narrow enough.

    It is looked at only at `first` values, `growth` times as many, and so on: who looks after every value
    stops where the interval is narrow by chance.  A refused estimate is not precise.

    Parameters:
        more: gives the next so many values of the run.
        estimate: of all values so far, such as ``lambda run: quantile(batches(run), 0.95)``.
        relative: wanted error relative to the truth, g: stops at half-width <= g/(1 + g)·|estimate|.
        absolute: wanted half-width, in the unit of the values.  One of the two, or both.
        first, growth, at_most: the lengths looked at; growth > 1.

    Raises:
        InputError: no precision wanted, a number not as above, or `more` giving another number of values.

    Source: Law, Simulation Modeling and Analysis, section 9.4.1, for g/(1 + g).

    >>> from fairq.output.means import mean_of_batches
    >>> draw = np.random.default_rng(1).random
    >>> stopped = until_precise(draw, mean_of_batches, relative=0.02, first=500)
    >>> stopped.is_precise, stopped.lengths[:2]
    (True, (500, 1000))
    """
    relative, absolute = _wanted(relative, absolute)
    length, growth = whole_number("first", first, at_least=1), finite_number("growth", growth, above=1)
    at_most = whole_number("at_most", at_most, at_least=length)
    values, lengths = np.empty(0), []
    while True:
        values = np.concatenate([values, _next(more, length - len(values))])
        lengths.append(length)
        found = estimate(values)
        precise = _is_precise(found, relative, absolute)
        if precise or length == at_most:
            return Stopped(estimate=found, is_precise=precise, lengths=tuple(lengths))
        length = min(at_most, max(length + 1, math.ceil(length * growth)))


def _wanted(relative: float | None, absolute: float | None) -> tuple[float, float]:
    """Both precisions; infinite is one that is not asked for."""
    if relative is None and absolute is None:
        raise InputError("relative and absolute are None: one of them must say how precise is enough")
    return (
        math.inf if relative is None else finite_number("relative", relative, above=0),
        math.inf if absolute is None else finite_number("absolute", absolute, above=0),
    )


def _next(more: Callable[[int], ArrayLike], count: int) -> NDArray[np.float64]:
    chunk = series("more", more(count))
    if len(chunk) != count:
        raise InputError(f"more gave {len(chunk)} values: it must give the {count} it was asked for")
    return chunk


def _is_precise(found: Estimate, relative: float, absolute: float) -> bool:
    if found.refused is not None:
        return False
    share = 1.0 if math.isinf(relative) else relative / (1 + relative)
    near = math.isinf(relative) or found.half_width <= share * abs(found.mean)
    return near and found.half_width <= absolute
