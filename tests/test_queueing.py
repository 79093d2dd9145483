"""The simulator against exact queueing results, within 4 standard errors of the estimator.

A mean is estimated from one long run, started empty, its first tenth left out: the batch means of 25
equal parts in order of arrival, their standard error times 4 being the tolerance.  Where the formula
begins service at the arrival and the simulator at the next step of a running batch, the mean wait may be
longer by half a step, and the tests say so; where lengths are whole and B = 1, the simulator is the queue.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
import pytest

import fairq
from fairq.theory import (
    Exponential,
    Lengths,
    SteadyState,
    batch_dependent,
    lockstep,
    mdc,
    mg1,
    mg_infinity,
    mmc,
    shortest_first,
    static_batching,
)

PARTS = 25
LONG = 20_000
"""Mean tokens that stand for one unit of exponential time: the gap to it is of the order of a step."""


@dataclass(frozen=True)
class Estimate:
    """A mean and its standard error by batch means."""

    mean: float
    error: float

    def assert_agrees(self, exact: float, up_to: float = 0.0) -> None:
        """The exact value, or up to `up_to` more, lies within 4 standard errors."""
        assert self.error < 0.2 * exact, f"the run is too short to say anything: {self}"
        reach = 4 * self.error + 1e-9 * exact
        low, high = exact - reach, exact + up_to + reach
        assert low <= self.mean <= high, f"{self} against {exact} (+ up to {up_to})"


def estimate(values: np.ndarray) -> Estimate:
    kept = values[len(values) // 10 :]
    means = np.array([part.mean() for part in np.array_split(kept, PARTS)])
    return Estimate(float(kept.mean()), float(means.std(ddof=1) / np.sqrt(PARTS)))


def poisson_workload(rng: np.random.Generator, rate: float, tokens: np.ndarray) -> fairq.Workload:
    return fairq.Workload.from_arrays(tokens, np.cumsum(rng.exponential(1 / rate, len(tokens))))


def geometric(rng: np.random.Generator, mean: float, count: int) -> np.ndarray:
    return rng.geometric(1 / mean, count)


def assert_littles_law(result: fairq.Result) -> None:
    """Areas under the numbers present and in service, from other tables, equal sums of times spent."""
    table, segments = result.requests, result.segments
    served = float(((segments["end"] - segments["start"]) * segments["batch"]).sum())
    assert served == pytest.approx(float((table["finish"] - table["start"]).sum()), rel=1e-9)
    times = np.concatenate((table["arrival"], table["finish"]))
    change = np.repeat([1, -1], len(table))
    order = np.argsort(times, kind="stable")
    present = np.cumsum(change[order])
    assert present[-1] == 0
    area = float(present[:-1] @ np.diff(times[order]))
    assert area == pytest.approx(float(table["latency"].sum()), rel=1e-9)


def run(workload: fairq.Workload, policy: object = "fcfs", **settings: object) -> fairq.Result:
    result = fairq.simulate(workload, policy, record="segments", **settings)  # type: ignore[arg-type]
    summary = result.summary
    assert summary["arrived"] == summary["completed"] == len(workload)
    assert_littles_law(result)
    return result


def latencies(result: fairq.Result, exact: SteadyState, unit: float = 1.0, up_to: float = 0.0) -> None:
    """Mean wait and latency agree, times being `unit` for one of the exact result's."""
    table = result.requests
    estimate(table["wait"].to_numpy() / unit).assert_agrees(exact.wait_mean, up_to)
    estimate(table["latency"].to_numpy() / unit).assert_agrees(exact.latency_mean, up_to)


# One request at a time


@pytest.mark.parametrize(
    ("servers", "rate", "count"),
    [
        (1, 0.5, 15_000),
        (2, 1.4, 20_000),
        (5, 3.0, 20_000),
        pytest.param(8, 7.2, 250_000, marks=pytest.mark.slow),
        pytest.param(32, 30.0, 150_000, marks=pytest.mark.slow),
    ],
)
def test_mmc(servers: int, rate: float, count: int) -> None:
    rng = np.random.default_rng(100 + servers)
    tokens = np.ceil(rng.exponential(LONG, count))
    result = run(poisson_workload(rng, rate / LONG, tokens), workers=servers, batch_size=1)
    exact = mmc(rate, servers)
    latencies(result, exact, unit=LONG)
    waits = result.requests["wait"].to_numpy() / LONG
    estimate(waits > 0).assert_agrees(exact.waiting_probability)
    for probability in (0.9, 0.99) if count > 200_000 else (0.8,):
        cut = exact.wait_quantile(probability)
        if cut > 0:
            estimate(waits > cut).assert_agrees(1 - probability)


