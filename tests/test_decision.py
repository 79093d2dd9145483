"""The protocol of an own policy: what it may answer, and what is refused, with whom, when and why."""

import itertools

import numpy as np
import pandas as pd
import pytest

import fairq
from fairq import Decision


class Own:
    """A policy made of one function of the view."""

    def __init__(self, decide):
        self._decide = decide

    def __deepcopy__(self, memo):
        return self

    def decide(self, view):
        return self._decide(view)


def run(decide, tokens=(3, 2, 1), arrival=None, **settings):
    workload = fairq.Workload.from_arrays(tokens=list(tokens), arrival=arrival)
    return fairq.simulate(workload, Own(decide), **{"batch_size": 2, "record": "segments"} | settings)


def first_come(view):
    return Decision(admit=view.queue[: view.free])


def test_an_own_first_come_policy_is_fcfs():
    rng = np.random.default_rng(5)
    tokens, arrival = rng.integers(1, 30, 200), np.sort(rng.integers(0, 900, 200)) / 2
    workload = fairq.Workload.from_arrays(tokens=tokens, arrival=arrival)
    for clock in ("token", fairq.StepTime(0.5, 0.25, 0.0625)):
        own = fairq.simulate(workload, Own(first_come), workers=3, batch_size=4, clock=clock)
        named = fairq.simulate(workload, "fcfs", workers=3, batch_size=4, clock=clock)
        own.check()
        assert own.requests.equals(named.requests)


def test_the_view_shows_the_worker_and_nothing_unreleased():
    seen = []

    def decide(view):
        seen.append((view.now, view.steps, view.free, dict(view.running), view.queue, view.max_progress))
        return first_come(view)

    run(decide, tokens=[3, 2, 4], arrival=[0.0, 0.0, 1.5], batch_size=2)
    # by hand: 0 and 1 start at 0; request 2 arrives inside the second step, whose end completes request 1
    assert seen == [
        (0.0, 0, 2, {}, (0, 1), 0),
        (2.0, 2, 1, {0: 2}, (2,), 2),
        (3.0, 3, 1, {2: 1}, (), 1),
        (6.0, 6, 2, {}, (), 0),
    ]


def test_sizes_are_the_upper_bounds_where_the_scenario_tells_only_those():
    told = {}

    def decide(view):
        told.update({request: view.size(request) for request in view.queue})
        return first_come(view)

    workload = fairq.Workload.from_arrays(tokens=[3, 2], upper=[5, 4])
    fairq.simulate(workload, Own(decide), batch_size=2, size="upper")
    assert told == {0: 5, 1: 4}
    fairq.simulate(workload, Own(decide), batch_size=2)
    assert told == {0: 3, 1: 2}


def test_a_wake_in_time_is_served_at_the_end_of_the_step():
    asked = []

    def decide(view):
        asked.append(view.now)
        wake = 1.25 if view.now == 0 else None
        return Decision(admit=view.queue[:1] if view.now in (0.0, 2.0) else (), wake=wake)

    run(decide, tokens=[5, 5], batch_size=2)
    assert asked == [0.0, 2.0, 5.0, 7.0]


def test_a_wake_of_an_idle_worker_is_served_at_the_very_time():
    def decide(view):
        return Decision(wake=0.7) if view.now < 0.7 else first_come(view)

    result = run(decide, tokens=[2, 1], arrival=[0.1, 0.1])
    assert result.requests["start"].tolist() == [0.7, 0.7]
    result.check()


def test_a_wake_in_steps_counts_this_workers_steps():
    asked = []

    def decide(view):
        asked.append(view.steps)
        if view.steps == 0:
            return Decision(admit=view.queue[:1], wake_steps=4)
        return first_come(view)

    run(decide, tokens=[9, 1], batch_size=2)
    assert asked == [0, 4, 5, 9]


def test_each_answer_replaces_both_wakes():
    asked = []

    def decide(view):
        asked.append(view.now)
        if view.now == 0:
            return Decision(admit=view.queue[:2], wake_steps=5)
        return Decision()

    run(decide, tokens=[9, 2], batch_size=2)  # the ask at 2 (a completion) cancels the wake at 5
    assert asked == [0.0, 2.0, 9.0]


