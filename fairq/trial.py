"""Runs that end with their last arrival: what a queue did while requests came, and how it grew."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairq.arrivals import ArrivalLaw, Backlog, Poisson
from fairq.errors import InputError
from fairq.lengths import LengthLaw
from fairq.load import checked_sample
from fairq.policy import SETTINGS, check_policy
from fairq.simulate import simulate
from fairq.streams import open_uniforms, stream
from fairq.trend import growth_by_blocks, queue_grows, t_quantile
from fairq.validation import shown, whole_number
from fairq.workload import Workload

__all__ = ["Growth", "Trial", "Waits", "growth_of"]

_BLOCKS = 10
_CONFIDENCE = 0.99
_REFUSED = {
    "until": "a run ends with its last arrival",
    "replication": "it counts the runs at a rate",
    "record": "it is the table of requests that is looked at",
    "queue_limit": "who is rejected is not served, and would count as piled up",
    "abandon_after": "who leaves is not served, and would count as piled up",
    "max_queued": "a run that it stops is shorter than the others, and how its queue grew would not be seen",
}


@dataclass(frozen=True, eq=False)
class Waits:
    """Who came and left the queue of a run, until its last arrival.

    Attributes:
        arrival: times, sorted.
        left_queue: when each started, infinity if it did not.
        tokens: of each.
    """

    arrival: NDArray[np.float64]
    left_queue: NDArray[np.float64]
    tokens: NDArray[np.int64]

    @property
    def grows(self) -> bool:
        """Whether `fairq.trend.queue_grows` flags the run."""
        return queue_grows(self.arrival, self.left_queue, float(self.arrival[-1]))

    @property
    def shares(self) -> NDArray[np.float64]:
        """Of 10 blocks of the second half: growth of the queue in tokens, over the mean arriving in one."""
        half = self.arrival[len(self.arrival) // 2]
        times = np.linspace(half, self.arrival[-1], _BLOCKS + 1)
        growth = growth_by_blocks(times, self.arrival, self.left_queue, self.tokens.astype(np.float64))
        shares: NDArray[np.float64] = growth * _BLOCKS / float(self.tokens[self.arrival > half].sum())
        return shares


@dataclass(frozen=True, eq=False)
class Trial:
    """What is tried at one rate or another: a policy, a pool, a law of arrival and one of lengths.

    Parameters:
        policy: as `fairq.simulate` takes it.
        tokens: a `fairq.lengths.LengthLaw`, or an array from which lengths are drawn.
        requests: of a run, at least 1000.
        arrivals: a law of arrival, whose rate is changed; by default Poisson.
        settings: further keywords of `fairq.simulate`; `seed` among them is the root of the streams.

    Raises:
        InputError: too few requests, a backlog, lengths that are none, an option that the named policy has
            not, or `until`, `replication`, `record`, `queue_limit`, `abandon_after` or `max_queued` among
            the settings.

    >>> waits = Trial("fcfs", [20], 1000, settings={"batch_size": 1}).run(rate=0.04)
    >>> waits.grows
    False
    """

    policy: Any
    tokens: Any
    requests: int = 50_000
    arrivals: ArrivalLaw = field(default_factory=lambda: Poisson(1.0))
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "requests", whole_number("requests", self.requests, at_least=1000))
        whole_number("seed", self.settings.get("seed", 0), at_least=0)
        for name, reason in _REFUSED.items():
            if self.settings.get(name) is not None:
                raise InputError(f"{name} is {shown(self.settings[name])}: leave it out, for {reason}")
        if not isinstance(self.arrivals, ArrivalLaw) or isinstance(self.arrivals, Backlog):
            raise InputError(f"arrivals is {self.arrivals!r}: it must be a law of arrival that has a rate")
        if not isinstance(self.tokens, LengthLaw):
            object.__setattr__(self, "tokens", checked_sample(self.tokens))
        self._check_options()

    def _check_options(self) -> None:
        """Of a named policy; what may have been meant instead is none of the refused."""
        if isinstance(self.policy, str):
            own = {name: value for name, value in self.settings.items() if name not in ("alpha", *SETTINGS)}
            beside = [name for name in (*SETTINGS, "requests", "arrivals") if name not in _REFUSED]
            check_policy(self.policy, self.settings.get("alpha"), own, beside=beside)

    def workload(self, rate: float, replication: int = 0) -> Workload:
        """The requests of one run; at another rate the same ones, rescaled in time.

        Raises:
            InputError: the law of arrival ends before all have arrived.
        """
        seed = whole_number("seed", self.settings.get("seed", 0), at_least=0)
        arrivals = self.arrivals.scaled(rate)
        times = arrivals.times(stream(seed, replication, "arrivals"), count=self.requests)
        if len(times) < self.requests:
            raise InputError(
                f"arrivals end after {len(times):,} of {self.requests:,} requests: they must follow a law "
                "that goes on (a table of rates with repeat=True)"
            )
        lengths = stream(seed, replication, "lengths")
        if isinstance(self.tokens, LengthLaw):
            size = self.tokens.tokens(open_uniforms(lengths, self.requests))
        else:
            size = lengths.choice(self.tokens, size=self.requests)
        return Workload.from_arrays(size, times)

    def run(self, rate: float, replication: int = 0) -> Waits:
        """Serve them until the last arrival."""
        workload = self.workload(rate, replication)
        end = float(workload.arrival[-1])
        settings = {**self.settings, "until": end, "replication": replication, "max_queued": None}
        result = simulate(workload, self.policy, **settings)
        start = result.requests["start"].to_numpy(dtype=np.float64)
        return Waits(workload.arrival, np.where(np.isnan(start), math.inf, start), workload.tokens)


@dataclass(frozen=True, slots=True)
class Growth:
    """Share of the arriving tokens by which the queue grew, with its 99 % confidence interval."""

    mean: float
    low: float
    high: float


def growth_of(runs: Sequence[Waits]) -> Growth:
    """The growth over the second halves of independent runs.

    A run's growth is the sum of its blocks', whose neighbours are correlated: where the queue is stable, what
    one block gains the next loses, and the sum varies no more than a single block.  The variance of the
    sum therefore counts the covariance of neighbours, and is at least that of one block.
    """
    shares = np.array([run.shares for run in runs])
    mean = float(shares.mean())
    off = shares - mean
    variance = float((off**2).sum()) / (shares.size - 1)
    neighbours = float((off[:, 1:] * off[:, :-1]).mean())
    of_sum = max(_BLOCKS * variance + 2 * (_BLOCKS - 1) * neighbours, variance)
    reach = t_quantile((1 + _CONFIDENCE) / 2, shares.size - 1) * math.sqrt(of_sum / len(runs)) / _BLOCKS
    return Growth(mean, mean - reach, mean + reach)