@pytest.mark.parametrize(
    ("servers", "rate", "count"),
    [(1, 0.8, 20_000), (3, 2.1, 20_000), pytest.param(8, 7.2, 200_000, marks=pytest.mark.slow)],
)
def test_mdc(servers: int, rate: float, count: int) -> None:
    rng = np.random.default_rng(200 + servers)
    workload = poisson_workload(rng, rate / 100, np.full(count, 100))
    result = run(workload, workers=servers, batch_size=1)
    exact = mdc(rate, servers)
    latencies(result, exact, unit=100)
    waits = result.requests["wait"].to_numpy() / 100
    estimate(waits > 0).assert_agrees(exact.waiting_probability)
    for probability in (0.9, 0.95):
        estimate(waits > exact.wait_quantile(probability)).assert_agrees(1 - probability)


LAWS = {
    "uniform": Lengths.uniform(1, 1000),
    "geometric": Lengths.geometric(40),
    "two-point": Lengths([10, 500], [0.9, 0.1]),
}


def draw(rng: np.random.Generator, law: Lengths, count: int) -> np.ndarray:
    return rng.choice(law.values, size=count, p=law.probabilities)


@pytest.mark.parametrize("name", LAWS)
def test_mg1(name: str) -> None:
    rng = np.random.default_rng(300)
    law = LAWS[name]
    rate = 0.7 / law.mean
    result = run(poisson_workload(rng, rate, draw(rng, law, 25_000)), workers=1, batch_size=1)
    exact = mg1(rate, law)
    latencies(result, exact)
    waits = result.requests["wait"].to_numpy()
    estimate((waits - exact.wait_mean) ** 2).assert_agrees(exact.wait_variance)


@pytest.mark.slow
@pytest.mark.parametrize("name", LAWS)
def test_mg1_near_its_capacity(name: str) -> None:
    rng = np.random.default_rng(301)
    law = LAWS[name]
    rate = 0.9 / law.mean
    result = run(poisson_workload(rng, rate, draw(rng, law, 250_000)), workers=1, batch_size=1)
    latencies(result, mg1(rate, law))


class LastComeFirstServed:
    """Blind to sizes, like first come first served, and the mean wait is the same; the variance is not."""

    def decide(self, view: fairq.View) -> fairq.Decision:
        return fairq.Decision(admit=view.queue[-1:] if view.free else ())


