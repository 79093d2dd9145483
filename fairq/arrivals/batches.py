"""Requests that arrive in groups."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairq.arrivals.process import LARGEST_CHUNK, MAX_REQUESTS, chunk_sizes, exponentials, running_sums
from fairq.arrivals.steady import Steady
from fairq.distributions import Distribution
from fairq.errors import InputError
from fairq.streams import open_uniforms
from fairq.validation import whole_number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairq.arrivals.process import Times

__all__ = ["BatchPoisson"]


@dataclass(frozen=True)
class BatchPoisson(Steady):
    """Groups of requests at the times of a Poisson process; those of a group arrive together.

    Parameters:
        rate: requests (not groups) per unit of time, > 0.
        size: how many arrive together, a whole number from 1 to 200,000,000, or a discrete `Distribution`
            of that.

    Raises:
        InputError: a value that is not allowed, or sizes below 1 or without a mean.

    >>> BatchPoisson(rate=8, size=4).dispersion
    4.0
    >>> str(BatchPoisson(8, Distribution("geom", {"p": 0.5})).size)
    'geom(p=0.5)'
    """

    size: int | Distribution = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        size = self.size
        if not isinstance(size, Distribution):
            object.__setattr__(self, "size", whole_number("size", size, at_least=1, at_most=MAX_REQUESTS))
        elif not size.is_discrete or size.support[0] < 1 or not math.isfinite(size.mean):
            raise InputError(
                f"size is {size}: it must be a discrete distribution of values >= 1 with a mean "
                "(loc = 1 moves one that begins at 0)"
            )

    @property
    def _moments(self) -> tuple[float, float]:
        """Mean and mean square of the size."""
        if isinstance(self.size, Distribution):
            return self.size.mean, self.size.variance + self.size.mean**2
        return float(self.size), float(self.size**2)

    @property
    def interval_cv(self) -> float:
        """sqrt(2·E[size] − 1): of E[size] gaps one is exponential, the others are 0."""
        return math.sqrt(2 * self._moments[0] - 1)

    @property
    def dispersion(self) -> float:
        """E[size²] / E[size], for counts over any time."""
        return self._moments[1] / self._moments[0]

    def _chunks(self, generator: np.random.Generator, until: float) -> Iterator[Times]:
        base, mean = 0.0, self._moments[0]
        for size in chunk_sizes():
            uniforms = open_uniforms(generator, 2 * size).reshape(-1, 2)  # gap and size of each group
            epochs = running_sums(base, exponentials(uniforms[:, 0]))
            base = float(epochs[-1])
            yield from _expanded(epochs * mean, self._sizes(uniforms[:, 1]))

    def _sizes(self, uniforms: Times) -> NDArray[np.int64]:
        if isinstance(self.size, Distribution):
            most = MAX_REQUESTS + 1  # more than a draw may have, so no more need be told apart
            return np.minimum(self.size.quantiles(uniforms), most).astype(np.int64)
        return np.full(len(uniforms), self.size)


def _expanded(epochs: Times, sizes: NDArray[np.int64]) -> Iterator[Times]:
    """Each of `epochs` as often as its group is large, in pieces: no more are made than are taken."""
    ends = np.cumsum(sizes)
    for begin in range(0, int(ends[-1]), LARGEST_CHUNK):
        stop = min(begin + LARGEST_CHUNK, int(ends[-1]))
        first = int(np.searchsorted(ends, begin, side="right"))
        last = int(np.searchsorted(ends, stop, side="left")) + 1
        upto = np.minimum(ends[first:last], stop)
        yield np.repeat(epochs[first:last], np.diff(upto, prepend=begin))