def test_reserved_requests_are_hidden_from_other_workers_and_come_back():
    log = []

    def decide(view):
        log.append((view.now, view.worker, view.queue, view.reserved))
        if view.worker == 0 and view.now == 0 and view.queue:
            return Decision(admit=view.queue[:1], reserve=view.queue[1:], wake_steps=2)
        if view.worker == 0 and view.reserved:
            return Decision(release=view.reserved)
        return first_come(view)

    result = run(decide, tokens=[4, 3, 3], workers=2, batch_size=2)
    assert log[:2] == [(0.0, 0, (0, 1, 2), ()), (0.0, 1, (), ())]
    # at 2 they come back: worker 1 comes after worker 0 in that round and takes both; all are asked again
    assert log[2:5] == [(2.0, 0, (), (1, 2)), (2.0, 1, (1, 2), ()), (2.0, 0, (), ())]
    assert result.requests["worker"].tolist() == [0, 1, 1]
    assert result.requests["start"].tolist() == [0.0, 2.0, 2.0]


WRONG = {
    "capacity": lambda view: Decision(admit=view.queue),
    "uniqueness": lambda view: Decision(admit=[view.queue[0]] * 2),
    "release": lambda view: Decision(admit=[2]),
    "reservation": lambda view: Decision(release=[0]),
    "answer": lambda view: [0],
    "wake": lambda view: Decision(wake=view.now),
}


@pytest.mark.parametrize("rule", WRONG)
def test_a_wrong_answer_names_policy_worker_time_and_rule(rule):
    arrival = [1.5, 1.5, 9.0] if rule == "release" else [1.5, 1.5, 1.5]
    with pytest.raises(fairq.PolicyError) as caught:
        run(WRONG[rule], arrival=arrival)
    error = caught.value
    assert (error.policy, error.worker, error.time, error.rule) == ("Own", 0, 1.5, rule)
    for part in ("'Own'", "worker 0", "time 1.5", repr(rule)):
        assert part in str(error)
    assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("decide", "rule"),
    [
        (lambda view: Decision(admit=["0"]), "answer"),
        (lambda view: Decision(admit=[7]), "release"),
        (lambda view: Decision(admit=[-1]), "release"),
        (lambda view: Decision(reserve=[0, 0]), "uniqueness"),
        (lambda view: Decision(wake="soon"), "wake"),
        (lambda view: Decision(wake=float("nan")), "wake"),
        (lambda view: Decision(wake_steps=0), "wake"),
        (lambda view: Decision(wake_steps=1.5), "wake"),
        (lambda view: Decision(), "service"),
        (lambda view: Decision(reserve=view.queue), "service"),
    ],
)
def test_other_wrong_answers(decide, rule):
    with pytest.raises(fairq.PolicyError) as caught:
        run(decide)
    assert caught.value.rule == rule


def test_another_workers_reserve_cannot_be_admitted():
    def decide(view):
        return Decision(reserve=view.queue) if view.worker == 0 else Decision(admit=[0])

    with pytest.raises(fairq.PolicyError, match="kept for another worker"):
        run(decide, workers=2)


def test_giving_back_for_ever_is_an_error():
    def decide(view):
        if view.now < 1:
            return Decision(reserve=view.queue, wake=1.0)
        return Decision(release=view.reserved[:1], reserve=view.queue)

    with pytest.raises(fairq.PolicyError, match="more than 3 times at one instant"):
        run(decide)


def test_a_class_is_made_once_a_worker_with_its_keywords():
    made = []

    class Counting:
        def __init__(self, patience=0):
            made.append(patience)

        def decide(self, view):
            return first_come(view)

    workload = fairq.Workload.from_arrays(tokens=[1, 2])
    assert fairq.simulate(workload, Counting, workers=3, batch_size=1, patience=4).policy == "Counting"
    assert made == [4, 4, 4]
    with pytest.raises(fairq.InputError, match="cannot be made"):
        fairq.simulate(workload, Counting, batch_size=1, patients=4)


def test_an_object_is_copied_for_each_worker():
    class Stateful:
        def __init__(self):
            self.workers = set()

        def decide(self, view):
            self.workers.add(view.worker)
            if len(self.workers) > 1:
                raise AssertionError("two workers share one object")
            return first_come(view)

    fairq.simulate(fairq.Workload.from_arrays(tokens=[5, 5, 5, 5]), Stateful(), workers=2, batch_size=2)


def test_a_guarded_promise_is_checked():
    class Promise:
        guarded = True

        def decide(self, view):
            return first_come(view)

    workload = fairq.Workload.from_arrays(tokens=[9, 2, 9])
    result = fairq.simulate(workload, Promise(), alpha=1, batch_size=2)
    assert result.summary["violations"] == 7  # request 2 starts at 2 and runs beside request 0 up to 9
    with pytest.raises(fairq.CheckError, match="fairness"):
        result.check()


