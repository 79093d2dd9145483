"""Pools: limits of waiting by hand, workers that differ, dispatchers that draw, invariants on random runs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fairq
from fairq.schema import Group

POLICIES = [
    ("fcfs", {}),
    ("fcfs-static", {}),
    ("fcfs-fair", {"alpha": 7}),
    ("sjf", {}),
    ("ljf", {}),
    ("ljf-fair", {"alpha": 7}),
    ("isjl", {"alpha": 7}),
    ("isjl", {"alpha": 7, "pack_order": "descending"}),
    ("robust-isjl", {"alpha": 7}),
    ("free-ride", {"alpha": 7}),
]
DISPATCHERS = ["central", "round-robin", "random", "power-of-two", "jsq", "least-work", "length-class"]
CLOCKS = [fairq.StepTime(c=1.0), fairq.StepTime(c=0.5, b=0.125, tau=0.0078125)]


def workload(tokens, arrival):
    return fairq.Workload.from_arrays(tokens=tokens, arrival=arrival)


def random_workload(seed, count=60, rate=0.6):
    rng = np.random.default_rng(seed)
    tokens = rng.integers(1, 30, count)
    return fairq.Workload.from_arrays(
        tokens=tokens,
        upper=tokens + rng.integers(0, 9, count),
        arrival=np.floor(rng.exponential(1 / rate, count).cumsum()),
    )


def test_a_request_that_finds_the_queue_full_is_rejected():
    """One slot, 5 steps each: request 1 waits, 2 and 3 find it waiting; 4 comes when the slot is free."""
    result = fairq.simulate(
        workload([5] * 5, [0.0, 1.0, 2.0, 3.0, 11.0]), "fcfs", batch_size=1, queue_limit=1
    )
    result.check()
    assert result.requests["outcome"].tolist() == [
        "completed",
        "completed",
        "rejected",
        "rejected",
        "completed",
    ]
    assert result.requests["start"].tolist()[::4] == [0.0, 11.0]
    assert result.summary["rejected"] == 2
    assert result.summary["makespan"] == 16.0


def test_the_limit_counts_who_waits_in_the_whole_pool():
    """Two workers of one slot: 0 and 1 run, 2 and 3 wait, 4 finds two waiting, 5 takes worker 0's turn."""
    arrival = [0.0, 0.0, 1.0, 1.0, 2.0, 6.0]
    result = fairq.simulate(
        workload([5, 3, 5, 5, 5, 1], arrival),
        "fcfs",
        workers=2,
        batch_size=1,
        dispatch="round-robin",
        queue_limit=2,
    )
    result.check()
    assert result.requests["worker"].tolist() == [0, 1, 0, 1, -1, 0]
    assert result.requests["outcome"].tolist()[4] == "rejected"
    assert result.requests["start"].tolist()[5] == 10.0


def test_a_request_served_at_its_last_moment_does_not_abandon():
    result = fairq.simulate(workload([5, 5, 5], [0.0, 1.0, 4.0]), "fcfs", batch_size=1, abandon_after=4)
    result.check()
    assert result.requests["outcome"].tolist() == ["completed", "completed", "abandoned"]
    assert result.requests["start"].tolist()[1] == 5.0
    assert np.isnan(result.requests["start"][2])
    assert result.summary["abandoned"] == 1


def test_who_has_waited_too_long_leaves_before_the_next_completion():
    result = fairq.simulate(workload([5, 5, 5], [0.0, 1.0, 4.0]), "fcfs", batch_size=1, abandon_after=3.5)
    result.check()
    assert result.requests["outcome"].tolist() == ["completed", "abandoned", "completed"]
    assert result.requests["finish"].tolist()[2] == 10.0


def test_impatience_without_patience_serves_whom_it_can_at_once():
    result = fairq.simulate(workload([2, 2, 2], [0.0, 1.0, 2.0]), "fcfs", batch_size=1, abandon_after=0)
    result.check()
    assert result.requests["outcome"].tolist() == ["completed", "abandoned", "completed"]


def test_a_cohort_whose_longest_request_abandons_ends():
    """B = 2, alpha 3.  A request is past alpha when 9 comes at 5, so 9 and 6 lead a cohort at 10.

    Lane 2 may hold min(6, 9 - 6 + 3) = 6: it takes 3, 2 and 1, so o_1 = 9 is due after 3 steps, at 13.
    The pack runs 1 (from 10), 2 (from 11).  At 12, 9 has waited for 7 and leaves; the cohort ends, 6 and
    3 go back, and Phase TWO starts the longest, 6, at once, and 3 when 2 has ended at 13.
    """
    result = fairq.simulate(
        workload([10, 9, 6, 3, 2, 1], [0.0, 5.0, 8.0, 8.0, 8.0, 8.0]),
        "isjl",
        alpha=3,
        batch_size=2,
        abandon_after=7,
    )
    result.check()
    assert result.requests["outcome"].tolist().count("abandoned") == 1
    assert np.isnan(result.requests["start"][1])
    assert result.requests["start"].tolist()[2:] == [12.0, 13.0, 11.0, 10.0]


def test_a_queue_over_its_limit_ends_the_run():
    """One slot, 10 steps each, one arrival a step: the arrival at 4 makes four wait."""
    result = fairq.simulate(
        workload([10] * 9, [float(i) for i in range(9)]), "fcfs", batch_size=1, max_queued=3
    )
    result.check()
    assert result.stopped_at == result.horizon == 4.0
    counts = {name: result.summary[name] for name in ("arrived", "completed", "running_end", "queued_end")}
    assert counts == {"arrived": 5, "completed": 0, "running_end": 1, "queued_end": 4}
    assert result.requests["progress"].tolist()[0] == 4
    assert result.requests["outcome"].tolist()[5:] == ["unreleased"] * 4


