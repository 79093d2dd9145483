"""Checking of what is to be estimated from: a run's values, replications."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairq.errors import InputError
from fairq.validation import shown, whole_number

__all__ = ["batches", "checked_groups", "series"]


def series(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """`values` as a one-dimensional array of finite numbers.

    Raises:
        InputError: none at all, another shape, text, NaN or an infinity.

    >>> series("wait", [1, 2])
    array([1., 2.])
    """
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} is {shown(values)}: it must hold numbers") from None
    if array.ndim != 1 or not len(array):
        raise InputError(f"{name} has shape {array.shape}: it must be one-dimensional and not empty")
    wrong = ~np.isfinite(array)
    if wrong.any():
        at = int(wrong.argmax())
        raise InputError(f"{name}[{at}] is {float(array[at])!r}: it must be a finite number")
    return array


def checked_groups(groups: Sequence[ArrayLike]) -> list[NDArray[np.float64]]:
    """Replications or batches, two or more, each as `series` has it.

    Raises:
        InputError: fewer than two, or one that is no series.
    """
    found = [series(f"groups[{k}]", group) for k, group in enumerate(groups)]
    if len(found) < 2:
        raise InputError(f"groups holds {len(found)}: an interval needs at least 2 replications or batches")
    return found


def batches(values: ArrayLike, count: int = 10) -> list[NDArray[np.float64]]:
    """One run cut into `count` batches of equal length, in order; first values that are over are left out.

    Parameters:
        values: of one run, in the order of time, at least `count` of them.
        count: number of batches, at least 2.  Few long batches cover better than many short ones.

    Raises:
        InputError: values that are no series, or too few for so many batches.

    >>> [batch.tolist() for batch in batches([9, 1, 2, 3, 4], 2)]
    [[1.0, 2.0], [3.0, 4.0]]
    """
    run, count = series("values", values), whole_number("count", count, at_least=2)
    if len(run) < count:
        raise InputError(f"count is {count}: it must be at most the number of values, {len(run)}")
    return list(run[len(run) % count :].reshape(count, -1))
