"""Where a run's warm-up ends: found by MSER-5, stated, or none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairq.errors import InputError
from fairq.output.samples import series
from fairq.validation import finite_number

__all__ = ["WarmUp", "fixed_cut", "mser5", "no_cut"]

_BATCH = 5
_LEAST = 10  # batches; fewer say nothing of a warm-up
_LAST = 5  # batches at the end that are no candidate: so few may be alike by chance


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmUp:
    """The values to leave out at the start of a run.

    Attributes:
        index: number of values to leave out.
        time: moment at which the rest begins; None where no times were given.
        reason: how the cut was chosen, in words.
        refused: why no cut can be trusted; None where one can.
        needed: number of values that would do, as far as these tell; None where nothing is refused.
    """

    index: int
    time: float | None = None
    reason: str
    refused: str | None = None
    needed: int | None = None


def mser5(values: ArrayLike, times: ArrayLike | None = None) -> WarmUp:
    """The cut after which the standard error of the mean is least, over means of 5 values.

    With Z_1 .. Z_k the means of 5 values each, the cut d minimises
    sum over j > d of (Z_j − mean of Z_(d+1) .. Z_k)² / (k − d)².  The last 5 means are no candidates.
    **Half rule:** a cut beyond half of the run is refused, for then the run is too short.

    Parameters:
        values: of one run, in the order of time.
        times: of the values, in increasing order, for `WarmUp.time`.

    Raises:
        InputError: values or times that are no finite series, or of different lengths, or out of order.

    Source: White, An effective truncation heuristic for bias reduction in simulation output, Simulation 69
    (1997); White, Cobb and Spratt, A comparison of five steady-state truncation heuristics, WSC 2000.

    >>> mser5([9.0] * 10 + [1.0, 2.0] * 50).index
    10
    """
    run, moments = _checked(values, times)
    count = len(run) // _BATCH
    if count < _LEAST:
        reason = f"{len(run)} values are too few to see a warm-up in"
        return WarmUp(
            index=0, time=_time_at(moments, 0), reason="MSER-5", refused=reason, needed=_BATCH * _LEAST
        )
    cut = _BATCH * int(np.argmin(_squared_errors(run[: _BATCH * count].reshape(count, _BATCH).mean(axis=1))))
    refused = f"the cut, {cut} of {len(run)} values, lies beyond half of the run: it is too short"
    too_short = 2 * cut > len(run)
    return WarmUp(
        index=cut,
        time=_time_at(moments, cut),
        reason=f"MSER-5: the mean is most precise without the first {cut} of {len(run)} values",
        refused=refused if too_short else None,
        needed=2 * len(run) if too_short else None,
    )


def fixed_cut(time: float, times: ArrayLike) -> WarmUp:
    """A stated cut: what happened before `time` is left out.

    Raises:
        InputError: a time that is not finite or beyond the last, or times out of order.

    >>> fixed_cut(2.5, [1.0, 2.0, 3.0]).index
    2
    """
    time = finite_number("time", time)
    moments = _increasing(times)
    index = int(np.searchsorted(moments, time, side="left"))
    if index == len(moments):
        raise InputError(f"time is {time!r}: it must be <= {float(moments[-1])!r}, or nothing is left")
    return WarmUp(index=index, time=time, reason=f"stated: what was before {time:g} is left out")


def no_cut() -> WarmUp:
    """No warm-up, for questions about a whole period that starts as it does.

    >>> no_cut().index
    0
    """
    return WarmUp(index=0, reason="none: the whole period is asked about")


def _squared_errors(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """By the number of means left out: the MSER statistic of the rest."""
    centred = (means - means.mean())[::-1]
    left = np.arange(1, len(means) + 1)
    spread = np.cumsum(centred**2) - np.cumsum(centred) ** 2 / left
    noise = np.finfo(np.float64).eps * float(np.sum(centred**2))  # of the sums; equal values must tie
    errors: NDArray[np.float64] = np.where(spread > 4 * noise, spread, 0.0) / left**2
    return errors[::-1][:-_LAST]


def _checked(
    values: ArrayLike, times: ArrayLike | None
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    run = series("values", values)
    moments = None if times is None else _increasing(times)
    if moments is not None and len(moments) != len(run):
        raise InputError(f"times holds {len(moments)}: it must hold one for each of the {len(run)} values")
    return run, moments


def _increasing(times: ArrayLike) -> NDArray[np.float64]:
    moments = series("times", times)
    if (np.diff(moments) < 0).any():
        raise InputError("times are out of order: they must increase")
    return moments


def _time_at(moments: NDArray[np.float64] | None, index: int) -> float | None:
    return None if moments is None else float(moments[index])
