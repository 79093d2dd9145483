"""The largest arrival rate that a policy keeps up with, searched for with arrivals, never with a backlog."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairq.cost import Cost, StepTime, resolve_clock
from fairq.errors import InputError
from fairq.lengths import LengthLaw
from fairq.load import checked_sample, demand_of
from fairq.simulate import simulate
from fairq.streams import open_uniforms, stream
from fairq.trend import growth_by_blocks, queue_grows, t_quantile
from fairq.validation import finite_number, whole_number
from fairq.workload import Workload

__all__ = ["Probe", "StableRate", "arrivals_run", "stable_rate"]

_BLOCKS = 10
_CONFIDENCE = 0.99
_SETTLED = 0.01  # of the tokens that arrive may still pile up at a rate that counts as stable


@dataclass(frozen=True, slots=True)
class Probe:
    """What was seen at one arrival rate.

    Attributes:
        rate, load: total arrival rate, and the offered load it makes.
        growth: share of the tokens arriving in the second half of the runs that piled up in the queue.
        low, high: its 99 % confidence interval.
        runs, flagged: independent runs, and how many of them `fairq.trend.queue_grows` flags.
        verdict: ``"stable"``, ``"unstable"`` or ``"open"``.
    """

    rate: float
    load: float
    growth: float
    low: float
    high: float
    runs: int
    flagged: int
    verdict: str


@dataclass(frozen=True, slots=True)
class StableRate:
    """Between which arrival rates a policy stops keeping up.

    Attributes:
        low: a rate that it keeps up with; 0 if none was found.
        high: a rate that it does not.
        load_low, load_high: the offered loads of these rates.
        policy, alpha: whose they are.
        probes: what was seen, in the order of asking.
    """

    low: float
    high: float
    load_low: float
    load_high: float
    policy: str
    alpha: float | None
    probes: tuple[Probe, ...] = field(repr=False)


def stable_rate(
    policy: Any,
    tokens: Any,
    *,
    batch_size: int,
    alpha: float | None = None,
    workers: Any = 1,
    dispatch: str = "central",
    clock: str | StepTime = "token",
    cost: Cost | None = None,
    requests: int = 50_000,
    replications: int = 4,
    precision: float = 0.04,
    seed: int = 0,
    on_probe: Callable[[Probe], None] | None = None,
    **options: Any,
) -> StableRate:
    """Search for the largest Poisson rate at which the queue does not grow without end.

    Parameters:
        policy, alpha, workers, batch_size, dispatch, clock, cost, options: as `fairq.simulate` takes them.
        tokens: lengths: a `fairq.lengths.LengthLaw`, or an array from which they are drawn.
        requests: of a run, at least 1000; runs end with the last arrival.
        replications: runs at one rate, at most, >= 2.
        precision: relative width of the interval at which the search stops, in (0, 1).
        seed: root of the random streams; all rates and policies share the same requests, rescaled in time.
        on_probe: called with each `Probe` as soon as it is known.

    Raises:
        InputError: a value that is not as above.

    **The search** halves the interval between a rate known to be stable and one known not to be, at first
    between 0 and the rate of offered load 1 (`fairq.load.offered_load`), at which no policy is stable.  At
    each rate the queue starts empty, the first half of the run is left out, and the second is cut into 10
    blocks; the tokens by which the queue grows in each, over the tokens arriving, give a mean and a
    99 % t interval over the blocks of all runs (their neighbours' covariance counted).  A rate is *unstable*
    if the interval lies above 0 or `fairq.trend.queue_grows` flags each of two runs or more; *stable* if none
    is flagged and the interval lies below 1 %, which `low` is then lowered by to make up for it.  Otherwise
    another run is made, up to `replications`; a rate that is open then is left inside the interval.

    A backlog would not do: with a long queue of every size in store most policies fill their batches, which
    under arrivals they do not.

    >>> import fairq
    >>> found = stable_rate("fcfs", [20], batch_size=1, requests=2000, precision=0.2)  # M/D/1: 1/20
    >>> 0.8 * 0.05 < found.low < 0.05 <= found.high
    True
    """
    _check_search(requests, replications, precision)
    law = resolve_clock(clock, Cost() if cost is None else cost)
    work = demand_of(tokens).work(law, whole_number("batch_size", batch_size, at_least=1))
    count = whole_number("workers", workers, at_least=1)
    settings = {"alpha": alpha, "workers": workers, "batch_size": batch_size, "dispatch": dispatch}
    settings |= {"clock": law, "cost": cost, "seed": seed, **options}
    name = policy if isinstance(policy, str) else getattr(policy, "__name__", type(policy).__name__)
    search = _Search(0.0, count / work)
    while (rate := search.next_rate(precision)) is not None:
        probe = _probe(policy, tokens, rate, rate * work / count, requests, replications, settings)
        search.note(probe)
        if on_probe is not None:
            on_probe(probe)
    low = search.low * (1 - _SETTLED)
    return StableRate(
        low, search.high, low * work / count, search.high * work / count, name, alpha, tuple(search.probes)
    )


class _Search:
    """The interval so far, and the rates inside it that stayed open."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high
        self.open: list[float] = []
        self.probes: list[Probe] = []

    def next_rate(self, precision: float) -> float | None:
        """The middle of the wider of the gaps around the open rates; None once they are narrow enough."""
        if not self.open:
            gap = (self.low, self.high)
            width = precision
        else:
            gap = max(
                (self.low, self.open[0]), (self.open[-1], self.high), key=lambda ends: ends[1] - ends[0]
            )
            width = precision / 4
        if gap[1] - gap[0] <= width * self.high or len(self.probes) >= 40:
            return None
        return (gap[0] + gap[1]) / 2

    def note(self, probe: Probe) -> None:
        """Narrow the interval by what was seen."""
        self.probes.append(probe)
        if probe.verdict == "stable":
            self.low = probe.rate
        elif probe.verdict == "unstable":
            self.high = probe.rate
        else:
            self.open.append(probe.rate)
        self.open = sorted(rate for rate in self.open if self.low < rate < self.high)


def _probe(
    policy: Any,
    tokens: Any,
    rate: float,
    load: float,
    requests: int,
    replications: int,
    settings: dict[str, Any],
) -> Probe:
    shares: list[NDArray[np.float64]] = []
    flagged = 0
    for replication in range(replications):
        arrival, left, size = arrivals_run(policy, tokens, rate, requests, replication, settings)
        flagged += queue_grows(arrival, left, float(arrival[-1]))
        shares.append(_shares_of_growth(arrival, left, size))
        runs = replication + 1
        mean, low, high = _interval(np.array(shares))
        if (runs > 1 and flagged == runs) or (low > 0 and (mean > 3 * _SETTLED or runs == replications)):
            verdict = "unstable"
        elif runs > 1 and flagged == 0 and high < _SETTLED:
            verdict = "stable"
        else:
            verdict = "open"
        if verdict != "open":
            break
    return Probe(rate, load, mean, low, high, runs, flagged, verdict)


def arrivals_run(
    policy: Any, tokens: Any, rate: float, requests: int, replication: int, settings: dict[str, Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """One run that ends with its last arrival: arrivals, when each left the queue, and its tokens.

    Parameters:
        policy, tokens, rate, requests: as in `stable_rate`.
        replication: from 0.
        settings: the further keywords of `fairq.simulate`.
    """
    seed = settings.get("seed", 0)
    arrival = np.cumsum(stream(seed, replication, "arrivals").exponential(size=requests)) / rate
    generator = stream(seed, replication, "lengths")
    if isinstance(tokens, LengthLaw):
        size = tokens.tokens(open_uniforms(generator, requests))
    else:
        size = generator.choice(checked_sample(tokens), size=requests)
    workload = Workload.from_arrays(size, arrival)
    result = simulate(workload, policy, until=float(arrival[-1]), **settings)
    start = result.requests["start"].to_numpy(dtype=np.float64)
    return arrival, np.where(np.isnan(start), math.inf, start), size


def _shares_of_growth(
    arrival: NDArray[np.float64], left: NDArray[np.float64], size: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Of each block of the second half: the queue's growth in tokens, over those that arrive in a block."""
    half = arrival[len(arrival) // 2]
    times = np.linspace(half, arrival[-1], _BLOCKS + 1)
    growth = growth_by_blocks(times, arrival, left, size.astype(np.float64))
    return growth * _BLOCKS / float(size[arrival > half].sum())


def _interval(shares: NDArray[np.float64]) -> tuple[float, float, float]:
    """Mean of the shares (a row a run) and the ends of its interval.

    The growth over a run is the sum of its blocks', whose neighbours are correlated: where the queue is
    stable what one gains the next loses, and the sum varies no more than a single block.
    """
    runs, blocks = shares.shape
    mean = float(shares.mean())
    off = shares - mean
    variance = float((off**2).sum()) / (shares.size - 1)
    neighbours = float((off[:, 1:] * off[:, :-1]).mean())
    of_sum = max(blocks * variance + 2 * (blocks - 1) * neighbours, variance)
    reach = t_quantile((1 + _CONFIDENCE) / 2, shares.size - 1) * math.sqrt(of_sum / runs) / blocks
    return mean, mean - reach, mean + reach


def _check_search(requests: int, replications: int, precision: float) -> None:
    whole_number("requests", requests, at_least=1000)
    whole_number("replications", replications, at_least=2)
    if not 0 < finite_number("precision", precision) < 1:
        raise InputError(f"precision is {precision!r}: it must be > 0 and < 1")
