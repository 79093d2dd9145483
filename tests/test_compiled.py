"""The compiled engine against the SimPy engine: the same schedule, to the last bit."""

from __future__ import annotations

import warnings
from math import floor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from instances import STEPS, Instance, random_instance
from test_agreement import VARIANTS, engine_clock, policy_options

import fairq
from fairq import compiled
from fairq.cost import resolve_clock
from fairq.dispatch import DISPATCHERS
from fairq.dispatcher import Arrivals
from fairq.groups import WorkerGroup, per_worker, resolve_groups
from fairq.isjl import CohortAgent
from fairq.limits import check_limits
from fairq.policy import plan_policy
from fairq.pool import Pool
from fairq.ranking import Ranking, order_keys
from fairq.rules import RULES, RuleAgent
from fairq.schedule import Ledger, Schedule

pytest.importorskip("numba", reason="the compiled engine needs Numba: pip install 'fairq[fast]'")

SEEDS = 10_000  # times 11 variants: `make test` runs the first QUICK of them, `make test-slow` the others
QUICK = 300
CHUNK = 300
COLUMNS = ("request", "worker", "start_step", "steps", "start", "finish", "rejected", "abandoned")


def draw_pool(rng: np.random.Generator, instance: Instance) -> dict[str, Any]:
    """Keywords of a pool: half as the instance has it, half with all that a pool may have."""

    def pick(items: Any) -> Any:
        return items[int(rng.integers(len(items)))]

    pool: dict[str, Any] = {
        "workers": instance["workers"],
        "dispatch": "central",
        "seed": int(pick(range(5))),
    }
    if pick((True, False)):
        return pool
    pool["dispatch"] = pick(list(DISPATCHERS))
    pool["replication"] = pick(range(3))
    if pick((True, False)):
        pool["workers"] = [
            WorkerGroup(pick((1, 1, 2)), pick((1, 2, 3, 5)), fairq.StepTime(*pick(STEPS)))
            for _ in range(pick((1, 2, 3)))
        ]
    if pick((True, False, False)):
        pool["queue_limit"] = pick((1, 2, 3, 6))
    if pick((True, False)):
        pool["abandon_after"] = pick((0.0, 0.1, 0.5, 1.0, 2.0, 3.0, 10.0)) * pick(
            (1.0, sum(instance["step"]))
        )
    if pick((True, False, False, False)):
        pool["max_queued"] = pick((1, 2, 3, 6))
    return pool


def workload_of(instance: Instance) -> fairq.Workload:
    return fairq.Workload.from_arrays(
        tokens=instance["tokens"],
        arrival=instance["arrival"],
        prompt_tokens=instance["prompt"],
        upper=instance["upper"],
    )


def schedules(
    workload: fairq.Workload, instance: Instance, policy: str, options: dict[str, Any], pool: dict[str, Any]
) -> tuple[Schedule, Schedule]:
    """What the compiled engine answers, and what SimPy does; without the account, which costs far more."""
    law = resolve_clock(*engine_clock(instance["step"]))
    slots, laws = per_worker(resolve_groups(pool["workers"], instance["batch_size"], law, fairq.Cost()))
    plan = plan_policy(policy, instance["alpha"], options, len(slots))
    assert compiled.can_run(plan, workload, slots, laws) is None
    size = workload.upper if plan.size == "upper" else workload.tokens
    alpha = None if instance["alpha"] is None else floor(instance["alpha"])
    by_arrival = order_keys("arrival", size, workload.arrival)
    queue_limit, abandon_after = pool.get("queue_limit"), pool.get("abandon_after")
    front: dict[str, Any] = {
        "slots": slots,
        "laws": laws,
        "dispatch": pool["dispatch"],
        "arrivals": Arrivals(size, by_arrival, alpha, pool["seed"], pool.get("replication", 0)),
        "limits": check_limits(
            workload, instance["until"], queue_limit, abandon_after, pool.get("max_queued", 10**6)
        ),
    }
    ours = compiled.run(plan, workload, **front)
    ranking = Ranking(plan.order, size, workload.arrival)
    ledger = Ledger(workload.tokens, workload.arrival)
    return ours, Pool(plan.agents, name=plan.name, ranking=ranking, ledger=ledger, **front).run()