def test_errors_survive_a_process_boundary():
    import pickle

    error = fairq.PolicyError("mine", 1, 2.5, "capacity", "too many")
    twin = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert str(twin) == str(error)
    assert twin.rule == "capacity"
    assert str(pickle.loads(pickle.dumps(fairq.CheckError("release", "early")))).startswith("rule 'release'")  # noqa: S301


@pytest.mark.parametrize(
    "admit",
    [np.array, pd.Series, list, tuple, iter, dict.fromkeys, lambda ids: (i for i in ids)],
    ids=["array", "series", "list", "tuple", "iterator", "dict", "generator"],
)
def test_ids_may_come_in_any_collection(admit):
    result = run(lambda view: Decision(admit=admit([int(i) for i in view.queue[: view.free]])))
    assert result.requests["finish"].tolist() == [3.0, 2.0, 3.0]


@pytest.mark.parametrize("wake", [float("inf"), 1e308, 10**400])
@pytest.mark.parametrize("clock", ["token", fairq.StepTime(0.5, 0.25, 0.0625)])
def test_a_wake_too_late_to_matter_does_no_harm(wake, clock):
    result = run(lambda view: first_come(view)._replace(wake=wake), clock=clock)
    result.check()
    assert run(lambda view: first_come(view)._replace(wake_steps=10**200), clock=clock).requests.equals(
        result.requests
    )


@pytest.mark.parametrize(
    ("decide", "rule"),
    [
        (lambda view: Decision(admit=itertools.count()), "answer"),
        (lambda view: Decision(admit=[True]), "answer"),
        (lambda view: Decision(wake_steps=True), "wake"),
        (lambda view: Decision(wake=view.now + 1), "service"),
        (lambda view: Decision(wake=np.nextafter(view.now, 9.0)), "service"),
    ],
)
def test_answers_without_end_are_stopped(decide, rule):
    with pytest.raises(fairq.PolicyError) as caught:
        run(decide)
    assert caught.value.rule == rule


def test_a_run_ends_when_everything_is_served_whatever_wakes_are_left():
    result = run(lambda view: first_come(view)._replace(wake=view.now + 0.5))
    assert result.summary["makespan"] == 3.0


def test_the_unreleased_have_neither_size_nor_arrival():
    seen = []

    def decide(view):
        for request in (1, 7, -1):
            for ask in (view.size, view.arrival):
                with pytest.raises(KeyError, match="not in the view"):
                    ask(request)
        seen.append(view.now)
        return first_come(view) if view.now < 4 else Decision(admit=view.queue)

    with pytest.raises(BaseException, match="DID NOT RAISE"):  # at 4 request 1 is there
        run(decide, tokens=[2, 2], arrival=[0.0, 4.0])
    assert seen == [0.0, 2.0]
    assert not hasattr(fairq.View, "waiting")
    assert not hasattr(fairq.View, "ranking")


@pytest.mark.parametrize(
    "raised", [ValueError("boom\nagain"), KeyError("boom again"), SystemExit("boom again")]
)
def test_an_error_inside_a_policy_is_told_in_one_line_with_its_place(raised):
    def decide(view):
        raise raised

    with pytest.raises(fairq.PolicyError) as caught:
        run(decide)
    told = str(caught.value)
    assert told.startswith("policy 'Own' on worker 0 at time 0.0 broke the rule 'error': decide raised ")
    assert type(raised).__name__ in told
    assert "test_decision.py, line " in told
    assert "\n" not in told
    assert caught.value.__cause__ is raised


def test_an_error_of_heeds_is_told_too():
    class Own:
        def decide(self, view):
            return fairq.Decision(admit=view.queue[: view.free])

        def heeds(self):
            return True

    with pytest.raises(fairq.PolicyError, match="heeds raised TypeError"):
        fairq.simulate(fairq.Workload.from_arrays(tokens=[9, 9]), Own, batch_size=2)


def test_a_policy_may_look_for_work_while_nobody_waits():
    """Between the arrivals at 0 and at 150 it is asked 147,000 times in vain, and is not called stalled."""

    class Own:
        def decide(self, view):
            return fairq.Decision(admit=view.queue[: view.free], wake=view.now + 0.001)

    workload = fairq.Workload.from_arrays(tokens=[3, 3], arrival=[0.0, 150.0])
    assert fairq.simulate(workload, Own, batch_size=2).requests["finish"].tolist() == [3.0, 153.0]


def test_the_promise_is_read_from_the_object():
    class Promises:
        def __init__(self):
            self.guarded = True

        def decide(self, view):
            return first_come(view)

    workload = fairq.Workload.from_arrays(tokens=[1])
    assert fairq.simulate(workload, Promises, alpha=1, batch_size=1).guarded
    assert fairq.simulate(workload, Promises(), alpha=1, batch_size=1).guarded