def test_a_backlog_is_never_ended_by_its_queue():
    result = fairq.simulate(workload([2] * 9, [3.0] * 9), "fcfs", batch_size=1, max_queued=3)
    assert np.isnan(result.stopped_at)
    assert result.summary["completed"] == 9


def test_workers_that_differ_keep_their_own_slots_and_clocks():
    """Worker 0 has two slots and steps of 1, worker 1 one slot and steps of 3."""
    groups = [fairq.WorkerGroup(1, 2), fairq.WorkerGroup(1, 1, fairq.StepTime(c=3.0))]
    result = fairq.simulate(
        workload([4] * 4, [0.0] * 4), "fcfs", workers=groups, batch_size=9, record="segments"
    )
    result.check()
    assert result.requests["worker"].tolist() == [0, 0, 1, 0]
    assert result.requests["finish"].tolist() == [4.0, 4.0, 12.0, 8.0]
    assert (result.workers, result.batch_size) == (2, 2)
    assert result.summary["utilisation"] == pytest.approx((8 + 4 + 12) / (3 * 12))
    assert result.summary["busy_fraction"] == pytest.approx((8 + 12) / (2 * 12))


@pytest.mark.parametrize("dispatch", ["random", "power-of-two"])
def test_draws_depend_on_seed_and_replication_alone(dispatch):
    requests = random_workload(1)

    def placed(policy="fcfs", workers=4, **settings):
        run = fairq.simulate(requests, policy, workers=workers, batch_size=2, dispatch=dispatch, **settings)
        return run.requests["worker"].tolist()

    assert placed(seed=3) == placed(seed=3)
    assert placed(seed=3) != placed(seed=4)
    assert placed(seed=3) != placed(seed=3, replication=1)
    if dispatch == "random":  # nothing but the draw decides
        assert placed(seed=3) == placed("ljf", seed=3)
        assert [index // 2 for index in placed(seed=3)] == placed(workers=2, seed=3)


def test_power_of_two_is_what_its_definition_says():
    """B = 1 and endless service: the counts are those of the arrivals so far."""
    count, workers = 40, 5
    run = fairq.simulate(
        workload([1000] * count, np.arange(float(count))),
        "fcfs",
        workers=workers,
        batch_size=count,
        dispatch="power-of-two",
        seed=8,
        until=count,
    )
    draws = fairq.streams.stream(8, 0, "dispatch").random((count, 2))
    unfinished, expected = [0] * workers, []
    for first, second in draws:
        one = int(first * workers)
        other = int(second * (workers - 1))
        other += other >= one
        best = min((one, other), key=lambda index: (unfinished[index], index))
        unfinished[best] += 1
        expected.append(best)
    assert run.requests["worker"].tolist() == expected


@pytest.mark.parametrize("dispatch", DISPATCHERS)
@pytest.mark.parametrize(("policy", "settings"), POLICIES)
def test_fairness_and_every_other_invariant_hold_whatever_the_pool(policy, settings, dispatch):
    """check() builds the batches anew from the requests table alone, by start_step."""
    alpha = {"alpha": 7} | settings
    for seed, clock in enumerate(CLOCKS):
        requests = random_workload(seed)
        limits = [{}, {"queue_limit": 5}, {"abandon_after": 9.0}, {"until": 40.0}, {"max_queued": 8}]
        for limit in [*limits, {"queue_limit": 9, "abandon_after": 20.0}]:
            run = fairq.simulate(
                requests, policy, workers=3, batch_size=3, dispatch=dispatch, clock=clock, **alpha, **limit
            )
            run.check()
            if run.guarded:
                assert run.summary["violations"] == 0
            waits = run.requests["wait"]
            assert not (waits > limit.get("abandon_after", np.inf)).any()


@pytest.mark.parametrize(
    ("name", "law"),
    [
        ("token", fairq.StepTime(c=1.0)),
        ("cost", fairq.StepTime(c=0.5, tau=0.25)),
        ("long-context", fairq.PRESETS["long-context"].clock),
    ],
)
def test_a_group_names_its_clock(name: str, law: fairq.StepTime) -> None:
    """The same requests on the named clock and on the law that it names, in Python and in a scenario."""
    cost = fairq.Cost(c=0.5, tau=0.25)
    named, given = (
        fairq.simulate(
            workload([5, 3, 4], [0, 0, 1]), "fcfs", batch_size=1, cost=cost, clock=fairq.StepTime(c=7.0),
            workers=[fairq.WorkerGroup(1, clock=clock), fairq.WorkerGroup(1)],
        )
        for clock in (name, law)
    )  # fmt: skip
    pd.testing.assert_frame_equal(named.requests, given.requests)
    assert [group.clock for group in named.groups] == [law, fairq.StepTime(c=7.0)]
    group = Group.model_validate({"count": 1, "clock": name}).group()
    assert group == fairq.WorkerGroup(1, clock=name)


def test_a_group_s_clock_that_is_none() -> None:
    with pytest.raises(
        fairq.InputError, match="WorkerGroup: unknown clock 'long-contxt': did you mean 'long-c"
    ):
        fairq.WorkerGroup(1, clock="long-contxt")
    with pytest.raises(fairq.InputError, match="WorkerGroup: clock is 3: it must be"):
        fairq.WorkerGroup(1, clock=3)  # type: ignore[arg-type]
