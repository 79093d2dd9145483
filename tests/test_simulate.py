"""What `fairq.simulate` accepts and refuses, and what it keeps."""

import subprocess
import sys

import numpy as np
import pytest

import fairq
from fairq.policy import POLICIES

WORKLOAD = fairq.Workload.from_arrays(tokens=[12, 8, 2])
SECONDS = fairq.Workload.from_arrays(tokens=[12, 8, 2], arrival=[0, 0.5, 1.5], time_unit="s")


def refused(match, *, workload=WORKLOAD, policy="isjl", **settings):
    settings = {"alpha": 3, "batch_size": 2} | settings
    with pytest.raises(fairq.InputError, match=match) as caught:
        fairq.simulate(workload, policy, **settings)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"policy": "isjk"}, "unknown policy 'isjk': did you mean 'isjl'"),
        ({"policy": 7}, "no method decide"),
        ({"alpha": None}, "'isjl' needs alpha"),
        ({"alpha": -1}, "alpha is -1: .*>= 0"),
        ({"alpha": float("nan")}, "alpha is nan"),
        ({"alpha": float("inf")}, "alpha is inf: it must be a finite number"),
        ({"alpha": "50"}, "alpha is '50'"),
        ({"alpha": True}, "alpha is True"),
        ({"batch_size": 0}, "batch_size is 0: it must be a whole number >= 1"),
        ({"batch_size": 2.5}, "batch_size is 2.5"),
        ({"workers": 0}, "workers is 0"),
        ({"workers": "two"}, "workers is 'two'"),
        ({"workers": fairq.WorkerGroup(2)}, r"groups must stand in a list, as \[fairq.WorkerGroup\(2\)\]"),
        ({"policy": "fcfs", "patience": 3}, "'patience' of policy 'fcfs': did you mean 'abandon_after'"),
        (
            {"pack_ordr": "ascending"},
            "unknown option 'pack_ordr' of policy 'isjl': did you mean 'pack_order'",
        ),
        ({"pack_order": "random"}, "pack_order is 'random': .*'ascending', 'descending'"),
        ({"size": "lower"}, "size is 'lower'"),
        ({"policy": "fcfs", "beta": 1}, "unknown option 'beta' of policy 'fcfs'"),
        ({"clock": "tokens"}, "unknown clock 'tokens': did you mean 'token'"),
        ({"clock": 1.0}, "clock is 1.0"),
        ({"dispatch": "jsk"}, "unknown dispatch 'jsk': did you mean 'jsq'"),
        ({"dispatch": ["jsq"]}, "unknown dispatch"),
        ({"policy": "fcfs", "alpha": None, "dispatch": "length-class"}, "'length-class' needs alpha"),
        ({"workers": []}, "workers is empty"),
        ({"workers": [3]}, r"workers\[0\] is 3"),
        ({"workers": [fairq.WorkerGroup(2)], "batch_size": None}, "batch_size is None"),
        ({"queue_limit": 0}, "queue_limit is 0: it must be a whole number >= 1"),
        ({"abandon_after": -1}, "abandon_after is -1: it must be a finite number >= 0"),
        ({"max_queued": 0}, "max_queued is 0: it must be a whole number >= 1"),
        ({"replication": -1}, "replication is -1"),
        ({"record": "request"}, "did you mean 'requests'"),
        ({"until": -1}, "until is -1"),
        ({"until": float("nan")}, "until is nan"),
        ({"seed": -1}, "seed is -1"),
        ({"cost": 3}, "cost is 3"),
        ({"cost": fairq.Cost(c=1e308)}, r"Cost.c is 1e\+308: .* must stay below 1e\+100"),
        ({"cost": fairq.Cost(tau=1e99)}, r"Cost.tau is 1e\+99"),
        ({"cost": fairq.Cost(price=1e308)}, r"Cost.price is 1e\+308"),
        ({"cost": fairq.Cost(worker=1e308)}, r"Cost.worker is 1e\+308"),
        ({"alpha": 10**400}, "alpha is 1000"),
        ({"until": 10**5000}, "until is a int too long to show"),
        ({"batch_size": 10**9}, "batch_size is 1000000000: .* and <= 1000000"),
        ({"workers": 10**6}, "workers is 1000000: .* and <= 100000"),
        ({"worker": 2}, "unknown option 'worker' of policy 'isjl': did you mean 'workers'"),
        ({"untill": 2}, "did you mean 'until'"),
        ({"policy": "ISJL"}, "did you mean 'isjl'"),
        ({"clock": np.zeros(2)}, "clock is array"),
        ({"record": np.zeros(2)}, "unknown record"),
        ({"dispatch": np.zeros(2)}, "unknown dispatch"),
        ({"pack_order": np.zeros(2)}, "pack_order is array"),
        ({"size": np.zeros(2)}, "size is array"),
        ({"clock": fairq.StepTime(c=1e308)}, "clock has steps of 1e\\+308"),
        ({"clock": fairq.StepTime(c=5e-324)}, "use another unit"),
        ({"workload": [1, 2]}, "workload is list"),
        ({"workload": SECONDS}, "arrivals are in seconds, but clock is 'token'"),
    ],
)
def test_a_value_that_is_not_allowed_is_named(settings, match):
    refused(match, **settings)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: fairq.Cost(c=-1), "Cost.c is -1: it must be a finite number >= 0"),
        (lambda: fairq.Cost(c=0, tau=0), "Cost has c = tau = 0"),
        (lambda: fairq.Cost(price=float("inf")), "Cost.price is inf"),
        (fairq.StepTime, "c = b = tau = 0"),
        (lambda: fairq.StepTime(b=-0.5), "StepTime.b is -0.5"),
        (lambda: fairq.StepTime(tau="x"), "StepTime.tau is 'x'"),
    ],
)
def test_money_and_time_are_checked(make, match):
    with pytest.raises(fairq.InputError, match=match):
        make()