class AnyComeFirstServed:
    """A random one of the queue."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(17)

    def decide(self, view: fairq.View) -> fairq.Decision:
        queue = view.queue
        return fairq.Decision(admit=[int(self.rng.choice(queue))] if view.free and queue else ())


@pytest.mark.parametrize("policy", [LastComeFirstServed, AnyComeFirstServed, "fcfs-static"])
def test_orders_that_are_blind_to_sizes_wait_the_same(policy: object) -> None:
    rng = np.random.default_rng(310)
    law = LAWS["geometric"]
    rate = 0.7 / law.mean
    result = run(poisson_workload(rng, rate, draw(rng, law, 12_000)), policy, workers=1, batch_size=1)
    exact = mg1(rate, law)
    latencies(result, exact)
    if policy is LastComeFirstServed:
        variance = estimate((result.requests["wait"].to_numpy() - exact.wait_mean) ** 2)
        assert variance.mean - 4 * variance.error > exact.wait_variance


@pytest.mark.parametrize("mean", [20.0, LONG])
@pytest.mark.parametrize(
    ("load", "count"), [(0.6, 20_000), pytest.param(0.9, 250_000, marks=pytest.mark.slow)]
)
def test_shortest_first(mean: float, load: float, count: int) -> None:
    """SJF on M/M/1, and with short geometric lengths, where ties are many, a priority class a length."""
    rng = np.random.default_rng(400)
    tokens = geometric(rng, mean, count)
    result = run(poisson_workload(rng, load / mean, tokens), "sjf", workers=1, batch_size=1)
    latencies(result, shortest_first(load / mean, Lengths.geometric(mean)))
    if mean == LONG:
        latencies(result, shortest_first(load, Exponential(1.0)), unit=LONG)


# Nobody waits


def assert_poisson_number(result: fairq.Result, mean: float, up_to: float = 0.0) -> None:
    """Mean and variance of the number present, seen at times far enough apart, are both `mean`."""
    table = result.requests
    finish = np.sort(table["finish"].to_numpy())
    longest = float(table["latency"].max())
    times = np.arange(longest, float(table["arrival"].iloc[-1]), float(table["latency"].mean()) * 2)
    arrived = np.searchsorted(table["arrival"].to_numpy(), times, side="right")
    present = arrived - np.searchsorted(finish, times, side="right")
    estimate(present).assert_agrees(mean, up_to)
    estimate((present - present.mean()) ** 2).assert_agrees(mean, up_to)


@pytest.mark.parametrize("name", LAWS)
def test_mg_infinity_by_many_workers(name: str) -> None:
    """40 workers for 8 requests on average: nobody ever waits (P(Poisson(8) >= 40) < 1e-14)."""
    rng = np.random.default_rng(500)
    law = LAWS[name]
    rate = 8 / law.mean
    result = run(poisson_workload(rng, rate, draw(rng, law, 8000)), workers=40, batch_size=1)
    assert (result.requests["wait"] == 0).all()
    assert (result.requests["latency"] == result.workload.tokens).to_numpy().mean() > 0.99
    assert_poisson_number(result, mg_infinity(rate, law.mean).present_mean)


@pytest.mark.parametrize("name", LAWS)
def test_mg_infinity_by_a_batch_that_never_binds(name: str) -> None:
    """Latency is the own length and what is left of the step at the arrival, half a step on average."""
    rng = np.random.default_rng(501)
    law = LAWS[name]
    rate = 12 / law.mean
    result = run(poisson_workload(rng, rate, draw(rng, law, 20_000)), workers=1, batch_size=60)
    waits = result.requests["wait"].to_numpy()
    assert waits.max() < 1
    latency = result.requests["latency"].to_numpy()
    np.testing.assert_allclose(latency - waits, result.workload.tokens, rtol=1e-9)
    estimate(waits).assert_agrees(0.5)  # P(idle) = exp(−12): the batch is all but never empty
    assert_poisson_number(result, 12.0, up_to=rate / 2)


# Batches


@pytest.mark.parametrize(
    ("rate", "length", "batch_size", "c", "b", "count"),
    [
        (0.5, 1.0, 1, 1.0, 0.0, 20_000),
        (0.35, 5.0, 4, 1.0, 0.0, 25_000),
        (0.25, 20.0, 8, 1.0, 0.0, 25_000),
        (2.0, 3.0, 16, 1.0, 0.05, 25_000),
        (5.0, 2.0, 3, 0.05, 0.05, 25_000),
        pytest.param(1.4, 20.0, 32, 1.0, 0.0, 250_000, marks=pytest.mark.slow),
        pytest.param(5.5, 100.0, 16, 0.01, 0.001, 250_000, marks=pytest.mark.slow),
    ],
)
def test_the_chain_of_a_lockstep_worker(
    rate: float, length: float, batch_size: int, c: float, b: float, count: int
) -> None:
    """n' = n − Bin(min(n, B), 1/L) + Poisson(lambda·step); from 0 the step begins with the arrival."""
    rng = np.random.default_rng(600 + batch_size)
    workload = poisson_workload(rng, rate, geometric(rng, length, count))
    clock = fairq.StepTime(c=c, b=b)
    result = run(workload, batch_size=batch_size, clock=clock)
    exact = lockstep(rate, length, batch_size, c, b)
    latencies(result, exact)
    segments = result.segments
    span = segments["end"] - segments["start"]
    busy = estimate_ratio(span, segments["end"].diff().fillna(segments["end"].iloc[0]))
    busy.assert_agrees(exact.busy_fraction)
    estimate_ratio(span * segments["batch"], span).assert_agrees(exact.batch_mean)


