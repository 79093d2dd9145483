"""One run: a workload, a policy, a pool; and its result."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from math import floor, inf, isnan, ulp
from typing import TYPE_CHECKING, Any

import numpy as np

from fairq.account import account
from fairq.cost import TOKEN_CLOCK, Cost, StepTime
from fairq.dispatch import check_dispatch
from fairq.dispatcher import Arrivals
from fairq.errors import InputError, unknown_name
from fairq.groups import WorkerGroup, per_worker, resolve_groups
from fairq.limits import Limits, check_limits
from fairq.policy import PolicyPlan, plan_policy
from fairq.pool import Pool
from fairq.ranking import Ranking, order_keys
from fairq.result import Result
from fairq.rule_pool import RulePool, rule_of
from fairq.schedule import Ledger, Schedule
from fairq.validation import whole_number
from fairq.workload import Workload

if TYPE_CHECKING:
    pass

__all__ = ["Result", "simulate"]

_ENGINES = ("simpy", "compiled", "auto")
_RECORDS = ("summary", "requests", "segments")
_MANY = 200_000  # requests from which on a pool's memory is worth the time to collect it
_LARGEST_MONEY = 1e100  # far below where floats end, so that no sum or difference does
_LARGEST_SUM = 2**62  # integer sums of the account stay below this, so 64 bits hold them


def simulate(
    workload: Workload,
    policy: Any,
    *,
    alpha: float | None = None,
    workers: int | Sequence[WorkerGroup] = 1,
    batch_size: int | None = None,
    dispatch: str = "central",
    clock: str | StepTime = "token",
    cost: Cost | None = None,
    until: float | None = None,
    record: str = "requests",
    seed: int = 0,
    replication: int = 0,
    queue_limit: int | None = None,
    abandon_after: float | None = None,
    max_queued: int | None = 1_000_000,
    engine: str = "simpy",
    **options: Any,
) -> Result:
    """Serve `workload` under `policy` and account for it.

    Parameters:
        workload: requests with arrivals in the clock's unit of time.
        policy: a name (see ``fairq policies``), a class or an object with ``decide(view)``.
        alpha: fairness budget of constraint (1) in tokens, any real >= 0; its floor is what counts.
        workers: G, workers of the pool; or groups of them that differ.
        batch_size: B, requests that a worker runs at once.
        dispatch: ``"central"``: one queue, from which all workers draw; or how an arrival is sent to a
            worker's own queue (see `fairq.dispatch.DISPATCHERS`).
        clock: ``"token"`` (a step is the unit of time), ``"cost"`` (c and tau of `cost`, read as
            seconds) or a `StepTime`.
        cost: money; None is the baseline of the paper's Section 5.2.
        until: stop then, in the clock's unit; None serves everything.
        record: tables to keep: ``"summary"`` none, ``"requests"`` that one, ``"segments"`` both.
        seed, replication: which random stream a dispatcher draws from.
        queue_limit: an arrival that finds this many requests waiting in the pool is rejected.
        abandon_after: a request that waits longer than this, in the clock's unit, leaves unserved.
        max_queued: the arrival that makes more than this many wait ends the run, which is then
            unstable; None never does.  A backlog is never ended.
        engine: ``"simpy"``; ``"compiled"``, its twin in machine code, for the policies it knows and with
            ``fairq[fast]``; or ``"auto"``: that one where it can run and is worth compiling.  The
            schedule is the same to the last bit.
        options: the policy's own keywords, and ``size`` ("tokens" or "upper": what it is told).

    Raises:
        InputError: a value that is not allowed; the message names it.
        PolicyError: the policy gave an answer that cannot be carried out.

    >>> import fairq
    >>> workload = fairq.Workload.from_arrays(tokens=[4, 4, 2, 2])
    >>> result = fairq.simulate(workload, "isjl", alpha=2, batch_size=3)
    >>> result.summary["makespan"]  # the optimum is 4: Theorem 3.19 claims at most 4/3 of it
    6.0
    >>> result.check()
    """
    cost = _checked_cost(cost)
    groups = resolve_groups(workers, batch_size, clock, cost)
    slots, laws = per_worker(groups)
    plan = plan_policy(policy, alpha, options, len(slots))
    seed = whole_number("seed", seed, at_least=0)
    replication = whole_number("replication", replication, at_least=0)
    _check_choices(workload, clock, record)
    check_dispatch(dispatch, alpha)
    limits = check_limits(workload, until, queue_limit, abandon_after, max_queued)
    for group in groups:
        _check_resolution(workload, group.law or TOKEN_CLOCK)
    _check_money(workload, cost)
    budget = None if alpha is None else floor(alpha)
    size = workload.upper if plan.size == "upper" else workload.tokens
    arrivals = Arrivals(size, order_keys("arrival", size, workload.arrival), budget, seed, replication)
    engine = _choose_engine(engine, plan, workload, slots, laws)
    serve = _serve if engine == "simpy" else _serve_compiled
    schedule = serve(workload, plan, slots, laws, dispatch, arrivals, limits)
    stopped = not isnan(schedule.stopped_at)
    horizon = schedule.stopped_at if stopped else until
    books = account(
        schedule, workload, groups=groups, cost=cost, alpha=budget, until=horizon,
        abandon_after=abandon_after, record=record, compiled=engine == "compiled",
    )  # fmt: skip
    kept = {name: getattr(books, name) for name in _RECORDS[1 : _RECORDS.index(record) + 1]}
    books.summary.attrs["prompt_chunk"] = workload.prompt_chunk
    return Result(
        summary=books.summary, schedule=schedule if kept else None, workload=workload, policy=plan.name,
        options=dict(options), alpha=alpha, groups=groups, dispatch=dispatch, cost=cost, until=until,
        seed=seed, replication=replication, abandon_after=abandon_after, guarded=plan.guarded, record=record,
        engine=engine, _tables=kept,
    )  # fmt: skip


def _serve(
    workload: Workload,
    plan: PolicyPlan,
    slots: list[int],
    laws: list[StepTime],
    dispatch: str,
    arrivals: Arrivals,
    limits: Limits,
) -> Schedule:
    """The schedule that the pool makes; the pool itself is gone when the account is drawn up."""
    parts: dict[str, Any] = {
        "slots": slots,
        "laws": laws,
        "ranking": Ranking(plan.order, arrivals.size, workload.arrival),
        "arrivals": arrivals,
        "ledger": Ledger(workload.tokens, workload.arrival),
        "limits": limits,
    }
    rule = rule_of(plan.agents[0])
    if rule is not None and dispatch == "central" and limits.abandon_after == inf:
        schedule = RulePool(rule, **parts).run()
    else:
        schedule = Pool(plan.agents, name=plan.name, dispatch=dispatch, **parts).run()
    if len(workload) > _MANY:
        gc.collect()  # agents and processes know each other, so the pool does not go by itself
    return schedule


def _serve_compiled(
    workload: Workload,
    plan: PolicyPlan,
    slots: list[int],
    laws: list[StepTime],
    dispatch: str,
    arrivals: Arrivals,
    limits: Limits,
) -> Schedule:
    from fairq import compiled  # it needs Numba, which takes a while to load

    return compiled.run(
        plan, workload, slots=slots, laws=laws, dispatch=dispatch, arrivals=arrivals, limits=limits
    )


def _choose_engine(
    engine: object, plan: PolicyPlan, workload: Workload, slots: list[int], laws: list[StepTime]
) -> str:
    """The engine that runs: ``"simpy"`` or ``"compiled"``."""
    if not isinstance(engine, str) or engine not in _ENGINES:
        raise unknown_name("engine", engine, _ENGINES)
    if engine == "simpy":
        return engine
    from fairq import compiled

    if engine == "auto" and not (compiled.is_ready() or len(workload) > _MANY // 10):
        return "simpy"
    reason = compiled.can_run(plan, workload, slots, laws)
    if engine == "compiled":
        if reason is not None:
            raise InputError(f"engine is 'compiled', which cannot run this: {reason}")
        return engine
    return "compiled" if reason is None else "simpy"


def _checked_cost(cost: Cost | None) -> Cost:
    if cost is None:
        return Cost()
    if not isinstance(cost, Cost):
        raise InputError(f"cost is {cost!r}: it must be a fairq.Cost")
    return cost


def _check_choices(workload: Workload, clock: str | StepTime, record: str) -> None:
    if not isinstance(workload, Workload):
        raise InputError(f"workload is {type(workload).__name__}: it must be a fairq.Workload")
    if not isinstance(record, str) or record not in _RECORDS:
        raise unknown_name("record", record, _RECORDS)
    if isinstance(clock, str) and clock == "token" and workload.time_unit == "s":
        raise InputError(
            "the workload's arrivals are in seconds, but clock is 'token': give a clock in seconds ('cost' "
            "or fairq.StepTime(c=, b=, tau=)), or change the times with in_steps(step_seconds) or "
            "at_rate(rate)"
        )
    tokens = workload.tokens
    if len(tokens) and float(tokens.sum()) * float(tokens.max()) * 2 > _LARGEST_SUM:
        raise InputError(
            f"the workload has {int(np.sum(tokens))} tokens in requests of up to {int(tokens.max())}: "
            f"their product must stay below {_LARGEST_SUM // 2}, or sums of tokens squared overflow"
        )


def _check_resolution(workload: Workload, law: StepTime) -> None:
    """Floats must tell one step from the next at the latest time that the run can come to."""
    if len(workload) == 0:
        return
    tokens, longest = float(workload.tokens.sum()), float(workload.tokens.max())
    latest = float(workload.arrival.max()) + law.of(tokens, tokens, tokens * longest)
    step = law.of(1.0, 1.0, 1.0)
    if not step > 4 * ulp(latest):
        raise InputError(
            f"clock has steps of {step:g}, but the run's times may reach {latest:g}, where floats are "
            f"{ulp(latest):g} apart: use another unit, or let arrivals begin near 0"
        )


def _check_money(workload: Workload, cost: Cost) -> None:
    """No sum of money may overflow a float."""
    tokens, longest = float(workload.tokens.sum()), float(workload.tokens.max(initial=0))
    for name, units in (("c", tokens), ("tau", tokens * longest), ("price", tokens)):
        if not getattr(cost, name) * units < _LARGEST_MONEY:
            raise InputError(
                f"Cost.{name} is {getattr(cost, name):g}: with {tokens:g} tokens in requests of up to "
                f"{longest:g} the money must stay below {_LARGEST_MONEY:g}"
            )
    if not cost.worker < _LARGEST_MONEY:
        raise InputError(f"Cost.worker is {cost.worker:g}: it must be below {_LARGEST_MONEY:g}")
