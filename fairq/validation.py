"""Checking a number once, with one wording: name, value received, what is allowed."""

from __future__ import annotations

import math
import operator
from numbers import Real
from typing import Any

import numpy as np

from fairq.errors import InputError

__all__ = ["finite_number", "proper_fraction", "shown", "whole_number"]


def finite_number(
    name: str, value: Any, *, at_least: float | None = None, above: float | None = None
) -> float:
    """`value` as a float, if it is a finite number, at least `at_least` and greater than `above`.

    Raises:
        InputError: text, a truth value, NaN, an infinity, or a number too small.
    """
    allowed = "a finite number"
    allowed += "" if at_least is None else f" >= {at_least:g}"
    allowed += "" if above is None else f" > {above:g}"
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        raise InputError(f"{name} is {shown(value)}: it must be {allowed}")
    try:
        number = float(value)
    except OverflowError:  # a whole number beyond what a float holds
        number = math.inf
    small = (at_least is not None and number < at_least) or (above is not None and number <= above)
    if small or not math.isfinite(number):
        raise InputError(f"{name} is {shown(value)}: it must be {allowed}")
    return number


def proper_fraction(name: str, value: Any) -> float:
    """`value` as a float, if it is strictly between 0 and 1, as a confidence is.

    Raises:
        InputError: anything else.
    """
    number = finite_number(name, value)
    if not 0 < number < 1:
        raise InputError(f"{name} is {value!r}: it must be > 0 and < 1")
    return number


def whole_number(name: str, value: Any, *, at_least: int, at_most: int | None = None) -> int:
    """`value` as an int, if it is whole and from `at_least` to `at_most` (5.0 counts as 5).

    Raises:
        InputError: text, a truth value, a fraction, NaN, an infinity, or a number too small.
    """
    allowed = f"a whole number >= {at_least}" + ("" if at_most is None else f" and <= {at_most}")
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        number = (
            int(value)
            if isinstance(value, (float, np.floating)) and value.is_integer()
            else operator.index(value)
        )
    except TypeError:
        raise InputError(f"{name} is {shown(value)}: it must be {allowed}") from None
    if number < at_least or (at_most is not None and number > at_most):
        raise InputError(f"{name} is {shown(value)}: it must be {allowed}")
    return number


def shown(value: Any) -> str:
    """`value` as it may stand in a message of one line.

    >>> shown(10**100)[-4:]
    '000…'
    """
    try:
        text = repr(value)
    except ValueError:  # a whole number of more digits than Python turns into text
        text = f"a {type(value).__name__} too long to show"
    return text if len(text) <= 60 else text[:60] + "…"
