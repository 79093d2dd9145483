"""Offered load, the search for the largest stable rate against known capacities, presets, and the flag."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fairq
from fairq.arrivals import Backlog, Deterministic, Nonhomogeneous, Renewal
from fairq.cost import resolve_clock
from fairq.errors import InputError
from fairq.lengths import LengthLaw
from fairq.load import demand_of, offered_load, step_ratio
from fairq.presets import PRESETS
from fairq.scenario import Scenario
from fairq.stability import Probe, StableRate, stable_rate
from fairq.theory import Lengths
from fairq.trial import Trial, growth_of

LMSYS = LengthLaw("gamma", {"a": 1.0628, "scale": 118.556})
UNIFORM = np.arange(1, 101)


# Offered load


def test_load_on_the_token_clock_is_tokens_over_slots() -> None:
    assert offered_load(3.0, [10, 30], batch_size=8, workers=10) == pytest.approx(3 * 20 / 80)


def test_load_is_reached_by_full_level_batches() -> None:
    """A backlog of B·k equal requests runs in full batches without extent: the least work, exactly."""
    clock = fairq.StepTime(c=0.5, b=0.125, tau=0.0625)
    run = fairq.simulate(fairq.Workload.from_arrays([6] * 12), "fcfs", batch_size=4, clock=clock)
    rate = 12 / run.summary["makespan"]
    assert offered_load(rate, [6], batch_size=4, clock=clock) == pytest.approx(1.0)


@pytest.mark.parametrize("policy", ["fcfs", "ljf", "sjf"])
def test_no_policy_does_with_less_work(policy: str) -> None:
    rng = np.random.default_rng(5)
    tokens = rng.integers(1, 40, 300)
    clock = fairq.StepTime(c=0.5, b=0.125, tau=0.0625)
    run = fairq.simulate(fairq.Workload.from_arrays(tokens), policy, batch_size=4, workers=2, clock=clock)
    rate = 300 / run.summary["makespan"]
    assert offered_load(rate, tokens, batch_size=4, workers=2, clock=clock) < 1


def test_the_cost_clock_is_its_c_and_tau() -> None:
    cost = fairq.Cost(c=0.02, tau=1e-5)
    expected = offered_load(2.0, [50], batch_size=4, clock=fairq.StepTime(c=0.02, tau=1e-5))
    assert offered_load(2.0, [50], batch_size=4, clock="cost", cost=cost) == expected


def test_a_law_and_its_sample_ask_the_same() -> None:
    rng = np.random.default_rng(6)
    exact, law = (
        demand_of(LMSYS),
        Lengths.rounded(__import__("scipy.stats").stats.gamma(1.0628, scale=118.556)),
    )
    assert exact.tokens == pytest.approx(law.mean, rel=1e-5)
    assert exact.footprint == pytest.approx((law.moment(2) + law.mean) / 2, rel=1e-4)
    sample = demand_of(LMSYS.tokens(rng.random(40_000)))
    assert sample.tokens == pytest.approx(exact.tokens, abs=4 * 122 / 200)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: offered_load(0.0, [1], batch_size=1), "rate is 0.0: it must be a finite number > 0"),
        (lambda: offered_load(1.0, [], batch_size=1), "tokens is empty"),
        (lambda: offered_load(1.0, [3, 0], batch_size=1), "tokens is 0.0 at index 1"),
        (
            lambda: offered_load(1.0, "gamma", batch_size=1),
            "tokens is 'gamma': it must be a LengthLaw or lengths",
        ),
        (lambda: offered_load(1.0, [1], batch_size=0), "batch_size is 0"),
        (lambda: offered_load(1.0, [1], batch_size=1, clock="cost", cost=3), "cost is 3: it must be a fairq"),
        (lambda: step_ratio(0.0, batch_size=2, clock=fairq.StepTime(c=1.0)), r"E\[o\] and c must be > 0"),
        (lambda: step_ratio(1.0, batch_size=2, clock=fairq.StepTime(b=1.0)), r"E\[o\] and c must be > 0"),
    ],
)
def test_bad_load(call, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()


# Presets


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_shows_the_number_that_decides(name: str) -> None:
    preset = PRESETS[name]
    x = preset.clock.tau * preset.batch_size * preset.mean_tokens / preset.clock.c
    assert preset.x == pytest.approx(x)
    assert str(preset).endswith(f"x = {x:.2g}")
    assert preset.name == name


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_a_clock_by_name(name: str) -> None:
    workload = fairq.Workload.from_arrays([5, 3])
    by_name, by_law = (
        fairq.simulate(workload, "fcfs", batch_size=2, clock=clock) for clock in (name, PRESETS[name].clock)
    )
    pd.testing.assert_frame_equal(by_name.requests, by_law.requests)
    scenario = Scenario.load("table1", overrides=[f"clock={name}"])
    assert resolve_clock(scenario.step_time(), fairq.Cost()) == PRESETS[name].clock


def test_the_presets_lie_on_both_sides_of_the_crossing() -> None:
    assert PRESETS["short-chat"].x < 0.4 < PRESETS["long-context"].x


def test_the_presets_are_the_arithmetic_they_claim() -> None:
    """Bytes over bandwidth, to two digits."""
    bandwidth = 2.04e12
    assert PRESETS["short-chat"].clock.c == pytest.approx(13.5e9 / bandwidth, rel=0.01)
    assert PRESETS["short-chat"].clock.tau == pytest.approx(2 * 32 * 4096 * 2 / bandwidth, rel=0.02)
    assert PRESETS["grouped-attention"].clock.c == pytest.approx(16.1e9 / bandwidth, rel=0.01)
    assert PRESETS["grouped-attention"].clock.tau == pytest.approx(2 * 32 * 8 * 128 * 2 / bandwidth, rel=0.02)


# The search


def assert_brackets(found: StableRate, capacity: float) -> None:
    assert found.low <= capacity <= found.high * (1 + 1e-9)  # capacity 1 is the search's own upper end
    assert found.high / found.low < 1.5


@pytest.mark.parametrize("workers", [1, 4])
def test_one_request_at_a_time_carries_load_one(workers: int) -> None:
    found = stable_rate("fcfs", UNIFORM, batch_size=1, workers=workers, requests=1500, precision=0.2)
    assert_brackets(found, workers / 50.5)
    assert found.load_high == pytest.approx(found.high * 50.5 / workers)


@pytest.mark.slow
@pytest.mark.parametrize("batch_size", [2, 8])
def test_fixed_batches_carry_what_their_longest_leaves(batch_size: int) -> None:
    """The chain of `static_batching` is stable below B / E[longest of B]."""
    capacity = batch_size / Lengths.uniform(1, 100).longest_moment(batch_size, 1)
    found = stable_rate("fcfs-static", UNIFORM, batch_size=batch_size, requests=4000, precision=0.1)
    assert_brackets(found, capacity)


def test_level_lengths_carry_load_one_on_a_clock_that_sees_the_longest() -> None:
    """One length, fixed batches: batches are full and level in overload, so capacity is offered load 1."""
    clock = fairq.StepTime(c=1.0, tau=0.02)
    found = stable_rate("fcfs-static", [30], batch_size=4, clock=clock, requests=2000, precision=0.2)
    assert found.load_low <= 1 <= found.load_high + 1e-12
    assert found.load_low > 0.7


@pytest.mark.slow
def test_fair_batching_loses_capacity_that_a_backlog_hides() -> None:
    """ISJL fills nearly every slot of a backlog, and yet does not keep up with a load of 0.8."""
    fcfs = stable_rate("fcfs", LMSYS, batch_size=16, requests=6000, precision=0.2)
    isjl = stable_rate("isjl", LMSYS, alpha=100, batch_size=16, requests=6000, precision=0.2)
    backlog = fairq.simulate(
        fairq.Workload.from_arrays(LMSYS.tokens(np.random.default_rng(1).random(6000))),
        "isjl",
        alpha=100,
        batch_size=16,
    )
    assert isjl.load_high < fcfs.load_low
    assert backlog.summary["utilisation"] > 0.95 > isjl.load_high + 0.1


@pytest.mark.slow
def test_the_law_of_arrival_does_not_change_what_is_carried() -> None:
    found = stable_rate(
        "fcfs", UNIFORM, batch_size=1, arrivals=Renewal(rate=1.0, cv=2.0), requests=20_000, precision=0.15
    )
    assert_brackets(found, 1 / 50.5)


def test_workers_that_differ_carry_what_they_do_together() -> None:
    """One worker with steps of 1, two with steps of 4: 1 + 2/4 of one alone."""
    slow = fairq.StepTime(c=4.0)
    pool = [fairq.WorkerGroup(1), fairq.WorkerGroup(2, clock=slow)]
    assert offered_load(1.5 / 50.5, UNIFORM, batch_size=1, workers=pool) == pytest.approx(1.0)
    found = stable_rate("fcfs", UNIFORM, batch_size=1, workers=pool, requests=1500, precision=0.3)
    assert_brackets(found, 1.5 / 50.5)


def test_the_same_seed_finds_the_same() -> None:
    runs = [
        stable_rate("fcfs", UNIFORM, batch_size=2, requests=1000, precision=0.3, seed=9) for _ in range(2)
    ]
    assert runs[0].probes == runs[1].probes
    other = stable_rate("fcfs", UNIFORM, batch_size=2, requests=1000, precision=0.3, seed=10)
    assert other.probes != runs[0].probes


def test_probes_are_told_as_they_are_made() -> None:
    seen: list[Probe] = []
    found = stable_rate("fcfs", [5], batch_size=1, requests=1000, precision=0.3, on_probe=seen.append)
    assert tuple(seen) == found.probes
    assert all(probe.low <= probe.growth <= probe.high for probe in seen)
    assert {probe.verdict for probe in seen} <= {"stable", "unstable", "open"}


def test_whole_numbers_may_be_floats() -> None:
    """As everywhere: 1000.0 counts as 1000."""
    rates = [
        stable_rate("fcfs", [5], batch_size=1, requests=count, replications=runs, seed=seed, precision=0.3)
        for count, runs, seed in ((1000, 2, 3), (1000.0, 2.0, 3.0))
    ]
    assert rates[0].probes == rates[1].probes


def probe(rate: float, verdict: str) -> Probe:
    return Probe(rate, rate, 0.0, 0.0, 0.0, 2, 0, verdict)


@pytest.mark.parametrize(
    ("verdicts", "precise"),
    [
        ({0.5: "stable", 0.75: "unstable", 0.625: "stable"}, True),  # (0.75 − 0.625)/0.75 is 1/6
        ({0.5: "stable", 0.75: "unstable"}, False),  # and this 1/3
        ({0.5: "stable", 0.75: "unstable", 0.6: "open"}, False),
    ],
)
def test_a_search_says_whether_it_came_to_its_precision(verdicts: dict[float, str], precise: bool) -> None:
    probes = tuple(probe(rate, verdict) for rate, verdict in verdicts.items())
    low = 0.99 * max(rate for rate, verdict in verdicts.items() if verdict == "stable")
    assert StableRate(low, 0.75, low, 0.75, "fcfs", None, 0.2, probes).is_precise is precise


def test_a_search_whose_runs_do_not_decide_ends_open() -> None:
    """Two runs of 1000 from bursts of standard deviation 6 gaps leave rates that neither verdict fits."""
    bursts = Renewal(rate=1.0, cv=6.0)
    found = stable_rate(
        "fcfs", UNIFORM, batch_size=1, arrivals=bursts, requests=1000, replications=2, precision=0.02
    )
    assert "open" in {one.verdict for one in found.probes}
    assert not found.is_precise


def test_no_run_of_a_search_is_stopped_for_its_queue(monkeypatch) -> None:
    """The default of `max_queued` would end the longest overloaded runs early."""
    seen = []
    monkeypatch.setattr(
        "fairq.trial.simulate", lambda *_, **settings: seen.append(settings) or fairq.simulate(*_, **settings)
    )
    Trial("fcfs", [5], 1000, settings={"batch_size": 1}).run(0.1)
    assert [settings["max_queued"] for settings in seen] == [None]


def test_the_options_of_a_search_suggest_none_that_it_refuses() -> None:
    with pytest.raises(InputError, match="unknown option 'quantum'") as caught:
        stable_rate("fcfs", [5], batch_size=1, requests=1000, quantum=3)
    assert "did you mean" not in str(caught.value)
    assert "until" not in str(caught.value)


class Refusal:
    """Serves nobody."""

    def decide(self, view: fairq.View) -> fairq.Decision:
        return fairq.Decision()


def test_a_policy_that_carries_nothing_has_no_stable_rate() -> None:
    found = stable_rate(Refusal, [5], batch_size=1, requests=1000)
    assert found.low == 0
    assert found.load_high <= 0.001
    assert found.policy == "Refusal"
    assert {probe.verdict for probe in found.probes} == {"unstable"}
    assert found.is_precise


def test_rates_share_their_requests() -> None:
    trial = Trial("fcfs", UNIFORM, 1000, settings={"batch_size": 2, "seed": 3})
    slow, fast = trial.run(0.01), trial.run(0.02)
    np.testing.assert_allclose(slow.arrival, 2 * fast.arrival)
    assert (slow.tokens == fast.tokens).all()
    assert (trial.run(0.01, replication=1).tokens != slow.tokens).any()


def test_growth_is_that_of_the_queue() -> None:
    """Requests of one token at one place, twice as many as can be served: half of what comes piles up."""
    trial = Trial("fcfs", [1], 1000, Deterministic(1.0), {"batch_size": 1})
    growth = growth_of([trial.run(2.0)])
    assert growth.mean == pytest.approx(0.5, abs=0.01)
    assert growth.low <= growth.mean <= growth.high


@pytest.mark.slow
def test_the_interval_of_growth_covers_that_of_fluid() -> None:
    """First come first served, one at a time, load 1.25: a fifth of the tokens piles up."""
    trial = Trial("fcfs", UNIFORM, 4000, settings={"batch_size": 1})
    inside = 0
    for first in range(0, 120, 4):
        runs = [trial.run(1.25 / 50.5, replication) for replication in range(first, first + 4)]
        growth = growth_of(runs)
        inside += growth.low <= 0.2 <= growth.high
    assert inside >= 27  # of 30 at 99 %: fewer has probability 2e-4


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"requests": 999}, "requests is 999: it must be a whole number >= 1000"),
        ({"replications": 1}, "replications is 1"),
        ({"precision": 0.0}, "precision is 0.0: it must be > 0 and < 1"),
        ({"arrivals": Backlog()}, "arrivals is Backlog.*: it must be a law of arrival that has a rate"),
        ({"tokens": [0]}, "tokens is 0.0 at index 0"),
        ({"batch_size": 0}, "batch_size is 0"),
        ({"policy": "fcsf"}, "unknown policy 'fcsf'"),
        ({"policy": "isjl"}, "alpha"),
        ({"until": 5.0}, "until is 5.0: leave it out, for a run ends with its last arrival"),
        ({"replication": 1}, "replication is 1: leave it out"),
        ({"record": "summary"}, "record is 'summary': leave it out"),
        ({"queue_limit": 3}, "queue_limit is 3: leave it out, for who is rejected is not served"),
        ({"abandon_after": 3}, "abandon_after is 3: leave it out, for who leaves is not served"),
        ({"max_queued": 30}, "max_queued is 30: leave it out, for a run that it stops is shorter"),
        ({"on_probe": 3}, "on_probe is 3: it must be a function of a Probe"),
        ({"seed": "x"}, "seed is 'x'"),
        ({"cost": 3}, "cost is 3: it must be a fairq.Cost"),
        (
            {"arrivals": Nonhomogeneous([0.0, 10.0], [20.0], repeat=False), "requests": 1000},
            r"arrivals end after \d+ of 1,000 requests: they must follow a law that goes on",
        ),
    ],
)
def test_bad_search(changes: dict, message: str) -> None:
    arguments = {"policy": "fcfs", "tokens": [5], "batch_size": 2} | changes
    with pytest.raises(InputError, match=message):
        stable_rate(arguments.pop("policy"), arguments.pop("tokens"), **arguments)


# The flag, at the ends of the interval


@pytest.mark.slow
@pytest.mark.parametrize(("policy", "alpha"), [("fcfs", None), ("isjl", 100.0)])
def test_the_flag_below_and_above_the_interval(policy: str, alpha: float | None) -> None:
    """At most 5 % at 0.9 times the lower end, at least 95 % at 1.1 times the upper; 20 runs of 50,000 each.

    Of 20 runs 5 % is one; a binomial count with that mean is above 5 with probability 0.0003.
    """
    found = stable_rate(policy, LMSYS, alpha=alpha, batch_size=32)
    trial = Trial(policy, LMSYS, settings={"alpha": alpha, "batch_size": 32, "seed": 77})
    below, above = (
        sum(trial.run(rate, replication).grows for replication in range(20))
        for rate in (0.9 * found.low, 1.1 * found.high)
    )
    assert below <= 5
    assert above >= 15
