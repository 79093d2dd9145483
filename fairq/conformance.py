"""Whether a policy keeps the rules of `fairq.Policy`: small runs of many kinds, the smallest that fails."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from math import inf
from time import monotonic
from typing import Any

import numpy as np

from fairq.errors import CheckError, InputError, PolicyError
from fairq.loading import foreign, load
from fairq.policy import POLICIES, SETTINGS, check_policy, own_name
from fairq.probe import Probe, probes
from fairq.result import Result
from fairq.validation import shown

__all__ = ["RULES", "Conformance", "Failure", "check_conformance"]

RULES = {
    "answer": "answers with a Decision that names requests by their ids",
    "capacity": "never overfills a batch",
    "release": "never serves, nor names, a request before its arrival",
    "uniqueness": "starts each request once",
    "reservation": "takes only what is queued, or kept for its worker",
    "wake": "asks to be woken later than now",
    "service": "serves everything",
    "error": "raises no error of its own",
    "fairness": "keeps every step within alpha, where it promises to (guarded)",
    "tables": "leaves tables that pass every other check of a run",
    "determinism": "does the same in two runs of the same requests",
    "foresight": "does the same whatever arrives later",
    "hints": "does the same where needs_requests and heeds are not asked",
}
"""What is looked at, by the name of the rule."""

_TRIES = 3000  # runs that the search for a smaller instance may take, for each rule broken
_SEARCH = 15.0  # seconds that it may begin runs in
_AFTER = 30.0  # seconds after the first broken rule in which further instances are tried


@dataclass(frozen=True)
class Failure:
    """A rule that a policy broke.

    Attributes:
        rule: its name in `RULES`.
        detail: what happened, in one line.
        probe: the smallest run found in which it does.
    """

    rule: str
    detail: str
    probe: Probe

    def call(self, policy: str, options: Mapping[str, Any] | None = None) -> str:
        """The Python in which the policy of that name breaks the rule (of hints, the run with them)."""
        run = self.probe.call(policy, options)
        if self.rule in ("fairness", "tables"):
            return f"{run}.check()"
        if self.rule == "determinism":
            return f"[{run}.requests for _ in range(2)]"
        shorter = self.probe.without_last()
        if self.rule == "foresight" and shorter is not None:
            return f"[run.requests for run in ({run}, {shorter.call(policy, options)})]"
        return run


@dataclass(frozen=True)
class Conformance:
    """What a policy did in the runs of the suite.

    Attributes:
        policy: what it is called.
        runs: on how many instances it was tried.
        failures: a broken rule each, in the order of `RULES`.
        options: its keywords.
        stopped: whether fewer instances were tried than asked for, since a rule is broken and runs are slow.
    """

    policy: str
    runs: int
    failures: tuple[Failure, ...] = field(default=())
    options: Mapping[str, Any] = field(default_factory=dict)
    stopped: bool = False

    @property
    def passed(self) -> bool:
        """Whether it broke no rule."""
        return not self.failures

    def to_dict(self) -> dict[str, Any]:
        """The same ready for JSON."""
        failures = [
            {
                "rule": failure.rule,
                "detail": failure.detail,
                "run": failure.call(self.policy, self.options),
            }
            for failure in self.failures
        ]
        return {
            "policy": self.policy, "runs": self.runs, "stopped": self.stopped, "passed": self.passed,
            "failures": failures,
        }  # fmt: skip

    def __str__(self) -> str:
        broken = {failure.rule: failure for failure in self.failures}
        early = " (stopped early: they are slow)" if self.stopped else ""
        lines = [f"{self.policy}: {self.runs} runs{early}, {len(broken)} of {len(RULES)} rules broken"]
        for rule, promise in RULES.items():
            lines.append(f"  {'BROKEN' if rule in broken else 'ok':<6}  {rule:<11}  {promise}")
            if rule in broken:
                lines.append(f"          {broken[rule].detail}")
                lines.append(f"          smallest run:  {broken[rule].call(self.policy, self.options)}")
        return "\n".join(lines)


def check_conformance(
    policy: Any,
    options: Mapping[str, Any] | None = None,
    *,
    runs: int = 200,
    seed: int = 0,
    on_run: Callable[[int], None] | None = None,
) -> Conformance:
    """Try `policy` on small runs of many kinds, and find the smallest in which each broken rule breaks.

    Instances have at most a dozen requests, one to three workers, backlogs and arrivals, both clocks,
    ends, dispatchers, sizes that are upper bounds, requests that give up waiting.  A policy that never
    answers (an endless loop in `decide`) cannot be caught.  Once a rule is broken, no instance is begun after
    30 s more, and no search for a smaller one goes on for more than 15 s.

    Parameters:
        policy: as in `fairq.simulate`: a name, ``"module:Class"``, a class or an object.
        options: its keywords; what belongs to the run (alpha, workers, ...) the suite chooses itself.
        runs: instances to try, a whole number >= 1.
        seed: of the instances; the same seed, the same instances.
        on_run: called with the number of instances done, before each run of the suite and of its searches.

    Raises:
        InputError: a policy that cannot be had, or does not take `options`.

    >>> print(str(check_conformance("fcfs", runs=20)).splitlines()[0])
    fcfs: 20 runs, 0 of 13 rules broken
    """
    options = dict(options or {})
    for name in options:
        if name in ("alpha", *SETTINGS):
            raise InputError(
                f"{name} is {shown(options[name])}: the suite chooses it itself, so leave it out"
            )
    if isinstance(policy, str):
        check_policy(policy, 1.0, options)
    trial = _Trial(policy, options)
    found: dict[str, Failure] = {}
    done, end = 0, inf
    for probe in probes(np.random.default_rng(seed), runs):
        if monotonic() > end:
            break
        trial.on_try = None if on_run is None else partial(on_run, done)
        failure = trial.failure(probe)
        done += 1
        if failure is not None and failure.rule not in found:
            found[failure.rule] = trial.shrunk(failure)
            end = min(end, monotonic() + _AFTER)
    if "determinism" in found:  # where chance decides, these say nothing
        found.pop("foresight", None)
        found.pop("hints", None)
    name = policy if isinstance(policy, str) else own_name(policy)
    failures = tuple(found[rule] for rule in RULES if rule in found)
    return Conformance(name, done, failures, options, stopped=done < runs)


class _Trial:
    """A policy under test."""

    def __init__(self, policy: Any, options: dict[str, Any]) -> None:
        self._policy = policy
        self._options = options
        self.on_try: Callable[[], None] | None = None
        own = not (isinstance(policy, str) and policy in POLICIES)
        target = load(policy, POLICIES) if isinstance(policy, str) and own else policy
        with foreign("policy: its attribute 'heeds' or 'needs_requests'"):
            hinted = own and (hasattr(target, "heeds") or hasattr(target, "needs_requests"))
        self._unhinted = _without_hints(target) if hinted else None

    def failure(self, probe: Probe) -> Failure | None:
        """The first rule that the policy breaks in this run."""
        if self.on_try is not None:
            self.on_try()
        try:
            rule, detail = self._verdict(probe)
        except InputError:
            raise
        except PolicyError as error:
            rule, detail = error.rule, str(error)
        except CheckError as error:
            rule, detail = ("fairness" if error.rule == "fairness" else "tables"), str(error)
        except Exception as error:  # noqa: BLE001 -- whatever a stranger's policy raises
            rule, detail = "error", f"{type(error).__name__}: {error}"
        return Failure(rule, " ".join(detail.split()), probe) if rule else None

    def _verdict(self, probe: Probe) -> tuple[str, str]:
        result = probe.run(self._policy, self._options)
        result.check()
        again = probe.run(self._policy, self._options)
        if moved := _difference(result, again):
            return "determinism", f"the second run differs: {moved}"
        if self._unhinted is not None:
            asked = probe.run(self._unhinted, self._options)
            if moved := _difference(result, asked):
                return "hints", f"asked more often it differs: {moved}"
        shorter = probe.without_last()
        if shorter is not None:
            before = shorter.run(self._policy, self._options)
            if moved := _difference(result, before, until=probe.arrival[-1]):
                return "foresight", f"without the last request it differs before that arrives: {moved}"
        return "", ""

    def shrunk(self, failure: Failure) -> Failure:
        """The same rule broken in a run that cannot be made smaller by one change, if time suffices."""
        tries, end = 0, monotonic() + _SEARCH
        candidates = failure.probe.smaller()
        while tries < _TRIES and monotonic() < end:
            probe = next(candidates, None)
            if probe is None:
                break
            tries += 1
            found = self.failure(probe)
            if found is not None and found.rule == failure.rule:
                failure, candidates = found, probe.smaller()
        return failure


def _without_hints(target: Any) -> type:
    """A class that makes the same policy and hides what it says of itself."""

    class Unhinted:
        guarded = False

        def __init__(self, **options: Any) -> None:
            self.inner = target(**options) if isinstance(target, type) else copy.deepcopy(target)

        def decide(self, view: Any) -> Any:
            return self.inner.decide(view)

    return Unhinted


def _difference(one: Result, other: Result, until: float = np.inf) -> str:
    """The first request that started elsewhere or at another time before `until`; "" where there is none."""
    first, second = one.requests, other.requests
    for request in range(len(second)):
        starts = [
            (float(table["start"].iloc[request]), int(table["worker"].iloc[request]))
            for table in (first, second)
        ]
        early = [start if start[0] < until else None for start in starts]
        if early[0] != early[1]:
            return f"request {request} starts at {_put(starts[0])} and {_put(starts[1])}"
    return ""


def _put(start: tuple[float, int]) -> str:
    time, worker = start
    return f"{time:g} on worker {worker}" if worker >= 0 else "no time"