def assert_same(instance: Instance, policy: str, options: dict[str, Any], pool: dict[str, Any]) -> Schedule:
    ours, theirs = schedules(workload_of(instance), instance, policy, options, pool)
    for name in COLUMNS:
        got, expected = getattr(ours, name), getattr(theirs, name)
        assert got.dtype == expected.dtype
        assert got.tobytes() == expected.tobytes(), (name, policy, options, pool, instance)
    assert np.array_equal(ours.stopped_at, theirs.stopped_at, equal_nan=True), (
        policy,
        options,
        pool,
        instance,
    )
    return ours


@pytest.mark.parametrize(
    "first",
    [
        *range(0, QUICK, CHUNK),
        *(pytest.param(first, marks=pytest.mark.slow) for first in range(QUICK, SEEDS, CHUNK)),
    ],
)
def test_seeded_instances(first: int) -> None:
    for seed in range(first, first + CHUNK):
        rng = np.random.default_rng(seed)
        instance = random_instance(rng)
        pool = draw_pool(rng, instance)
        for policy, options in VARIANTS:
            assert_same(instance, policy, policy_options(instance, policy, options), pool)


@pytest.mark.parametrize("policy", ["fcfs", "fcfs-static", "sjf", "ljf"])
def test_without_alpha(policy: str) -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        instance = {**random_instance(rng), "alpha": None}
        assert_same(instance, policy, {}, {"workers": 2, "dispatch": "jsq", "seed": seed})


LARGE = 4_500  # requests: more ranks than one node of a set holds


def large_instance(**changes: Any) -> Instance:
    """Requests like those of a chat service, arriving one by one; 130 workers fill more than one word."""
    rng = np.random.default_rng(7)
    tokens = np.clip(np.ceil(rng.gamma(1.06, 118.0, LARGE)), 1, 905).astype(np.int64)
    return {
        "tokens": tokens,
        "arrival": np.cumsum(rng.exponential(2.0, LARGE)),
        "upper": tokens + rng.integers(0, 60, LARGE),
        "prompt": None,
        "alpha": 60.0,
        "batch_size": 8,
        "step": (1.0, 0.0, 0.0),
        "until": None,
        **changes,
    }


@pytest.mark.parametrize(
    ("policy", "dispatch"), list(zip(["fcfs-fair", "sjf", "robust-isjl"] * 3, DISPATCHERS, strict=False))
)
def test_many_requests(policy: str, dispatch: str) -> None:
    """Queues of thousands under an overloaded pool, and a quiet one of many workers."""
    pool = {"dispatch": dispatch, "seed": 3, "abandon_after": 4_000.0}
    ours = assert_same(large_instance(), policy, {}, {**pool, "workers": 3})
    assert len(ours.abandoned) > LARGE // 10
    clocked = large_instance(step=(0.1, 0.03, 0.007), batch_size=2)
    assert_same(clocked, policy, {}, {**pool, "workers": 130})


def test_a_backlog_of_many_requests() -> None:
    for policy in ("isjl", "free-ride", "ljf-fair"):
        backlog = large_instance(arrival=np.zeros(LARGE), until=5_000.0)
        assert_same(backlog, policy, {}, {"workers": 2, "dispatch": "central", "seed": 0})


def test_an_empty_workload() -> None:
    instance, pool = large_instance(until=1.0), {"workers": 2, "dispatch": "jsq", "seed": 0}
    ours, _ = schedules(fairq.Workload.empty(), instance, "isjl", {}, pool)
    assert len(ours) == 0


def test_an_alpha_beyond_64_bits() -> None:
    for seed in range(20):
        instance = {**random_instance(np.random.default_rng(seed)), "alpha": 1e30}
        assert_same(instance, "isjl", {}, {"workers": 2, "dispatch": "central", "seed": 0})


