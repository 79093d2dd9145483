"""A workload made of columns, every value checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fairq.columns import Place, as_sequence, labels, require, times, whole_column
from fairq.errors import InputError
from fairq.workload import Workload

__all__ = ["build", "checked_unit", "from_arrays"]


def from_arrays(given: Mapping[str, Any], time_unit: str | None) -> Workload:
    """The workload of sequences by name, None for one that is not given; see `Workload.from_arrays`."""
    columns = {name: as_sequence(name, values) for name, values in given.items() if values is not None}
    if "tokens" not in columns:
        raise InputError("tokens is None: it must be a sequence of whole numbers >= 1")
    count = len(columns["tokens"])
    for name, values in columns.items():
        if len(values) != count:
            raise InputError(f"{name} has {len(values)} values and tokens has {count}: they must be as many")
    if count == 0:
        raise InputError("tokens is empty: a workload needs at least one request")
    return build(columns, lambda name, index: f"{name}[{index}]", time_unit)


def build(columns: Mapping[str, Any], place: Place, time_unit: str | None) -> Workload:
    """The workload of `columns` (equal lengths, `tokens` among them), every value checked.

    Raises:
        InputError: the first value of a column that is not allowed, named by `place`.
    """
    tokens = whole_column("tokens", columns["tokens"], place, low=1)
    count = len(tokens)
    prompt = np.zeros(count, dtype=np.int64)
    if "prompt_tokens" in columns:
        prompt = whole_column("prompt_tokens", columns["prompt_tokens"], place, low=0)
        allowed = "below tokens, which is {}: a request needs at least one output token"
        require(prompt < tokens, "prompt_tokens", prompt, tokens, place, allowed)
    lower = upper = tokens
    if "lower" in columns:
        lower = whole_column("lower", columns["lower"], place, low=1)
        require(lower <= tokens, "lower", lower, tokens, place, "at most tokens, which is {}")
    if "upper" in columns:
        upper = whole_column("upper", columns["upper"], place, low=1)
        require(upper >= tokens, "upper", upper, tokens, place, "at least tokens, which is {}")
    arrival = np.zeros(count)
    if columns.get("arrival") is not None:
        arrival = times(columns["arrival"], place)
    label = labels(columns.get("label"), count, place)
    billed = tokens
    if "billed_tokens" in columns:
        billed = whole_column("billed_tokens", columns["billed_tokens"], place, low=1)
    measured = {name: values for name, values in columns.items() if name.startswith("measured_")}
    unit = checked_unit(time_unit)
    return Workload(arrival, tokens, prompt, lower, upper, label, billed, unit, measured=measured)


def checked_unit(time_unit: Any) -> str | None:
    """`time_unit`, if it is one that a workload may have."""
    if time_unit not in (None, "s", "steps"):
        raise InputError(f"time_unit is {time_unit!r}: it must be 's', 'steps' or None")
    return time_unit  # type: ignore[no-any-return]
