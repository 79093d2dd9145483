"""A rate that is linear between breakpoints, its integral, and the inverse of that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from fairq.arrivals.process import Times

__all__ = ["Pieces"]


@dataclass(frozen=True, eq=False)
class Pieces:
    """Piece k runs from ``edges[k]`` to ``edges[k + 1]``, its rate from ``rates[k]`` on by ``slopes[k]``.

    Attributes:
        edges: n + 1 increasing times.
        rates, slopes: n each.
        masses: n + 1; the integral of the rate from the first edge to each.

    >>> Pieces.between(np.array([0., 2., 3., 5.]), np.array([1., 0., 4.])).masses.tolist()
    [0.0, 2.0, 2.0, 10.0]
    """

    edges: Times
    rates: Times
    slopes: Times
    masses: Times

    @classmethod
    def between(cls, edges: Times, rates: Times, ends: Times | None = None, base: float = 0.0) -> Pieces:
        """Pieces with `rates` at their beginnings and `ends` at their ends; without `ends` constant."""
        lengths = np.diff(edges)
        last = rates if ends is None else ends
        masses = np.cumsum(np.concatenate([[base], (rates + last) / 2 * lengths]))
        return cls(edges, rates, (last - rates) / lengths, masses)

    def integral(self, times: Times) -> Times:
        """The integral of the rate up to each of `times`, none of them before the first edge."""
        inside = np.minimum(times, self.edges[-1])
        piece = np.clip(np.searchsorted(self.edges, inside, side="right") - 1, 0, len(self.rates) - 1)
        since = inside - self.edges[piece]
        return np.asarray(self.masses[piece] + since * (self.rates[piece] + self.slopes[piece] * since / 2))

    def inverse(self, masses: Times) -> Times:
        """The times at which the integral reaches each of `masses`: never inside a piece of rate 0."""
        begun = int(np.searchsorted(self.masses, self.masses[0], side="right"))
        edge = np.clip(np.searchsorted(self.masses, masses, side="left"), begun, len(self.rates))
        piece = edge - 1
        rest = np.maximum(masses - self.masses[piece], 0)
        rate, slope = self.rates[piece], self.slopes[piece]
        # The root of rate·x + slope·x²/2 = rest in the form that loses no digits where slope is small.
        divisor = rate + np.sqrt(np.maximum(rate * rate + 2 * slope * rest, 0))
        since = np.divide(2 * rest, divisor, out=np.zeros_like(rest), where=divisor > 0)
        return np.asarray(np.minimum(self.edges[piece] + since, self.edges[edge]))
