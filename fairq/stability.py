"""The largest arrival rate that a policy keeps up with, searched for with arrivals, never with a backlog."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from fairq.arrivals import ArrivalLaw, Poisson
from fairq.cost import Cost, StepTime
from fairq.errors import InputError
from fairq.groups import WorkerGroup
from fairq.load import offered_load
from fairq.policy import own_name
from fairq.trial import Trial, Waits, growth_of
from fairq.validation import proper_fraction, whole_number

__all__ = ["Probe", "StableRate", "stable_rate"]

_SETTLED = 0.01  # of the tokens that arrive may still pile up at a rate that counts as stable
_MOST_PROBES = 40
_LEAST_LOAD = 1e-3  # of the rate at which no policy is stable; a policy that carries less carries nothing


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
        low: a rate that it keeps up with; 0 if none was found above a thousandth of load 1.
        high: a rate that it does not.
        load_low, load_high: the offered loads of these rates.
        policy, alpha: whose they are.
        precision: relative width of the interval that was asked for.
        probes: what was seen, in the order of asking.
    """

    low: float
    high: float
    load_low: float
    load_high: float
    policy: str
    alpha: float | None
    precision: float
    probes: tuple[Probe, ...] = field(repr=False)

    @property
    def is_precise(self) -> bool:
        """Whether the interval is as narrow as was asked for, or the policy carries nothing.

        If not, the search ended open: at rates inside the interval the runs did not decide between stable
        and not, as where the queue wanders widely.  Longer runs, or more of them, narrow it.
        """
        stable = max((probe.rate for probe in self.probes if probe.verdict == "stable"), default=0.0)
        narrow = self.high - stable <= self.precision * self.high * (1 + 1e-9)
        return narrow or self.load_high < _LEAST_LOAD


def stable_rate(
    policy: Any,
    tokens: Any,
    *,
    batch_size: int | None = None,
    alpha: float | None = None,
    workers: int | Sequence[WorkerGroup] = 1,
    dispatch: str = "central",
    clock: str | StepTime = "token",
    cost: Cost | None = None,
    arrivals: ArrivalLaw | None = None,
    requests: int = 50_000,
    replications: int = 4,
    precision: float = 0.04,
    seed: int = 0,
    engine: str = "simpy",
    on_probe: Callable[[Probe], None] | None = None,
    **options: Any,
) -> StableRate:
    """Search for the largest arrival rate at which the queue does not grow without end.

    Parameters:
        policy, alpha, workers, batch_size, dispatch, clock, cost, engine, options: as `fairq.simulate` takes
            them; ``engine="auto"`` is several times faster where Numba is installed, with the same result.
        tokens: lengths: a `fairq.lengths.LengthLaw`, or an array from which they are drawn.
        arrivals: a law of arrival, whose rate is what is searched for; None: Poisson.
        requests: of a run, at least 1000; runs end with the last arrival.
        replications: runs at one rate, at most, >= 2.
        precision: relative width of the interval at which the search stops, in (0, 1); it ends wider where
            runs do not decide (`StableRate.is_precise`).
        seed: root of the random streams; all rates and policies share the same requests, rescaled in time.
        on_probe: called with each `Probe` as soon as it is known.

    Raises:
        InputError: a value that is not as above; `until`, `replication`, `record`, `queue_limit`,
            `abandon_after` or `max_queued` among the options; a law of arrival that ends.
        PolicyError: the policy answers wrongly.

    A policy that keeps up with no rate, as one that starts nobody, has a `low` of 0.

    **The search** halves the interval between a rate known to be stable and one known not to be, at first
    between 0 and the rate of offered load 1 (`fairq.load.offered_load`), at which no policy is stable.  At
    each rate the queue starts empty, the first half of the run is left out, and the second is cut into 10
    blocks; the tokens by which the queue grows in each, over the tokens arriving, give a mean and a
    99 % interval over the blocks of all runs (`fairq.trial.growth_of`).  A rate is *unstable* if the interval
    lies above 0 or `fairq.trend.queue_grows` flags each of two runs or more; *stable* if none is flagged
    and the interval lies below 1 %, which `low` is then lowered by to make up for it.  Otherwise another run
    is made, up to `replications`; a rate that is open then is left inside the interval.

    A backlog would not do: with requests of every size in store most policies fill their batches, which
    under arrivals they do not.

    >>> found = stable_rate("fcfs", [20], batch_size=1, requests=2000, precision=0.2)  # M/D/1: 1/20
    >>> 0.8 * 0.05 < found.low < 0.05 <= found.high
    True
    """
    replications = whole_number("replications", replications, at_least=2)
    if on_probe is not None and not callable(on_probe):
        raise InputError(f"on_probe is {on_probe!r}: it must be a function of a Probe, or None")
    proper_fraction("precision", precision)
    settings: dict[str, Any] = {
        "alpha": alpha,
        "workers": workers,
        "batch_size": batch_size,
        "dispatch": dispatch,
    }
    settings |= {"clock": clock, "cost": cost, "seed": seed, "engine": engine, **options}
    trial = Trial(policy, tokens, requests, Poisson(1.0) if arrivals is None else arrivals, settings)
    unit = offered_load(
        1.0, trial.tokens, batch_size=batch_size, workers=workers, clock=clock, cost=cost
    )  # load of a rate of 1
    search = _Search(1 / unit)
    while (rate := search.next_rate(precision)) is not None:
        probe = _probe(trial, rate, rate * unit, replications)
        search.note(probe)
        if on_probe is not None:
            on_probe(probe)
    low = search.low * (1 - _SETTLED)
    return StableRate(
        low,
        search.high,
        low * unit,
        search.high * unit,
        policy if isinstance(policy, str) else own_name(policy),
        alpha,
        precision,
        tuple(search.probes),
    )


def _probe(trial: Trial, rate: float, load: float, replications: int) -> Probe:
    """Runs at one rate until the verdict is clear."""
    runs: list[Waits] = []
    flagged, verdict = 0, "open"
    while verdict == "open" and len(runs) < replications:
        runs.append(trial.run(rate, len(runs)))
        flagged += runs[-1].grows
        growth = growth_of(runs)
        clear = growth.mean > 3 * _SETTLED or len(runs) == replications
        if 1 < len(runs) == flagged or (growth.low > 0 and clear):
            verdict = "unstable"
        elif len(runs) > 1 and flagged == 0 and growth.high < _SETTLED:
            verdict = "stable"
    return Probe(rate, load, growth.mean, growth.low, growth.high, len(runs), flagged, verdict)


class _Search:
    """The interval so far, and the rates inside it that stayed open."""

    def __init__(self, high: float) -> None:
        self.low, self.high, self.start = 0.0, high, high
        self.open: list[float] = []
        self.probes: list[Probe] = []

    def next_rate(self, precision: float) -> float | None:
        """The middle of the wider of the gaps around the open rates; None once they are narrow enough."""
        gaps = [(self.low, self.high)]
        if self.open:
            gaps, precision = [(self.low, self.open[0]), (self.open[-1], self.high)], precision / 4
        low, high = max(gaps, key=lambda gap: gap[1] - gap[0])
        nothing = self.high < _LEAST_LOAD * self.start
        if nothing or high - low <= precision * self.high or len(self.probes) >= _MOST_PROBES:
            return None
        return (low + high) / 2

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
