"""What every law of arrival offers: times from a stream, and the theory to hold them against."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Self

import numpy as np

from fairq.errors import InputError
from fairq.streams import open_uniforms
from fairq.validation import finite_number, whole_number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Times = NDArray[np.float64]

__all__ = [
    "LARGEST_CHUNK", "MAX_REQUESTS", "ArrivalLaw", "chunk_sizes", "exponentials", "running_sums",
    "unit_points",
]  # fmt: skip

MAX_REQUESTS = 200_000_000
"""The most requests that one draw may be expected to have."""

LARGEST_CHUNK = 1 << 18
"""The most numbers drawn, or requests made, at a time."""

_FIRST_CHUNK = 1 << 7


class ArrivalLaw(ABC):
    """A law of arrival times on [0, infinity), in the clock's unit of time.

    A law is frozen and checked when it is made.  Its counts N(t) are those of (0, t].
    """

    @property
    @abstractmethod
    def mean_rate(self) -> float:
        """Requests per unit of time in the long run."""

    @property
    @abstractmethod
    def interval_cv(self) -> float:
        """Standard deviation over mean of the gap between successive arrivals, in the long run."""

    @property
    @abstractmethod
    def dispersion(self) -> float:
        """Index of dispersion for counts: the limit of Var N(t) / E N(t)."""

    @property
    def period(self) -> float:
        """Time after which the law repeats; 0 for a law that knows no time of day."""
        return 0.0

    @abstractmethod
    def count_mean(self, time: float) -> float:
        """E N(time)."""

    @abstractmethod
    def count_variance(self, time: float) -> float:
        """Var N(time)."""

    @abstractmethod
    def scaled(self, rate: float) -> Self:
        """The same law at another mean rate; from one generator state it draws the same stream rescaled.

        Raises:
            InputError: `rate` is not a finite number > 0.
        """

    @abstractmethod
    def _chunks(self, generator: np.random.Generator, until: float) -> Iterator[Times]:
        """Sorted times, piece after piece, at the law's own pace; it may end once beyond `until`."""

    @property
    def _pace(self) -> float:
        """What the times of `_chunks` are divided by."""
        return 1.0

    def expected(self, count: int | None, until: float | None) -> float:
        """The expected number of requests that `times` makes, or an upper bound of it."""
        number = math.inf if count is None else float(count)
        return number if until is None else min(number, self.count_mean(until))

    def times(
        self, generator: np.random.Generator, count: int | None = None, until: float | None = None
    ) -> Times:
        """Arrival times, sorted: the first `count`, or those at or before `until`, whichever is fewer.

        The path depends on the generator's state alone: fewer requests are the beginning of more.

        Parameters:
            generator: the stream; `fairq.streams.stream(seed, replication, "arrivals")` in a scenario.
            count: a whole number >= 0.
            until: a time >= 0; an arrival at it counts, as it does in a run that stops there.

        Raises:
            InputError: neither is given, one is not allowed, more than 200,000,000 requests come
                before `until`, or a time is beyond every float.
        """
        if count is None and until is None:
            raise InputError("count and until are None: at least one must be given")
        most = MAX_REQUESTS + 1 if count is None else whole_number("count", count, at_least=0)
        end = math.inf if until is None else finite_number("until", until, at_least=0)
        return self._collected(generator, most, end)

    def _collected(self, generator: np.random.Generator, most: int, end: float) -> Times:
        parts, made = [np.zeros(0)], 0
        chunks = self._chunks(generator, end * self._pace) if most > 0 else iter(())
        for chunk in chunks:
            with np.errstate(over="ignore"):  # refused below
                times = chunk / self._pace
            kept = min(int(np.searchsorted(times, end, side="right")), most - made)
            parts.append(times[:kept])
            made += kept
            if made > MAX_REQUESTS:
                raise InputError(f"until is {end!r}: it must leave at most {MAX_REQUESTS:,} requests")
            if kept < len(times) or made == most:
                break
        # An inverse found by rounding may step back by a last bit.
        found = np.maximum.accumulate(np.concatenate(parts))
        if len(found) and not math.isfinite(found[-1]):
            raise InputError(f"rate is {self.mean_rate!r}: it must leave every arrival time finite")
        return found


def chunk_sizes() -> Iterator[int]:
    """How many numbers to draw at a time: few first, since many runs are short."""
    size = _FIRST_CHUNK
    while True:
        yield size
        size = min(2 * size, LARGEST_CHUNK)


def exponentials(uniforms: Times) -> Times:
    """Exponential variates of mean 1, one for each uniform, increasing in it.

    >>> exponentials(np.array([0.5])).tolist() == [np.log(2)]
    True
    """
    return -np.log1p(-uniforms)


def running_sums(base: float, gaps: Times) -> Times:
    """The sums of `gaps` added to `base` one after another: the same bits however they are cut in chunks.

    >>> running_sums(1.0, np.array([0.5, 0.25])).tolist()
    [1.5, 1.75]
    """
    return np.cumsum(np.concatenate([[base], gaps]))[1:]


def unit_points(generator: np.random.Generator) -> Iterator[Times]:
    """A Poisson process of rate 1, one uniform a point, in chunks."""
    base = 0.0
    for size in chunk_sizes():
        points = running_sums(base, exponentials(open_uniforms(generator, size)))
        base = float(points[-1])
        yield points