def test_sets_of_several_levels_answer_as_pythons_do() -> None:
    """Up to 20 million numbers take three levels; nodes that become empty are used again."""
    from fairq.compiled.ranks import ROOT, add, discard, first_at_or_after, has_none, make_sets
    from fairq.compiled.state import address

    rng = np.random.default_rng(0)
    for capacity in (1, 64, 4_096, 4_097, 300_000, 20_000_000):
        sets = make_sets(2, capacity, 400)
        ours, roots, models = address(sets), (ROOT, ROOT + 1), (set(), set())
        for number in rng.integers(0, min(capacity, 10**9), 400).tolist():
            which = int(rng.integers(2))
            root, model = roots[which], models[which]
            if number not in model and len(models[0]) + len(models[1]) < 400:
                add(ours, root, number)
                model.add(number)
            if model and rng.random() < 0.5:
                gone = sorted(model)[int(rng.integers(len(model)))]
                discard(ours, root, gone)
                model.remove(gone)
            for probe in (number, int(rng.integers(0, 2 * capacity)), 0):
                expected = min((member for member in model if member >= probe), default=-1)
                assert first_at_or_after(ours, root, probe) == expected
            assert has_none(ours, root) == (not model)


def test_heaps_give_the_least_key_and_of_equal_ones_the_lowest_member() -> None:
    from fairq.compiled.state import address
    from fairq.compiled.times import holds, key_of, least, make_heap, put, remove, top

    rng, model = np.random.default_rng(0), {}
    heap = make_heap(40)
    ours = address(heap)
    for _ in range(2_000):
        member, key = int(rng.integers(40)), float(rng.integers(12))
        if rng.random() < 0.3:
            remove(ours, member)
            model.pop(member, None)
        else:
            put(ours, member, key)
            model[member] = key
            assert key_of(ours, member) == key
        assert holds(ours, member) == (member in model)
        assert least(ours) == min(model.values(), default=np.inf)
        if model:
            assert top(ours) == min(model, key=lambda each: (model[each], each))


class Own:
    def decide(self, view: Any) -> fairq.Decision:
        return fairq.Decision()


@pytest.mark.parametrize(
    ("policy", "options", "said"),
    [
        (Own, {}, "policy 'Own' is neither a Rule nor a Cohort"),
        ("matched", {}, "policy 'matched' is neither a Rule nor a Cohort"),
        ("window", {"window": 2.0}, "policy 'window' is neither a Rule nor a Cohort"),
        ("isjl", {"max_wait": 3.0}, "policy 'isjl' has the option max_wait"),
        ("ljf", {"max_wait": 3.0}, "policy 'ljf' has the option max_wait"),
    ],
)
def test_it_says_why_it_cannot_run(policy: Any, options: dict[str, Any], said: str) -> None:
    workload = fairq.Workload.from_arrays(tokens=[1])
    reason = compiled.can_run(plan_policy(policy, 2.0, options, 1), workload, [1], [])
    assert reason is not None
    assert reason.startswith(said)


class Hesitant(CohortAgent):
    def decide(self, view: Any) -> Any:
        return super().decide(view) if view.now > 3 else fairq.Decision(wake=4.0)


class Reluctant(RuleAgent):
    def decide(self, view: Any) -> Any:
        return super().decide(view) if len(view.queue) > 1 else fairq.Decision()


@pytest.mark.parametrize("policy", [Hesitant(), Reluctant(RULES["fcfs"])])
def test_an_agent_made_of_its_own_may_decide_otherwise(policy: Any) -> None:
    plan, workload = plan_policy(policy, 2.0, {}, 1), fairq.Workload.from_arrays(tokens=[1])
    reason = compiled.can_run(plan, workload, [1], [])
    assert reason is not None
    assert "is neither a Rule nor a Cohort" in reason
    run = fairq.simulate(workload, policy, alpha=2.0, batch_size=1, until=9.0, engine="auto")
    assert run.engine == "simpy"


