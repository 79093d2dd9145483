"""Where a study's requests come from, in words: drawn by laws, replayed, resampled, drawn from a client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fairq.errors import one_line
from fairq.source import Source, amount, counted
from fairq.sources_schema import ServeGen, Trace

if TYPE_CHECKING:
    from fairq.scenario import Scenario

__all__ = ["origin", "reading_text", "spread"]

_DRAWN = ("noise", "quantile")
"""Kinds of predictions that draw."""


def origin(scenario: Scenario) -> str:
    """The end of "so many requests ...": of which trace or client; nothing where laws draw them."""
    arrivals, path = scenario.workload.arrivals, scenario.trace_path()
    if path is None:
        return ""
    name = one_line(path.name)
    if isinstance(arrivals, ServeGen):
        return f" drawn from the ServeGen client {name}"
    return f" {'of' if _block(arrivals) is None else 'resampled from'} the trace {name}"


def spread(scenario: Scenario) -> tuple[str, bool]:
    """What recorded sources mean for the figures, in sentences, and whether all replications are the same.

    Nothing, and False, where laws draw the requests.
    """
    tables = [source.arrivals for _, source in scenario.workload.sources() if source.arrivals is not None]
    blocks = [table.bootstrap for table in tables if isinstance(table, Trace) and table.bootstrap is not None]
    said = []
    if any(isinstance(table, ServeGen) for table in tables):
        said.append("Requests drawn from the law of a ServeGen client: they are none that were recorded.")
    if blocks:
        said.append(
            f"A recorded trace, resampled in pieces of about {amount(blocks[0])}: other draws from the same "
            "trace, which say nothing of the spread between traces."
        )
    replayed = [table for table in tables if isinstance(table, Trace) and table.bootstrap is None]
    drawn = _drawn(scenario) + (["the other requests"] if len(replayed) < len(tables) else [])
    if replayed:
        what = f"but for {' and '.join(drawn)}, drawn in each replication, " if drawn else ""
        said.append(
            f"A recorded trace, replayed: {what}the figures are exact for it, and say nothing of the spread "
            "between traces."
        )
    return " ".join(said), bool(replayed) and not drawn


def reading_text(entry: Mapping[str, Any]) -> str:
    """How a file was read, in a line; `entry` is what `fairq.generation.readings` has for it."""
    if entry["format"] == "servegen":
        return one_line(
            f"{entry['file']} read as a ServeGen client, lengths from {entry['dataset']}; "
            f"{counted(entry['windows'], 'window')}, {entry['active']:,} active"
        )
    return str(Source(**entry))


def _block(arrivals: Any) -> float | None:
    return getattr(arrivals, "bootstrap", None)


def _drawn(scenario: Scenario) -> list[str]:
    """What is drawn anew in each replication beside the times of arrival."""
    demand = scenario.workload
    tables = [source.predictions for _, source in demand.sources()]
    shared = demand.classes is not None and demand.arrivals is not None
    drawn = ["the classes and their lengths"] if shared else []
    drawn += ["who is accepted"] if demand.acceptance is not None else []
    drawn += ["predictions"] if any(getattr(table, "kind", "") in _DRAWN for table in tables) else []
    drawn += ["the workers dispatched to"] if scenario.pool.dispatch in ("random", "power-of-two") else []
    return drawn
