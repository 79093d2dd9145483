"""What can go wrong, in three kinds, and how a message is put.

A message is one line: the name of what was given, the value received and what is
allowed.  `InputError` is the user's to mend (the command exits with status 2),
`PolicyError` the policy author's, `CheckError` ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

__all__ = [
    "CheckError",
    "EngineWarning",
    "FairqError",
    "InputError",
    "PolicyError",
    "ReadWarning",
    "RecordError",
    "one_line",
    "unknown_name",
]

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def one_line(text: str) -> str:
    r"""`text` with control characters, line ends and lone surrogates as Python would write them.

    >>> print(one_line("a\nb"))
    a\nb
    """
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


class FairqError(Exception):
    """Base class of every error that fairq raises on purpose."""


class InputError(FairqError, ValueError):
    """A value given by the user is not allowed; the message, of one line, says which and what is."""

    def __init__(self, message: object = "") -> None:
        super().__init__(one_line(str(message)))  # it may quote a file's name or a text of a file


class ReadWarning(UserWarning):
    """A trace was read, and rows of it were dropped, sorted or changed; the message counts them."""


class EngineWarning(RuntimeWarning):
    """The compiled engine does its work, but not as fast as it could; the message says what is in its way."""


class RecordError(FairqError, LookupError):
    """A table was asked for that this run did not record; the message says which level has it."""


class CheckError(FairqError, AssertionError):
    """The tables of a run break one of its invariants.

    Attributes:
        rule: the invariant's name, such as ``"capacity"`` or ``"release"``.
    """

    def __init__(self, rule: str, detail: str) -> None:
        super().__init__(rule, detail)  # all arguments, so that a copy or a pickle can be made
        self.rule = rule
        self.detail = detail

    def __str__(self) -> str:
        return f"rule {self.rule!r} is broken: {self.detail}"


class PolicyError(FairqError, RuntimeError):
    """A policy gave an answer that the worker cannot carry out.

    Attributes:
        policy, worker, time, rule: who answered, when, and the rule it broke
            (``"capacity"``, ``"release"``, ``"reservation"``, ``"uniqueness"``, ...).
    """

    def __init__(self, policy: str, worker: int, time: float, rule: str, detail: str) -> None:
        super().__init__(policy, worker, time, rule, detail)
        self.policy = policy
        self.worker = worker
        self.time = time
        self.rule = rule
        self.detail = detail

    def __str__(self) -> str:
        return (
            f"policy {self.policy!r} on worker {self.worker} at time {self.time!r} "
            f"broke the rule {self.rule!r}: {self.detail}"
        )


def unknown_name(kind: str, name: Any, known: Iterable[str], of: str = "") -> InputError:
    """The error for a name that is not among `known`: it names the nearest one.

    Parameters:
        kind: what the name should be one of, such as ``"policy"``.
        name, known: what was given, and what could have been.
        of: whose it is, such as ``"policy 'isjl'"`` for an option.

    >>> str(unknown_name("policy", "isjk", ["fcfs", "isjl"]))
    "unknown policy 'isjk': did you mean 'isjl'? Known: fcfs, isjl"
    """
    choices = sorted(known)
    by_lower = {choice.lower(): choice for choice in reversed(choices)}
    near = get_close_matches(str(name).lower(), by_lower, n=1, cutoff=0.5)
    hint = f"did you mean {by_lower[near[0]]!r}? " if near else ""
    listing = ", ".join(choices) if choices else "none"
    whose = f" of {of}" if of else ""
    return InputError(f"unknown {kind} {name!r}{whose}: {hint}{'K' if hint else 'k'}nown: {listing}")
