"""The exact results against each other: special cases, limits, and numbers worked out another way."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

from fairq.errors import InputError
from fairq.theory import (
    Exponential,
    Lengths,
    batch_dependent,
    chains,
    lockstep,
    mdc,
    mg1,
    mg_infinity,
    mmc,
    shortest_first,
    static_batching,
)
from fairq.theory.chains import stationary
from fairq.theory.service import Service


def rel(value: float) -> object:
    return pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize(
    ("rate", "servers", "mean"), [(0.7, 1, 1.0), (1.4, 2, 1.0), (7.2, 8, 1.0), (0.03, 5, 120.0)]
)
def test_mmc_is_its_birth_death_chain(rate: float, servers: int, mean: float) -> None:
    """Stationary masses by detailed balance, far enough out for nothing to be left."""
    n = np.arange(1, 3000)
    weight = np.concatenate(([1.0], np.cumprod(rate * mean / np.minimum(n, servers))))
    law = weight / weight.sum()
    queue = mmc(rate, servers, mean)
    assert queue.queue_mean == rel(float(law @ np.maximum(np.arange(3000) - servers, 0)))
    assert queue.present_mean == rel(float(law @ np.arange(3000)))
    assert queue.waiting_probability == rel(float(law[servers:].sum()))


def test_the_handed_row_of_mmc() -> None:
    """M/M/8 at 0.9, as listed in the project's notes on exact results."""
    queue = mmc(7.2, 8)
    assert round(queue.waiting_probability, 10) == 0.7015329901
    assert round(queue.wait_mean, 10) == 0.8769162377
    quantiles = [round(queue.wait_quantile(p), 8) for p in (0.9, 0.95, 0.99)]
    assert quantiles == [2.43512218, 3.30155615, 5.31335354]


@pytest.mark.parametrize(
    "queue", [mmc(2.4, 3), mmc(0.5, 1, 1.5), mdc(2.4, 3), mdc(0.8, 1), mdc(0.45, 2, 4.0)]
)
def test_the_tail_integrates_to_the_mean(queue) -> None:
    scale = queue.wait_mean + 1
    area = sum(quad(queue.wait_tail, k * scale, (k + 1) * scale, limit=200)[0] for k in range(40))
    assert area == pytest.approx(queue.wait_mean, rel=1e-6)
    assert queue.wait_tail(0.0) == rel(queue.waiting_probability)


@pytest.mark.parametrize("queue", [mmc(2.4, 3), mdc(2.4, 3), mdc(0.8, 1)])
@pytest.mark.parametrize("probability", [0.0, 0.2, 0.7, 0.95, 0.999])
def test_quantiles_invert_the_tail(queue, probability: float) -> None:
    cut = queue.wait_quantile(probability)
    if cut == 0:
        assert queue.wait_tail(0.0) <= 1 - probability
    else:
        assert queue.wait_tail(cut) == pytest.approx(1 - probability, rel=1e-9)


def test_one_server_with_fixed_service_is_mg1() -> None:
    assert mdc(0.009, 1, 100.0).wait_mean == rel(mg1(0.009, Lengths.fixed(100)).wait_mean)


def test_mg1_with_exponential_service_is_mm1() -> None:
    assert mg1(0.4, Exponential(2.0)).wait_mean == rel(mmc(0.4, 1, 2.0).wait_mean)
    # Var W of M/M/1 from its law: atom 1 − rho, else exponential with rate mu(1 − rho).
    assert mg1(0.4, Exponential(2.0)).wait_variance == rel(0.8 * (2 - 0.8) / (0.5 * 0.2) ** 2)


def test_shortest_first_by_hand() -> None:
    """Lengths 1 and 3, half each, rate 1/4: loads 1/8 and 3/8, lambda·E[S²]/2 = 5/8.

    W(1) = (5/8)/(7/8) = 5/7, W(3) = (5/8)/((7/8)(1/2)) = 10/7; their mean is 15/14.
    """
    assert shortest_first(0.25, Lengths([1, 3], [0.5, 0.5])).wait_mean == rel(15 / 14)


def test_shortest_first_with_one_length_is_first_come() -> None:
    law = Lengths.fixed(50)
    assert shortest_first(0.018, law).wait_mean == rel(mg1(0.018, law).wait_mean)


