"""A workload of named classes: each with its own lengths, and with its own arrivals or a share of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairq.errors import InputError
from fairq.generation import Draw, arrivals_of, with_lengths
from fairq.predictions import predicted
from fairq.sources_schema import Trace
from fairq.streams import open_uniforms
from fairq.workload import Workload

if TYPE_CHECKING:
    from fairq.workload_schema import Class, Requests

__all__ = ["mixed", "superposed", "told"]


def mixed(demand: Requests, draw: Draw) -> Workload:
    """The requests of all classes, by arrival, those of one instant in the classes' order.

    With arrivals of the workload, each request's class is drawn by the weights, from the stream "classes";
    else every class has its own.  A class draws from streams of its own (its number is their `part`),
    so that a change of one leaves the others' requests as they are.

    Raises:
        InputError: as `fairq.demand.potential_requests`.
    """
    parts = _shared(demand, draw) if demand.arrivals is not None else _own(demand, draw)
    whole = superposed(parts)
    if demand.requests is not None:
        whole = whole.subset(np.arange(len(whole)) < demand.requests)
    return replace(whole, terms={one.label: one.terms() for one in demand.classes or ()})


def _own(demand: Requests, draw: Draw) -> list[Workload]:
    parts = []
    for one, here in _each(demand, draw):
        requests = demand.requests if one.requests is None else one.requests
        parts.append(_finished(arrivals_of(one, requests, here), one, demand, here))
    return parts


def _shared(demand: Requests, draw: Draw) -> list[Workload]:
    drawn = arrivals_of(demand, demand.requests, draw)
    ends = np.cumsum([one.weight for one in demand.classes or ()])
    uniforms = open_uniforms(draw.stream("classes"), len(drawn))
    number = np.searchsorted(ends / ends[-1], uniforms)
    return [
        _finished(drawn.subset(number == index), one, demand, here)
        for index, (one, here) in enumerate(_each(demand, draw))
    ]


def _each(demand: Requests, draw: Draw) -> list[tuple[Class, Draw]]:
    classes = enumerate(demand.classes or ())
    return [(one, replace(draw, part=i, field=f"workload.classes.{i}")) for i, one in classes]


def _finished(drawn: Workload, one: Class, demand: Requests, draw: Draw) -> Workload:
    """Requests with the class's lengths, predictions and label; what it does not say, the workload does."""
    if one.tokens is None and demand.tokens is not None and not isinstance(one.arrivals, Trace):
        drawn = with_lengths(drawn, demand.tokens, replace(draw, field="workload"))
    else:
        drawn = with_lengths(drawn, one.tokens, draw)
    if one.predictions is None:
        drawn = told(drawn, demand.predictions, replace(draw, field="workload"))
    else:
        drawn = told(drawn, one.predictions, draw)
    return replace(drawn, label=np.full(len(drawn), one.label, dtype=object))


def told(drawn: Workload, table: Any, draw: Draw) -> Workload:
    """The same requests with the predictions of a table, if there is one.

    Raises:
        InputError: an output that the predictions do not allow.
    """
    if table is None:
        return drawn
    try:
        return predicted(drawn, table.law(), draw.stream("predictions"))
    except InputError as error:
        raise draw.error("predictions", error) from None


def superposed(parts: Sequence[Workload]) -> Workload:
    """All requests of `parts` by arrival; those of one instant in the order of the parts, then their own.

    Raises:
        InputError: times of one part are in seconds, of another in steps.

    >>> day, night = (Workload.from_arrays([n, n], arrival=[0, n]) for n in (5, 3))
    >>> superposed([day, night]).tokens.tolist()
    [5, 3, 3, 5]
    """
    units = sorted({part.time_unit for part in parts if part.time_unit is not None})
    if len(units) > 1:
        raise InputError("workload.classes: the times of one are in seconds, of another in steps")
    names = ("arrival", "tokens", "prompt_tokens", "lower", "upper", "label", "billed_tokens")
    order = np.argsort(np.concatenate([part.arrival for part in parts]), kind="stable")
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts])[order] for name in names
    }
    whole = Workload(**columns, time_unit=units[0] if units else None)
    if all(part.widened is None for part in parts):
        return whole
    marks = [np.zeros(len(part), dtype=np.bool_) if part.widened is None else part.widened for part in parts]
    return replace(whole, widened=np.concatenate(marks)[order])
