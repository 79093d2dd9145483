"""Policies that others wrote: at ``"module:Class"``, or by the name that an installed package offers."""

from __future__ import annotations

import importlib
import inspect
import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from fairq.errors import InputError, unknown_name
from fairq.validation import shown

__all__ = ["GROUP", "foreign", "load", "offered", "own_options", "raised", "source_of"]

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
        with foreign(f"policy {name!r}: {part!r} of {module_name!r}"):
            there = hasattr(found, part)
            known = () if there else [key for key, value in vars(found).items() if _decides(value)]
            below = getattr(found, part, None)
        if not there:
            raise unknown_name("class", part, known, of=f"module {module_name!r}")
        found = below
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
    with foreign(f"policy {policy.__name__!r}: its signature"):
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


@contextmanager
def foreign(what: str) -> Iterator[None]:
    """Run a stranger's code: whatever it raises, but an interrupt from the keyboard, is an `InputError`.

    Parameters:
        what: whose code does what, the message's beginning.

    Raises:
        InputError: `what`, the exception, and its file and line (see `raised`).

    >>> with foreign("policy 'Mine': its __init__"):
    ...     raise RuntimeError("no GPU")
    Traceback (most recent call last):
    ...
    fairq.errors.InputError: policy 'Mine': its __init__ raised RuntimeError: no GPU (<doctest ...>, line 2)
    """
    try:
        yield
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise InputError(f"{what} raised {raised(error)}") from error


def raised(error: BaseException) -> str:
    """What a stranger's code raised, in one line: exception, message, file and line."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return f"{_text(error)}{place}"


def _text(error: BaseException) -> str:
    """The exception's name and message, which may itself raise."""
    try:
        text = " ".join(str(error).split())
    except Exception:  # noqa: BLE001 -- it is a stranger's
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _of_entry(name: str) -> Any:
    try:
        return offered()[name].load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 -- as below
        place = offered()[name].value
        raise InputError(f"policy {name!r} at {place!r} cannot be loaded: {_why(error)}") from None


def _imported(module: str, name: str) -> ModuleType:
    try:
        return _import(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 -- a stranger's module may raise anything
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
    """Why a module does not import, in one line, with the place where a source file is wrong."""
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg} ({error.filename}, line {error.lineno})"
    return _text(error) if isinstance(error, ImportError) else raised(error)


def _decides(value: Any) -> bool:
    return callable(getattr(value, "decide", None))


def _checked(policy: Any, name: str) -> Any:
    with foreign(f"policy {name!r}: its attribute 'decide'"):
        if _decides(policy):
            return policy
    kind = "class" if isinstance(policy, type) else type(policy).__name__
    raise InputError(f"policy {name!r} is a {kind} without a method decide(view): it must have one")