def test_it_refuses_more_slots_than_it_has_room_for() -> None:
    many = fairq.Workload.from_arrays(tokens=np.ones(10_000, dtype=np.int64))
    assert compiled.can_run(plan_policy("fcfs", None, {}, 1), many, [10_000] * 50_000, []) == (
        "the workers have 500000000 slots, and it holds at most 268435456"
    )


def test_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from fairq.compiled import running

    def refuse(_: str) -> None:
        raise ImportError("Numba needs NumPy 2.0 or less")

    plan, workload = plan_policy("fcfs", None, {}, 1), fairq.Workload.from_arrays(tokens=[1])
    try:
        for name, stand_in, said in (
            ("find_spec", lambda _: None, "it needs Numba, which is not installed"),
            (
                "import_module",
                refuse,
                "Numba cannot be imported (ImportError: Numba needs NumPy 2.0 or less)",
            ),
        ):
            with monkeypatch.context() as changed:
                changed.setattr(running, name, stand_in)
                running.fault_of_numba.cache_clear()
                assert compiled.can_run(plan, workload, [1], []) == f"{said}: pip install 'fairq[fast]'"
                assert not compiled.is_ready()
                assert compiled.unfit(plan, workload, [1], []) is None
    finally:
        running.fault_of_numba.cache_clear()


def test_where_no_folder_can_be_written_it_compiles_in_memory_and_says_so_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import numba

    from fairq.compiled import build

    compile_really = numba.njit

    def njit(**options: Any) -> Any:
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return compile_really(**options)

    monkeypatch.setattr(build.numba, "njit", njit)
    build._kept.cache_clear()
    monkeypatch.setattr(build, "_said", [])
    try:
        with pytest.warns(RuntimeWarning, match="each process compiles it anew .*NUMBA_CACHE_DIR"):
            assert build._kept(build._stamped) is build._in_memory(build._stamped)
        build._kept.cache_clear()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert build._kept(build._stamped) is build._in_memory(build._stamped)
    finally:
        build._kept.cache_clear()


def test_a_kept_kernel_is_not_taken_for_that_of_changed_sources(tmp_path: Path) -> None:
    from fairq.compiled import build

    names = {path.name for path in build.SOURCES}
    assert {"kernel.py", "cohorts.py", "cohort.py", "cost.py"} <= names
    source = tmp_path / "source.py"
    source.write_text("a")
    stamp = build._stamp([source])
    source.write_text("b")
    assert build._stamp([source]) != stamp
    assert [cell.cell_contents for cell in build._stamped(1).__closure__] == [
        1
    ]  # which Numba makes a part of its key


def test_an_engine_is_chosen_by_name_and_a_refusal_says_why():
    workload = fairq.Workload.from_arrays(tokens=[4, 4, 2, 2])
    runs = [
        fairq.simulate(workload, "isjl", alpha=2, batch_size=3, engine=engine)
        for engine in ("simpy", "compiled", "auto")
    ]
    assert [run.engine for run in runs] == ["simpy", "compiled", "compiled"]
    assert all(run.requests.equals(runs[0].requests) for run in runs)
    assert fairq.simulate(workload, "window", window=1, batch_size=3, engine="auto").engine == "simpy"
    with pytest.raises(
        fairq.InputError, match="engine is 'compiled', which cannot run this: policy 'window'"
    ):
        fairq.simulate(workload, "window", window=1, batch_size=3, engine="compiled")
    with pytest.raises(fairq.InputError, match="unknown engine 'fast'"):
        fairq.simulate(workload, "fcfs", batch_size=3, engine="fast")


@pytest.mark.parametrize("alpha", [2.0**63, 1e19, 1e300])
def test_an_alpha_beyond_every_size_is_one_class(alpha: float) -> None:
    """Sizes over a larger alpha are all in the first class, which is worker 1 of 2."""
    workload = fairq.Workload.from_arrays(tokens=[3, 2, 1])
    settings = {"alpha": alpha, "workers": 2, "batch_size": 2, "dispatch": "length-class"}
    for engine in ("simpy", "compiled"):
        result = fairq.simulate(workload, "fcfs", engine=engine, **settings)
        assert result.requests["worker"].tolist() == [1, 1, 1]