def test_sums_that_would_overflow_are_refused():
    refused("must stay below", workload=fairq.Workload.from_arrays(tokens=[10**8] * 300))


def test_seconds_run_on_a_clock_in_seconds():
    result = fairq.simulate(SECONDS, "fcfs", batch_size=2, clock="cost", cost=fairq.Cost(c=0.02, tau=1e-7))
    result.check()
    assert result.clock == fairq.StepTime(c=0.02, tau=1e-7)


REQUIRED = {"window": {"window": 2}}


@pytest.mark.parametrize("policy", POLICIES)
def test_alpha_is_used_by_its_floor(policy):
    workload = fairq.Workload.from_arrays(tokens=np.random.default_rng(1).integers(1, 30, 40))
    whole, real = (
        fairq.simulate(workload, policy, alpha=alpha, batch_size=4, **REQUIRED.get(policy, {}))
        for alpha in (6, 6.9)
    )
    assert whole.requests.equals(real.requests)
    assert whole.summary["violations"] == real.summary["violations"]


@pytest.mark.parametrize("policy", [name for name, info in POLICIES.items() if not info.needs_alpha])
def test_without_an_alpha_nothing_is_counted_as_a_violation(policy):
    result = fairq.simulate(WORKLOAD, policy, batch_size=2, **REQUIRED.get(policy, {}))
    assert np.isnan(result.summary["violations"])
    result.check()


def test_a_table_that_was_not_recorded_says_which_level_has_it():
    summary = fairq.simulate(WORKLOAD, "fcfs", batch_size=2, record="summary")
    with pytest.raises(fairq.RecordError, match="needs 'requests'"):
        _ = summary.requests
    requests = fairq.simulate(WORKLOAD, "fcfs", batch_size=2)
    with pytest.raises(fairq.RecordError, match="needs 'segments'"):
        _ = requests.segments
    assert requests.summary.equals(summary.summary)


def test_the_same_run_gives_the_same_bytes_in_another_process():
    program = (
        "import fairq, numpy as np\n"
        "rng = np.random.default_rng(4)\n"
        "arrival = np.sort(rng.random(300) * 900)\n"
        "w = fairq.Workload.from_arrays(tokens=rng.integers(1, 90, 300), arrival=arrival)\n"
        "clock = fairq.StepTime(0.1, 0.03, 0.007)\n"
        "r = fairq.simulate(w, 'isjl', alpha=20, workers=3, batch_size=4, clock=clock)\n"
        "print(r.requests.to_csv(), r.summary.to_csv())\n"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", program],
            check=True,
            capture_output=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        ).stdout
        for seed in ("0", "1")
    }
    assert len(runs) == 1


def test_a_run_does_not_change_its_workload():
    before = WORKLOAD.frame.copy()
    fairq.simulate(WORKLOAD, "isjl", alpha=3, batch_size=2)
    assert WORKLOAD.frame.equals(before)


def test_a_million_tokens_make_few_events():
    """n steps are one event: two requests of 10 million tokens take no time to speak of."""
    workload = fairq.Workload.from_arrays(tokens=[10_000_000, 9_999_999])
    result = fairq.simulate(workload, "fcfs", batch_size=2, clock=fairq.StepTime(0.01, 0.001, 1e-9))
    result.check()
    assert result.summary["busy_steps"] == 10_000_000


@pytest.mark.parametrize(
    ("arrival", "clock"),
    [
        (1e12, fairq.StepTime(c=1e-6)),
        (1e15, fairq.StepTime(c=1e-3)),
        (1.7e18, fairq.StepTime(c=0.02)),  # a nanosecond epoch, read as seconds
        (1e12, fairq.StepTime(c=1e-12, tau=1e-20)),
    ],
)
def test_steps_that_floats_cannot_tell_apart_are_refused(arrival, clock):
    workload = fairq.Workload.from_arrays(tokens=[5, 9], arrival=[arrival, arrival])
    refused(
        "floats are .* apart: use another unit, or let arrivals begin near 0", workload=workload, clock=clock
    )


def test_a_result_shows_itself_in_a_line():
    result = fairq.simulate(WORKLOAD, "isjl", alpha=3, batch_size=2)
    assert (
        repr(result)
        == "Result('isjl', alpha=3, workers=1, batch_size=2: 3 of 3 requests completed, makespan 12)"
    )


@pytest.mark.parametrize("policy", ["cluster", "fcfs", "isjl", "ljf-fair"])
def test_an_alpha_beyond_64_bits_is_one_beyond_every_size(policy):
    """One length class for all: every request goes to worker 1 mod 2."""
    settings = {"workers": 2, "batch_size": 2, "dispatch": "length-class"}
    huge = fairq.simulate(WORKLOAD, policy, alpha=1e19, **settings)
    huge.check()
    assert huge.requests["worker"].tolist() == [1, 1, 1]
    assert huge.requests.equals(fairq.simulate(WORKLOAD, policy, alpha=1000, **settings).requests)


@pytest.mark.parametrize(("said", "counts"), [(True, True), (np.True_, True), (False, False)])
def test_a_promise_is_true_or_false(said, counts):
    class Own:
        guarded = said

        def decide(self, view):
            return fairq.Decision(admit=view.queue[: view.free])

    assert fairq.simulate(WORKLOAD, Own, batch_size=2).guarded is counts


@pytest.mark.parametrize("said", ["no", 1, None])
def test_another_promise_is_refused(said):
    class Own:
        guarded = said

        def decide(self, view):
            return fairq.Decision(admit=view.queue[: view.free])

    refused(f"guarded of policy 'Own' is {said!r}: it must be True or False", policy=Own)