def estimate_ratio(over: object, under: object) -> Estimate:
    """A ratio of sums along a run, with the standard error of the ratio of batch means."""
    top, bottom = (np.asarray(values, dtype=float) for values in (over, under))
    top, bottom = top[len(top) // 10 :], bottom[len(bottom) // 10 :]
    ratio = float(top.sum() / bottom.sum())
    parts = np.array_split(top - ratio * bottom, PARTS)
    rest = np.array([part.sum() for part in parts])
    return Estimate(ratio, float(rest.std(ddof=1) * np.sqrt(PARTS) / bottom.sum()))


@pytest.mark.parametrize(
    ("rate", "count"), [(4.0, 25_000), pytest.param(5.5, 250_000, marks=pytest.mark.slow)]
)
def test_a_step_time_that_depends_on_the_batch(rate: float, count: int) -> None:
    """The birth-death queue, and half a step at most for the step in progress."""
    rng = np.random.default_rng(700)
    workload = poisson_workload(rng, rate, geometric(rng, 100, count))
    result = run(workload, batch_size=16, clock=fairq.StepTime(c=0.01, b=0.001))
    latencies(result, batch_dependent(rate, 100, 16, c=0.01, b=0.001), up_to=(0.01 + 0.016) / 2)


@pytest.mark.parametrize(
    ("load", "count"), [(0.4, 20_000), (0.625, 30_000), pytest.param(0.9, 250_000, marks=pytest.mark.slow)]
)
def test_static_batching(load: float, count: int) -> None:
    """Batches that end with their longest member; load is lambda·H_4/4."""
    rng = np.random.default_rng(800)
    rate = load * 4 / (1 + 1 / 2 + 1 / 3 + 1 / 4)
    workload = poisson_workload(rng, rate / LONG, np.ceil(rng.exponential(LONG, count)))
    result = run(workload, "fcfs-static", batch_size=4)
    exact = static_batching(rate, 4, Exponential(1.0))
    latencies(result, exact, unit=LONG)
    batches = result.requests.groupby("start_step")["request"].count().to_numpy()
    estimate(batches).assert_agrees(exact.batch_mean)


@pytest.mark.parametrize("name", LAWS)
def test_static_batching_of_whole_lengths(name: str) -> None:
    rng = np.random.default_rng(810)
    law = LAWS[name]
    rate = 0.6 * 8 / law.longest_moment(8, 1)
    result = run(poisson_workload(rng, rate, draw(rng, law, 25_000)), "fcfs-static", batch_size=8)
    latencies(result, static_batching(rate, 8, law))


# The estimator itself


def test_first_come_waits_are_those_of_the_recursion() -> None:
    """Kiefer and Wolfowitz with a list of times at which servers are free: the same starts, to rounding."""
    rng = np.random.default_rng(900)
    workload = poisson_workload(rng, 0.03, rng.integers(1, 200, 3000))
    free, starts = [0.0] * 3, []
    for arrival, tokens in zip(workload.arrival, workload.tokens, strict=True):
        free.sort()
        starts.append(max(free[0], float(arrival)))
        free[0] = starts[-1] + int(tokens)
    result = run(workload, workers=3, batch_size=1)
    np.testing.assert_allclose(result.requests["start"], starts, rtol=1e-12)


def test_the_estimator_notices_a_bias() -> None:
    """A queue with a tenth more load than the formula's is told apart."""
    rng = np.random.default_rng(910)
    result = run(poisson_workload(rng, 0.77 / LONG, np.ceil(rng.exponential(LONG, 25_000))), batch_size=1)
    with pytest.raises(AssertionError, match="against"):
        latencies(result, mmc(0.7, 1), unit=LONG)


def test_the_error_of_batch_means_is_that_of_the_mean() -> None:
    """On an autoregressive series (0.9) the error is 1/(1 − 0.9)/sqrt(n), 4.4 times that of white noise."""
    rng = np.random.default_rng(920)
    noise, series = rng.standard_normal(20_000), deque([0.0])
    for value in noise:
        series.append(0.9 * series[-1] + value)
    assert estimate(np.array(series)).error == pytest.approx(10 / np.sqrt(18_000), rel=0.4)