def test_shortest_first_of_long_geometric_lengths_is_that_of_exponential_ones() -> None:
    limit = shortest_first(0.8, Exponential(1.0)).wait_mean
    gaps = [
        shortest_first(0.8 / mean, Lengths.geometric(mean)).wait_mean / mean - limit
        for mean in (1000, 2000, 4000)
    ]
    assert abs(gaps[2]) < 0.001
    assert gaps[0] / gaps[1] == pytest.approx(2, rel=0.05)  # the gap is of the order of one step


def test_mg_infinity_is_poisson() -> None:
    queue = mg_infinity(4.0, 2.5)
    masses = np.array([queue.present_probability(n) for n in range(100)])
    n = np.arange(100)
    assert float(masses @ n) == rel(10.0)
    assert float(masses @ n**2) == rel(110.0)


@pytest.mark.parametrize("batch_size", [1, 2, 7])
def test_steps_that_ignore_the_batch_are_mmc(batch_size: int) -> None:
    """Death rate n/(L·c) up to B: B servers of mean L·c."""
    state = batch_dependent(0.9 * batch_size / 50, 50, batch_size, c=1.0)
    queue = mmc(0.9 * batch_size / 50, batch_size, 50.0)
    assert state.wait_mean == rel(queue.wait_mean)
    assert state.present_mean == rel(queue.present_mean)


def test_batch_dependent_by_its_chain() -> None:
    n = np.arange(1, 2000)
    served = np.minimum(n, 16)
    weight = np.concatenate(([1.0], np.cumprod(5.5 * 100 * (0.01 + 0.001 * served) / served)))
    law = weight / weight.sum()
    state = batch_dependent(5.5, 100, 16, c=0.01, b=0.001)
    assert state.present_mean == rel(float(law @ np.arange(2000)))
    assert state.busy_fraction == rel(1 - float(law[0]))
    assert state.batch_mean == rel(float(law[1:] @ served) / (1 - float(law[0])))


@pytest.mark.parametrize("batch_size", [1, 3, 8])
def test_lockstep_with_single_tokens_is_static_batching(batch_size: int) -> None:
    left = lockstep(0.8 * batch_size, 1.0, batch_size)
    right = static_batching(0.8 * batch_size, batch_size, Lengths.fixed(1))
    assert left.wait_mean == rel(right.wait_mean)
    assert left.busy_fraction == rel(right.busy_fraction)


@pytest.mark.parametrize("mean", [1.0, 4.0, 30.0])
def test_lockstep_of_one_is_mg1(mean: float) -> None:
    state = lockstep(0.7 / mean, mean, 1)
    assert state.wait_mean == rel(mg1(0.7 / mean, Lengths.geometric(mean)).wait_mean)
    assert state.busy_fraction == rel(0.7)


@pytest.mark.parametrize("b", [0.0, 0.1])
def test_lockstep_comes_within_half_a_step_of_the_birth_death_queue(b: float) -> None:
    """An arrival waits for the step in progress; the rest of the gap is of the same order in 1/L."""
    rate, batch_size = 0.7 * 8 / (200 * (1 + 8 * b)), 8
    exact, limit = lockstep(rate, 200, batch_size, 1.0, b), batch_dependent(rate, 200, batch_size, 1.0, b)
    assert 0 < exact.latency_mean - limit.latency_mean < (1 + 8 * b) / 2


def test_lockstep_conserves_work() -> None:
    """Tokens come at rate·L and are done at one for each request of a batch and step."""
    state = lockstep(0.3, 20.0, 10, 1.0, 0.05)
    law = state.boundary_law
    served = np.minimum(np.maximum(np.arange(len(law)), 1), 10)
    cycle = float(law @ (1 + 0.05 * served)) + float(law[0]) / 0.3
    assert float(law @ served) / cycle == rel(0.3 * 20.0)


@pytest.mark.parametrize("service", [Exponential(3.0), Lengths.uniform(1, 9), Lengths.geometric(6)])
def test_static_batches_of_one_are_mg1(service: Service) -> None:
    assert static_batching(0.1, 1, service).wait_mean == rel(mg1(0.1, service).wait_mean)


