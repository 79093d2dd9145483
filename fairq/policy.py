"""The table of policies by name, and how a policy is made from a name, a class or an object."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from fairq.decision import Policy
from fairq.errors import InputError, unknown_name
from fairq.isjl import CohortAgent
from fairq.rules import RULES, RuleAgent
from fairq.validation import finite_number

__all__ = ["POLICIES", "PolicyInfo", "PolicyPlan", "check_policy", "plan_policy"]

SETTINGS = ("batch_size", "clock", "cost", "dispatch", "record", "seed", "until", "workers")
"""Keywords of every run, whatever its policy."""

_SIZES = ("tokens", "upper")
_PACK_ORDERS = ("ascending", "descending")


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
    """

    name: str
    summary: str
    source: str
    needs_alpha: bool
    guarded: bool
    options: tuple[str, ...] = ("size",)
    size: str = "tokens"


def _rule(name: str, summary: str, source: str) -> PolicyInfo:
    rule = RULES[name]
    return PolicyInfo(name, summary, source, needs_alpha=rule.guard, guarded=rule.guarded)


def _cohort(name: str, summary: str, source: str, *, packs: bool = True, size: str = "tokens") -> PolicyInfo:
    options = ("pack_order", "size") if packs else ("size",)
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
    )
}
"""Every policy by name."""


@dataclass(frozen=True, slots=True)
class PolicyPlan:
    """A policy as a run uses it: its name, which sizes it is told in what order, and an agent a worker."""

    name: str
    size: str
    order: str
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

    Raises:
        InputError: an unknown name or option (the nearest known one is named), a policy that needs
            alpha and gets none, an alpha that is negative or no finite number, a value not allowed.

    >>> check_policy("isjl", 50.0).source
    'Algorithm 3'
    """
    if name not in POLICIES:
        raise unknown_name("policy", name, POLICIES)
    info = POLICIES[name]
    if alpha is not None:
        finite_number("alpha", alpha, at_least=0)
    elif info.needs_alpha:
        raise InputError(f"policy {name!r} needs alpha, the fairness budget in tokens (a finite number >= 0)")
    for option, value in (options or {}).items():
        if option not in info.options:
            known = ["alpha", *info.options, *beside]
            raise unknown_name("option", option, known, of=f"policy {name!r}")
        allowed = _SIZES if option == "size" else _PACK_ORDERS
        if not isinstance(value, str) or value not in allowed:
            raise InputError(f"{option} is {value!r}: it must be one of {', '.join(map(repr, allowed))}")
    return info


def plan_policy(policy: Any, alpha: float | None, options: Mapping[str, Any], workers: int) -> PolicyPlan:
    """The agents of a run, one for each of `workers`.

    Parameters:
        policy: a name of `POLICIES`, a class (made once a worker with `options`), or an object
            (copied deeply once a worker); the latter two with ``decide(view)``.
        alpha: fairness budget in tokens, or None.
        options: the policy's own keywords, and ``size``.

    Raises:
        InputError: as `check_policy`; something without ``decide``; a class that refuses `options`.
    """
    if isinstance(policy, str):
        info = check_policy(policy, alpha, options, beside=SETTINGS)
        agents = tuple(_named_agent(policy, options) for _ in range(workers))
        size, order = options.get("size", info.size), agents[0].order
        return PolicyPlan(policy, size, order, info.guarded, cast("tuple[Policy, ...]", agents))
    if alpha is not None:
        finite_number("alpha", alpha, at_least=0)
    return _own_policy(policy, options, workers)


def _named_agent(name: str, options: Mapping[str, Any]) -> RuleAgent | CohortAgent:
    if name in RULES:
        return RuleAgent(RULES[name])
    descending = options.get("pack_order", "ascending") == "descending"
    return CohortAgent(free_ride=name == "free-ride", descending=descending)


def _own_policy(policy: Any, options: Mapping[str, Any], workers: int) -> PolicyPlan:
    options = dict(options)
    size = options.pop("size", "tokens")
    if not isinstance(size, str) or size not in _SIZES:
        raise InputError(f"size is {size!r}: it must be one of {', '.join(map(repr, _SIZES))}")
    is_class = isinstance(policy, type)
    name = policy.__name__ if is_class else type(policy).__name__
    if not callable(getattr(policy, "decide", None)):
        raise InputError(f"policy {name!r} has no method decide(view): it must be a name, or have one")
    if not is_class and options:
        raise InputError(f"policy {name!r} is an object: the options {sorted(options)} go to its class")

    def make() -> Policy:
        if not is_class:
            return copy.deepcopy(policy)  # type: ignore[no-any-return]
        try:
            return policy(**options)  # type: ignore[no-any-return]
        except TypeError as error:
            raise InputError(f"policy {name!r} cannot be made with the options {options}: {error}") from error

    agents = tuple(make() for _ in range(workers))
    return PolicyPlan(name, size, "arrival", bool(getattr(agents[0], "guarded", False)), agents)
