"""Stationary laws of chains on 0, 1, 2, ... and the Poisson masses that they are made of."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairq.errors import InputError

__all__ = ["binomial_masses", "poisson_masses", "stationary"]

Floats = NDArray[np.float64]

_MOST_STATES = 3200
_REST = 1e-13


def poisson_masses(mean: ArrayLike, weight: ArrayLike = 1.0) -> Floats:
    """P(j), j = 0, 1, ..., of a Poisson number, or of a mixture of them by `weight`, to 1e-17.

    >>> poisson_masses(0.0).tolist()
    [1.0]
    >>> round(float(poisson_masses([1.0, 3.0], [0.5, 0.5]) @ np.arange(len(poisson_masses(3.0)))), 12)
    2.0
    """
    from scipy.special import gammaln, xlogy

    means, weights = np.broadcast_arrays(np.atleast_1d(np.asarray(mean, dtype=float)), weight)
    largest = float(means.max())
    most = 1 if largest == 0 else int(largest + 9 * np.sqrt(largest) + 30)
    return np.array([weights @ np.exp(xlogy(j, means) - means - gammaln(j + 1)) for j in range(most)])


def binomial_masses(count: int, chance: float) -> Floats:
    """P(j), j = 0 .. count, of a binomial number.

    >>> binomial_masses(2, 0.5).round(12).tolist()
    [0.25, 0.5, 0.25]
    """
    from scipy.special import gammaln, xlog1py, xlogy

    j = np.arange(count + 1)
    ways = gammaln(count + 1) - gammaln(j + 1) - gammaln(count - j + 1)
    masses: Floats = np.exp(ways + xlogy(j, chance) + xlog1py(count - j, -chance))
    return masses


def stationary(jump: Callable[[int], tuple[int, Floats]]) -> Floats:
    """The stationary law of a chain that goes from n to lowest + j with probability masses[j].

    Parameters:
        jump: from a state n to (lowest, masses).

    The states are cut off where less than 1e-13 is left beyond; what would go farther goes to the last.

    Raises:
        InputError: there is no such place below 3200 (the load is too close to 1).

    >>> law = stationary(lambda n: (max(n - 1, 0), np.array([0.75, 0.0, 0.25] if n else [0.75, 0.25])))
    >>> law[:3].round(12).tolist()  # a random walk: geometric with ratio 1/3
    [0.666666666667, 0.222222222222, 0.074074074074]
    """
    states = 100
    while states <= _MOST_STATES:
        law = _stationary_of(states, jump)
        if law[-states // 10 :].sum() < _REST:
            return law
        states *= 2
    raise InputError(f"the load is so near 1 that the law has mass beyond {_MOST_STATES} requests: lower it")


def _stationary_of(states: int, jump: Callable[[int], tuple[int, Floats]]) -> Floats:
    move = np.zeros((states, states))
    for n in range(states):
        lowest, masses = jump(n)
        kept = masses[: max(states - lowest, 0)]
        move[n, lowest : lowest + len(kept)] = kept
        move[n, -1] += masses[len(kept) :].sum()
    balance = move.T - np.eye(states)
    balance[0] = 1.0
    target = np.zeros(states)
    target[0] = 1.0
    law: Floats = np.maximum(np.linalg.solve(balance, target), 0.0)
    law /= law.sum()
    return law
