"""Lists of numbers that a law is made from."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairq.errors import InputError
from fairq.validation import finite_number, shown

__all__ = ["numbers"]


def numbers(name: str, values: Any, at_least: float | None = None) -> tuple[float, ...]:
    """`values` as finite numbers, each at least `at_least`.

    Raises:
        InputError: no list of at least one number, or the first entry that is not allowed (``name.2``).

    >>> numbers("rates", [1, 2.5])
    (1.0, 2.5)
    """
    if isinstance(values, np.ndarray):
        values = values.tolist()
    if not isinstance(values, (list, tuple)) or not values:
        raise InputError(f"{name} is {shown(values)}: it must be a list of at least one number")
    return tuple(finite_number(f"{name}.{i}", value, at_least=at_least) for i, value in enumerate(values))
