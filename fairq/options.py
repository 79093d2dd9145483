"""The keywords of policies: what each may be, in one table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairq.errors import InputError
from fairq.validation import finite_number, whole_number

__all__ = ["OPTIONS", "check_option"]


def _one_of(*allowed: str) -> Callable[[str, Any], None]:
    def check(name: str, value: Any) -> None:
        if not isinstance(value, str) or value not in allowed:
            raise InputError(f"{name} is {value!r}: it must be one of {', '.join(map(repr, allowed))}")

    return check


def _time(name: str, value: Any) -> None:
    finite_number(name, value, at_least=0)


def _count(name: str, value: Any) -> None:
    whole_number(name, value, at_least=1)


OPTIONS: dict[str, Callable[[str, Any], None]] = {
    "max_wait": _time,
    "min_batch": _count,
    "pack_order": _one_of("ascending", "descending"),
    "patience": _time,
    "size": _one_of("tokens", "upper"),
    "window": _time,
}
"""The check of each option's value, by name; `base`, a policy's name, is checked where policies are known."""


def check_option(name: str, value: Any) -> None:
    """Raise unless `value` is one that the option `name` may have.

    Raises:
        InputError: it is not; the message says what is allowed.

    >>> check_option("patience", 3.5)
    """
    if name in OPTIONS:
        OPTIONS[name](name, value)
