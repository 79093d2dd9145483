"""The table of policies by name, and how a policy is made from a name, a class or an object."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import floor
from typing import Any, cast

import numpy as np

from fairq.cluster import ClusterAgent
from fairq.decision import InsideAgent, Policy
from fairq.errors import InputError, unknown_name
from fairq.isjl import CohortAgent
from fairq.loading import foreign, load, own_options
from fairq.matched import MatchedAgent
from fairq.options import check_option
from fairq.ranking import Order
from fairq.rules import RULES, RuleAgent
from fairq.validation import finite_number, shown
from fairq.window import WindowAgent

__all__ = [
    "POLICIES",
    "PolicyInfo",
    "PolicyPlan",
    "check_policy",
    "own_name",
    "plan_policy",
    "policy_info",
]

SETTINGS = (
    "abandon_after", "batch_size", "clock", "cost", "dispatch", "engine", "max_queued", "queue_limit",
    "record", "replication", "seed", "until", "workers",
)  # fmt: skip
"""Keywords of every run, whatever its policy."""


@dataclass(frozen=True, slots=True)
class PolicyInfo:
    """A named policy.

    Attributes:
        name: what a scenario calls it.
        summary: one sentence.
        source: where it comes from in the paper, or "ours".
        needs_alpha: whether it must be given a fairness budget.
        guarded: whether it promises constraint (1).
        options: its own keywords besides alpha.
        size: which size it is told unless the option ``size`` says otherwise.
        required: those of `options` that must be given.
        base: the policy that answers where it does not, unless the option ``base`` names another.
    """

    name: str
    summary: str
    source: str
    needs_alpha: bool
    guarded: bool
    options: tuple[str, ...] = ("size",)
    size: str = "tokens"
    required: tuple[str, ...] = ()
    base: str | None = None


def _rule(name: str, summary: str, source: str) -> PolicyInfo:
    rule = RULES[name]
    options = ("max_wait", "size") if rule.order == "largest" else ("size",)
    return PolicyInfo(name, summary, source, needs_alpha=rule.guard, guarded=rule.guarded, options=options)


def _cohort(name: str, summary: str, source: str, *, packs: bool = True, size: str = "tokens") -> PolicyInfo:
    options = ("max_wait", "pack_order", "size") if packs else ("max_wait", "size")
    return PolicyInfo(name, summary, source, needs_alpha=True, guarded=True, options=options, size=size)


POLICIES: dict[str, PolicyInfo] = {
    info.name: info
    for info in (
        _rule("fcfs", "first come, first served, into any free slot", "Section 2.1, Remark 2.6"),
        _rule("fcfs-static", "first come, first served, batch by batch", "ours"),
        _rule("fcfs-fair", "first come, first served, while the batch's progress is <= alpha", "ours"),
        _rule("sjf", "shortest first, into any free slot", "Section 2.1, Remark 2.6"),
        _rule("ljf", "longest first, batch by batch", "Algorithm 1"),
        _rule(
            "ljf-fair",
            "longest first, while the batch's progress is <= alpha",
            "Algorithm 3, Phase TWO alone",
        ),
        _cohort("isjl", "cohorts around the longest request, short ones packed beside it", "Algorithm 3"),
        _cohort("robust-isjl", "isjl told upper bounds of the sizes", "Section 3.4", size="upper"),
        _cohort("free-ride", "cohorts whose longest request never waits for a pack", "ours", packs=False),
        PolicyInfo(
            "matched",
            "batch by batch, the B consecutive lengths that waste least of their slots",
            "ours",
            needs_alpha=False,
            guarded=True,
        ),
        PolicyInfo(
            "cluster",
            "batch by batch, requests of one length class, the fullest class first",
            "ours",
            needs_alpha=True,
            guarded=True,
            options=("patience", "size"),
        ),
        PolicyInfo(
            "window",
            "a base policy, asked once a batch has gathered or the first has waited long enough",
            "ours",
            needs_alpha=False,
            guarded=False,
            options=("window", "min_batch", "base"),
            required=("window",),
            base="fcfs",
        ),
    )
}
"""Every policy of this package by name."""


@dataclass(frozen=True, slots=True)
class PolicyPlan:
    """A policy as a run uses it: its name, which sizes it is told in what order, and an agent a worker."""

    name: str
    size: str
    order: Order
    guarded: bool
    agents: tuple[Policy, ...]


def check_policy(
    name: str,
    alpha: float | None = None,
    options: Mapping[str, Any] | None = None,
    *,
    beside: Iterable[str] = (),
) -> PolicyInfo:
    """The named policy, if `alpha` and `options` suit it; names `beside` its options may have been meant.

    A name is one of `POLICIES`, one that an installed package offers (entry points ``fairq.policies``),
    or a place ``"module:Class"``.

    Raises:
        InputError: an unknown name or option (the nearest known one is named), a policy that needs
            alpha and gets none, an alpha that is negative or no finite number, a value not allowed,
            a module that does not import, a class without ``decide``, one that raises when it is made
            (which is tried once).

    >>> check_policy("isjl", 50.0).source
    'Algorithm 3'
    >>> check_policy("window", 50.0, {"window": 2.0, "base": "isjl"}).guarded
    True
    """
    options = options or {}
    info = policy_info(name, options)
    if alpha is not None:
        finite_number("alpha", alpha, at_least=0)
    elif info.needs_alpha:
        whose = f"policy {name!r}" if "base" not in options else f"policy {name!r} on {options['base']!r}"
        raise InputError(f"{whose} needs alpha, the fairness budget in tokens (a finite number >= 0)")
    for option, value in options.items():
        if option not in info.options and "*" not in info.options:
            known = ["alpha", *info.options, *beside]
            if option == "patience" and "abandon_after" in known:
                raise InputError(
                    f"unknown option 'patience' of policy {name!r}: did you mean 'abandon_after', "
                    "the longest that a request waits before it leaves?"
                )
            raise unknown_name("option", option, known, of=f"policy {name!r}")
        if name in POLICIES:
            check_option(option, value)
    for option in info.required:
        if option not in options:
            raise InputError(f"policy {name!r} needs the option {option!r}")
    if name not in POLICIES:
        _own_policy(load(name, POLICIES), options, workers=1, name=name)
    return info


def policy_info(name: str, options: Mapping[str, Any] | None = None) -> PolicyInfo:
    """What is known of a policy, of a wrapper together with its base.

    Raises:
        InputError: no such policy or base, or one that cannot be loaded.

    >>> policy_info("window", {"base": "isjl"}).needs_alpha
    True
    """
    options = options or {}
    if name not in POLICIES:
        return _own_info(name, load(name, POLICIES))
    info = POLICIES[name]
    if info.base is None:
        return info
    base = options.get("base", info.base)
    bases = [other for other, known in POLICIES.items() if known.base is None]
    if not isinstance(base, str) or base not in bases:
        raise unknown_name("base", base, bases, of=f"policy {name!r}")
    below = POLICIES[base]
    return replace(
        info,
        needs_alpha=below.needs_alpha,
        guarded=below.guarded,
        size=below.size,
        options=(*info.options, *below.options),
    )


def _own_info(name: str, policy: Any) -> PolicyInfo:
    with foreign(f"policy {name!r}: its docstring"):
        text = str(getattr(policy, "__doc__", None) or "").strip().splitlines()
    guarded = _promise(name, policy)
    options = (*own_options(policy), "size")
    return PolicyInfo(name, text[0] if text else "", "own", False, guarded, options)


def _promise(name: str, policy: Any) -> bool:
    """Whether an own policy says that it keeps constraint (1)."""
    with foreign(f"policy {name!r}: its attribute 'guarded'"):
        guarded = getattr(policy, "guarded", False)
    if isinstance(policy, type) and isinstance(guarded, property):
        return False  # the object made of the class will say
    if not isinstance(guarded, (bool, np.bool_)):
        raise InputError(f"guarded of policy {name!r} is {shown(guarded)}: it must be True or False")
    return bool(guarded)


def plan_policy(policy: Any, alpha: float | None, options: Mapping[str, Any], workers: int) -> PolicyPlan:
    """The agents of a run, one for each of `workers`.

    Parameters:
        policy: a name (see `check_policy`), a class (made once a worker with `options`), or an object
            (copied deeply once a worker); the latter two with ``decide(view)``.
        alpha: fairness budget in tokens, or None.
        options: the policy's own keywords, and ``size``.

    Raises:
        InputError: as `check_policy`; something without ``decide``; a class that refuses `options`, raises
            when it is made, or an object that cannot be copied.
    """
    if isinstance(policy, str):
        info = check_policy(policy, alpha, options, beside=SETTINGS)
        if policy not in POLICIES:
            return _own_policy(load(policy, POLICIES), options, workers, policy)
        agents = tuple(_named_agent(policy, alpha, options) for _ in range(workers))
        size, order = options.get("size", info.size), agents[0].order
        return PolicyPlan(policy, size, order, info.guarded, cast("tuple[Policy, ...]", agents))
    if alpha is not None:
        finite_number("alpha", alpha, at_least=0)
    return _own_policy(policy, options, workers, own_name(policy))


def own_name(policy: Any) -> str:
    """What a policy given as a class or an object is called: its class.

    >>> own_name(RuleAgent), own_name(MatchedAgent())
    ('RuleAgent', 'MatchedAgent')
    """
    return policy.__name__ if isinstance(policy, type) else type(policy).__name__


def _named_agent(name: str, alpha: float | None, options: Mapping[str, Any]) -> InsideAgent:
    if name in RULES:
        return RuleAgent(RULES[name], options.get("max_wait"))
    if name == "matched":
        return MatchedAgent()
    if name == "cluster":
        return ClusterAgent(floor(alpha or 0), options.get("patience", 0.0))
    if name == "window":
        base = _named_agent(options.get("base", "fcfs"), alpha, options)
        return WindowAgent(base, options["window"], options.get("min_batch"))
    descending = options.get("pack_order", "ascending") == "descending"
    return CohortAgent(free_ride=name == "free-ride", descending=descending, max_wait=options.get("max_wait"))


def _own_policy(policy: Any, options: Mapping[str, Any], workers: int, name: str) -> PolicyPlan:
    options = dict(options)
    size = options.pop("size", "tokens")
    check_option("size", size)
    _check_methods(policy, name)
    if not isinstance(policy, type) and options:
        raise InputError(f"policy {name!r} is an object: the options {sorted(options)} go to its class")
    agents = tuple(_made(policy, options, name) for _ in range(workers))
    _check_methods(agents[0], name)
    return PolicyPlan(name, size, "arrival", _promise(name, agents[0]), agents)


def _made(policy: Any, options: Mapping[str, Any], name: str) -> Policy:
    """The policy of one worker."""
    if not isinstance(policy, type):
        with foreign(f"policy {name!r}: copying it for each worker"):
            return copy.deepcopy(policy)  # type: ignore[no-any-return]
    with foreign(f"policy {name!r}: making it"):
        try:
            return policy(**options)  # type: ignore[no-any-return]
        except TypeError as error:
            if error.__traceback__ is not None and error.__traceback__.tb_next is not None:
                raise  # not the call is wrong, but something in the class's own code
            why = InputError(f"policy {name!r}: it cannot be made with the options {options}: {error}")
    raise why


def _check_methods(policy: Any, name: str) -> None:
    """A policy has ``decide``, and what else is asked of it can be asked without an error."""
    for attribute in ("decide", "heeds", "needs_requests", "sees_ranks"):
        with foreign(f"policy {name!r}: its attribute {attribute!r}"):
            value = getattr(policy, attribute, None)
        if attribute == "decide" and not callable(value):
            raise InputError(f"policy {name!r} has no method decide(view): it must be a name, or have one")
