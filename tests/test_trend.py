"""The flag of an unstable run: its level on queues without drift, its power, and what is no trend."""

from __future__ import annotations

import numpy as np
import pytest

from fairq.errors import InputError
from fairq.trend import queue_grows

Times = tuple[np.ndarray, np.ndarray]


def lindley(rng: np.random.Generator, load: float, count: int) -> Times:
    """Arrivals and starts of an M/M/1 queue with mean service 1, by Lindley's recursion."""
    gap = rng.exponential(1 / load, count)
    free_walk = np.concatenate(([0.0], np.cumsum(rng.exponential(1.0, count - 1) - gap[1:])))
    wait = free_walk - np.minimum.accumulate(free_walk)
    arrival = np.cumsum(gap)
    return arrival, arrival + wait


def raised(load: float, count: int, runs: int, seed: int) -> int:
    """How many of `runs` M/M/1 queues are flagged."""
    rng = np.random.default_rng(seed)
    flags = 0
    for _ in range(runs):
        arrival, start = lindley(rng, load, count)
        flags += queue_grows(arrival, start, float(arrival[-1]))
    return flags


def most(runs: int, probability: float) -> float:
    """Mean plus 4 standard errors of a binomial count."""
    return runs * probability + 4 * float(np.sqrt(runs * probability * (1 - probability)))


@pytest.mark.parametrize("load", [0.5, 0.8, 0.9, 0.97, 1.0])
@pytest.mark.parametrize("count", [200, 2000, 20_000])
def test_level_holds_up_to_the_critical_load(load: float, count: int) -> None:
    runs = 1000 if count < 20_000 else 300
    assert raised(load, count, runs, seed=count) <= most(runs, 0.01)


@pytest.mark.parametrize("load", [0.5, 0.8, 0.9])
def test_a_stable_queue_is_hardly_ever_flagged(load: float) -> None:
    assert raised(load, 20_000, 300, seed=5) <= 1


@pytest.mark.parametrize(("load", "count"), [(1.1, 20_000), (1.3, 2000), (2.0, 200)])
def test_power(load: float, count: int) -> None:
    assert raised(load, count, 200, seed=7) >= 190


def test_the_level_is_the_users() -> None:
    rng = np.random.default_rng(3)
    paths = [lindley(rng, 1.0, 1000) for _ in range(300)]
    counts = [
        sum(queue_grows(arrival, start, float(arrival[-1]), level) for arrival, start in paths)
        for level in (0.01, 0.1, 0.5)
    ]
    assert counts[0] < counts[1] < counts[2]


def test_a_backlog_is_no_trend() -> None:
    assert not queue_grows(np.zeros(500), np.arange(500.0), 0.0)
    assert not queue_grows(np.zeros(500), np.full(500, np.inf), 0.0)


def test_a_backlog_that_shrinks_is_no_trend() -> None:
    arrival = np.concatenate((np.zeros(300), np.arange(1.0, 201.0)))
    assert not queue_grows(arrival, np.arange(500.0), 200.0)


def test_fewer_than_fifty_are_not_judged() -> None:
    arrival = np.arange(60.0)
    assert queue_grows(arrival, np.full(60, np.inf), 59.0)
    assert not queue_grows(arrival, np.full(60, np.inf), 48.0)  # 49 have come by then
    assert not queue_grows([], [], 10.0)


def test_a_rush_hour_at_the_end_is_no_growth_throughout() -> None:
    arrival = np.concatenate((np.arange(0.0, 900.0), np.arange(900.0, 1000.0, 0.25)))
    start = np.maximum.accumulate(arrival - np.arange(len(arrival))) + np.arange(len(arrival))
    assert start[-1] - arrival[-1] > 250
    assert not queue_grows(arrival, start, 999.75)


def test_what_comes_after_the_horizon_does_not_count() -> None:
    rng = np.random.default_rng(11)
    arrival, start = lindley(rng, 0.7, 2000)
    late = arrival[-1] + np.arange(1.0, 2001.0)
    everyone, left = np.concatenate((arrival, late)), np.concatenate((start, np.full(2000, np.inf)))
    assert not queue_grows(everyone, left, float(arrival[-1]))
    assert queue_grows(everyone, left, float(late[-1]))


def test_those_who_leave_unserved_have_left() -> None:
    arrival = np.arange(1000.0)
    assert queue_grows(arrival, np.where(arrival % 2 == 0, arrival, np.inf), 999.0)
    assert not queue_grows(arrival, arrival + 30.0, 999.0)  # everybody gives up after 30


def test_the_order_of_starts_does_not_matter() -> None:
    rng = np.random.default_rng(13)
    arrival, start = lindley(rng, 1.5, 400)
    swapped = start.copy()
    swapped[[10, 200]] = np.inf, swapped[10]  # one overtakes another, who is never served
    assert queue_grows(arrival, np.maximum(swapped, arrival), float(arrival[-1]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.0, 1.0], [0.0], 1.0), "left_queue has shape"),
        (([1.0, 0.0], [1.0, 1.0], 1.0), "arrival must hold finite times in increasing order"),
        (([0.0, np.nan], [1.0, 1.0], 1.0), "arrival must hold finite times"),
        (([0.0, 1.0], [0.0, 0.5], 1.0), r"left_queue\[1\] is .*0.5.*: it must be >= its arrival"),
        (([0.0, 1.0], [0.0, np.nan], 1.0), r"left_queue\[1\] is .*nan"),
        (([0.0], [0.0], np.inf), "horizon is inf"),
        (([0.0], [0.0], 1.0, 0.0), "level is 0.0: it must be a probability > 0 and < 1"),
        (([0.0], [0.0], 1.0, 1.0), "level is 1.0"),
    ],
)
def test_bad_input(arguments: tuple, message: str) -> None:
    with pytest.raises(InputError, match=message):
        queue_grows(*arguments)
