"""Whether a queue grows throughout a run: a test of its drift against that of a critical queue."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairq.errors import InputError
from fairq.validation import finite_number

__all__ = ["growth_by_blocks", "queue_grows", "t_quantile"]

_BLOCKS = 20
_FEWEST_BLOCKS = 5
_ARRIVALS_A_BLOCK = 10
_FEW = 30


def queue_grows(arrival: ArrayLike, left_queue: ArrayLike, horizon: float, level: float = 0.01) -> bool:
    """Whether the queue grew throughout the arrival period, more than a queue without drift would.

    Parameters:
        arrival: release times in increasing order, in the clock's unit.
        left_queue: when each request left the queue, by its start or by giving up, at or after its
            arrival; infinity if it never did.  A rejected request leaves at its arrival.
        horizon: the end of the arrival period (the last arrival, or `until` if that is sooner).
        level: probability, at most, of calling a queue growing that does not, 0 < level < 1.

    Raises:
        InputError: arrays of different lengths or not one-dimensional, times that are NaN, out of order
            or before the arrival, an infinite horizon, or a level outside (0, 1).

    **The test.**  The period from the first arrival to `horizon` is cut into 20 blocks of equal length
    (fewer, where a block would hold fewer than 10 arrivals).  With q the number queued, d_k the growth
    of q over block k, and s the standard deviation of the d_k, the statistic is the studentised drift
    mean(d)·sqrt(K)/s = (q(end) − q(start)) / (s·sqrt(K)).  The boundary case is a queue whose load is
    exactly what it can carry: started empty it behaves as a Brownian motion without drift reflected
    at 0, so that q(end) is distributed as |N(0, σ²·period)| and the statistic as |t| with K − 1
    degrees of freedom.  The queue is called growing beyond the quantile 1 − level/2 of that law.  A
    stable queue has a smaller statistic still, however strongly its values depend on each other:
    what it fluctuates enters s at full, its start and end only once.  Growth that is confined to a
    few blocks, as in a rush hour, makes s as large as itself and is not called growth throughout.

    False where there is too little to judge: all arrivals at one instant (a backlog), or fewer than 50
    of them by `horizon`.

    Source: the test is ours; the boundary case is the heavy-traffic limit of the GI/GI/c queue
    (Iglehart and Whitt, Multiple channel queues in heavy traffic, Adv. Appl. Prob. 2, 1970).

    >>> arrival = np.arange(200.0)
    >>> queue_grows(arrival, 1.25 * arrival, horizon=199.0)  # a server that takes 1.25 for each
    True
    >>> queue_grows(arrival, arrival + 0.5, horizon=199.0)
    False
    """
    arrival, left_queue = _checked_times(arrival, left_queue)
    horizon, level = finite_number("horizon", horizon), finite_number("level", level)
    if not 0 < level < 1:
        raise InputError(f"level is {level!r}: it must be a probability > 0 and < 1")
    arrived = int(np.searchsorted(arrival, horizon, side="right"))
    blocks = min(_BLOCKS, arrived // _ARRIVALS_A_BLOCK)
    if blocks < _FEWEST_BLOCKS or arrival[arrived - 1] == arrival[0]:
        return False
    growth = growth_by_blocks(np.linspace(arrival[0], horizon, blocks + 1), arrival, left_queue)
    mean, spread = float(growth.mean()), float(growth.std(ddof=1))
    return mean > t_quantile(1 - level / 2, blocks - 1) * spread / math.sqrt(blocks)


def growth_by_blocks(
    times: NDArray[np.float64],
    arrival: NDArray[np.float64],
    left_queue: NDArray[np.float64],
    weight: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """By how much the queue grows between each two of the increasing `times`, what happens then included.

    Parameters:
        times: ends of the blocks.
        arrival, left_queue: when each request came and left, as in `queue_grows`, but in any order.
        weight: what each counts for, such as its tokens; None: one.

    >>> growth_by_blocks(np.array([0.0, 2.0, 4.0]), np.array([0.0, 1.0, 2.0]), np.array([3.0, 3.0, 5.0]))
    array([ 2., -2.])
    """

    def before(moments: NDArray[np.float64]) -> NDArray[np.float64]:
        if weight is None and (moments[1:] >= moments[:-1]).all():
            return np.searchsorted(moments, times, side="right").astype(np.float64)
        if weight is None and len(times) <= _FEW:  # so many looks at all moments are quicker than a search
            return np.array([np.count_nonzero(moments <= time) for time in times], dtype=np.float64)
        reached = np.searchsorted(times, moments, side="left")  # the first of `times` by which it happened
        total = np.bincount(reached, weights=weight, minlength=len(times) + 1)[: len(times)]
        return np.cumsum(total, dtype=np.float64)

    growth: NDArray[np.float64] = np.diff(before(arrival) - before(left_queue))
    return growth


def t_quantile(probability: float, freedom: int) -> float:
    """Student's t; scipy is loaded when first needed.

    >>> round(t_quantile(0.975, 9), 3)
    2.262
    """
    from scipy.special import stdtrit

    return float(stdtrit(freedom, probability))


def _checked_times(
    arrival: ArrayLike, left_queue: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    came, left = np.asarray(arrival, dtype=np.float64), np.asarray(left_queue, dtype=np.float64)
    if came.ndim != 1 or came.shape != left.shape:
        raise InputError(
            f"left_queue has shape {left.shape} and arrival {came.shape}: each request needs one time of each"
        )
    if not np.isfinite(came).all() or (np.diff(came) < 0).any():
        raise InputError("arrival must hold finite times in increasing order")
    early = ~(left >= came)
    if early.any():
        at = int(early.argmax())
        raise InputError(
            f"left_queue[{at}] is {float(left[at])!r}: it must be >= its arrival, {float(came[at])!r}"
        )
    return came, left