def test_the_handed_row_of_static_batching() -> None:
    state = static_batching(1.2, 4, Exponential(1.0))
    assert round(state.wait_mean, 7) == 1.4546081
    assert round(state.batch_mean, 6) == 1.983117
    assert round(state.load, 3) == 0.625  # 1.2·(1 + 1/2 + 1/3 + 1/4)/4
    assert round(state.busy_fraction, 2) == 0.84


def test_static_batching_of_long_geometric_lengths_is_that_of_exponential_ones() -> None:
    state = static_batching(1.2 / 400, 4, Lengths.geometric(400))
    assert state.wait_mean / 400 == pytest.approx(1.45460810, rel=0.005)


def test_moments_of_the_longest() -> None:
    """Of two uniform on 1, 2, 3: P(max = 1, 2, 3) = 1/9, 3/9, 5/9."""
    law = Lengths.uniform(1, 3)
    assert law.longest_moment(2, 1) == rel(22 / 9)
    assert law.longest_moment(2, 2) == rel(58 / 9)
    assert float(Exponential(2.0).longest_moment(3, 1)) == rel(2 * (1 + 1 / 2 + 1 / 3))


@pytest.mark.parametrize("service", [Exponential(2.0), Lengths.uniform(1, 5)])
@pytest.mark.parametrize("count", [1, 3])
def test_arrivals_during_the_longest(service: Service, count: int) -> None:
    masses = service.arrivals_during_longest(count, 0.7)
    j = np.arange(len(masses))
    first, second = (service.longest_moment(count, order) for order in (1, 2))
    assert float(masses.sum()) == rel(1.0)
    assert float(masses @ j) == rel(0.7 * first)
    assert float(masses @ j**2) == rel(0.7**2 * second + 0.7 * first)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mmc(0.0, 1), "arrival_rate is 0.0: it must be a finite number > 0"),
        (lambda: mmc(float("nan"), 1), "arrival_rate is nan"),
        (lambda: mmc(1.0, 1), "load is 1: a steady state needs a load < 1"),
        (lambda: mmc(1.0, 0), "servers is 0: it must be a whole number >= 1"),
        (lambda: mmc(1.0, 2).wait_quantile(1.0), "probability is 1.0: it must be >= 0 and < 1"),
        (lambda: mdc(2.5, 2), "load is 1.25"),
        (lambda: mg1(0.5, Exponential(-1.0)), "mean is -1.0: it must be a finite number > 0"),
        (lambda: mg_infinity(1.0, 0), "service_mean is 0"),
        (lambda: lockstep(1.0, 0.5, 2), "mean_length is 0.5: it must be a finite number >= 1"),
        (lambda: lockstep(1.0, 2.0, 2), "load is 1"),
        (lambda: lockstep(0.1, 2.0, 2, c=0.0), r"c \+ b is 0.0"),
        (lambda: batch_dependent(0.1, 2.0, 0), "batch_size is 0"),
        (lambda: static_batching(2.0, 4, Exponential()), "load is 1.04"),
        (lambda: Lengths([1, 1], [0.5, 0.5]), "values must be whole lengths >= 1, increasing"),
        (lambda: Lengths([0, 1], [0.5, 0.5]), "values must be whole lengths >= 1"),
        (lambda: Lengths([1, 2], [0.5, 0.6]), "probabilities must be >= 0 with sum 1, theirs is 1.1"),
        (lambda: Lengths([1, 2], [0.5]), "each value needs one"),
        (lambda: Lengths.geometric(1e8), "use Exponential"),
    ],
)
def test_bad_input(call, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()


def test_a_load_that_needs_too_many_states_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chains, "_MOST_STATES", 400)
    assert mdc(0.9, 1).wait_mean == rel(4.5)
    with pytest.raises(InputError, match="so near 1 that the law has mass beyond 400 requests"):
        mdc(1 - 1e-5, 1)


def test_a_chain_without_drift_has_no_stationary_law(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chains, "_MOST_STATES", 400)
    half = np.array([0.5, 0.0, 0.5])
    with pytest.raises(InputError, match="so near 1"):
        stationary(lambda n: (max(n - 1, 0), half if n else half[[0, 2]]))
