"""Policies that others wrote: at ``"module:Class"``, or by the name that an installed package offers."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Iterable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from fairq.errors import InputError, unknown_name
from fairq.validation import shown

__all__ = ["GROUP", "load", "offered", "own_options", "source_of"]

GROUP = "fairq.policies"
"""The entry point group in which a package offers policies."""


@cache
def offered() -> dict[str, EntryPoint]:
    """The policies that installed packages offer, by name.

    >>> isinstance(offered(), dict)
    True
    """
    return {entry.name: entry for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name)}


def load(name: str, known: Iterable[str] = ()) -> Any:
    """The policy at ``"module:Class"``, or of that name among `offered`: a class, or an object.

    A module is looked for on Python's path, then in the working folder.

    Parameters:
        name: where it is.
        known: names that may have been meant where there is none such.

    Raises:
        InputError: an unknown name, a module that does not import, one without that class, or a class
            without ``decide``; one line that says what went wrong.
    """
    if ":" not in name:
        if name not in offered():
            raise unknown_name("policy", name, [*known, *offered()])
        return _checked(_of_entry(name), name)
    module_name, _, path = (part.strip() for part in name.partition(":"))
    if not all(part.isidentifier() for part in [*module_name.split("."), *path.split(".")]):
        raise InputError(f"policy is {shown(name)}: it must be a name, or module:Class")
    found: Any = _imported(module_name, name)
    for part in path.split("."):
        if not hasattr(found, part):
            classes = [key for key, value in vars(found).items() if callable(getattr(value, "decide", None))]
            raise unknown_name("class", part, classes, of=f"module {module_name!r}")
        found = getattr(found, part)
    return _checked(found, name)


def own_options(policy: Any) -> tuple[str, ...]:
    """The keywords that a policy's class takes; ``"*"`` among them where it takes any.

    >>> class Patient:
    ...     def __init__(self, limit=3): ...
    >>> own_options(Patient)
    ('limit',)
    """
    if not isinstance(policy, type):
        return ()
    try:
        parameters = inspect.signature(policy).parameters.values()
    except (TypeError, ValueError):  # a class written in C may have none
        return ("*",)
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    names = tuple(one.name for one in parameters if one.kind in named)
    anything = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters)
    return (*names, "*") if anything else names


def source_of(policy: Any) -> Path | None:
    """The file in which a policy's class is written; None where it has none, as one written in C.

    >>> from fairq.rules import RuleAgent
    >>> source_of(RuleAgent).name
    'rules.py'
    """
    try:
        file = inspect.getsourcefile(policy if isinstance(policy, type) else type(policy))
    except TypeError:
        return None
    return None if file is None else Path(file)


def _of_entry(name: str) -> Any:
    try:
        return offered()[name].load()
    except (Exception, SystemExit) as error:  # noqa: BLE001 -- as below
        place = offered()[name].value
        raise InputError(f"policy {name!r} at {place!r} cannot be loaded: {_why(error)}") from None


def _imported(module: str, name: str) -> ModuleType:
    try:
        return _import(module)
    except (Exception, SystemExit) as error:  # noqa: BLE001 -- a stranger's module may raise anything
        raise InputError(f"policy {name!r}: module {module!r} cannot be imported: {_why(error)}") from None


def _import(module: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        here = str(Path.cwd())
        if error.name != module.partition(".")[0] or here in sys.path:
            raise
        sys.path.append(here)  # to stay: the module may import its neighbours later
        importlib.invalidate_caches()
        return importlib.import_module(module)


def _why(error: BaseException) -> str:
    """The error in one line, with the place where a source file is wrong."""
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg} ({error.filename}, line {error.lineno})"
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _checked(policy: Any, name: str) -> Any:
    if callable(getattr(policy, "decide", None)):
        return policy
    kind = "class" if isinstance(policy, type) else type(policy).__name__
    raise InputError(f"policy {name!r} is a {kind} without a method decide(view): it must have one")
