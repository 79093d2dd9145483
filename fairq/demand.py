"""The requests that a scenario's workload table asks for, drawn from its streams."""

from __future__ import annotations

import math
from typing import Any

from fairq.arrivals_schema import Law
from fairq.generation import Draw, arrivals_of, with_lengths
from fairq.mixture import mixed, told
from fairq.workload import Workload
from fairq.workload_schema import Requests

__all__ = ["configured", "period_of", "potential_requests"]


def potential_requests(demand: Requests, draw: Draw) -> Workload:
    """The requests of one replication, before any acceptance; there may be none.

    Parameters:
        demand: the scenario's table.
        draw: seed, replication, end of the run, and where files are.

    Raises:
        InputError: a file that is not there or cannot be read, or a length that is no length; the
            message begins with the field (``workload. ...``), or with the file where that is at fault.
    """
    if demand.classes is not None:
        return mixed(demand, draw).chunk_prompt(demand.prompt_chunk)
    drawn = with_lengths(arrivals_of(demand, demand.requests, draw), demand.tokens, draw)
    return told(drawn, demand.predictions, draw).chunk_prompt(demand.prompt_chunk)


def configured(demand: Requests) -> list[dict[str, Any]]:
    """What was asked for, an entry for the workload or for each class with arrivals of its own.

    Keys: ``label`` (of the class, else ``""``), ``kind``, and ``rate``, ``cv``, ``dispersion``, each None
    where the arrivals do not say it.  They are of the potential requests, before any acceptance.
    """
    own = demand.classes if demand.arrivals is None and demand.classes is not None else ()
    tables = [(one.label, one.arrivals) for one in own] or [("", demand.arrivals)]
    return [{"label": label, **_figures(table)} for label, table in tables]


def period_of(demand: Requests) -> float:
    """The period of the workload's law of arrivals, 0 without one (or with one a class)."""
    return demand.arrivals.law().period if isinstance(demand.arrivals, Law) else 0.0


def _figures(table: Any) -> dict[str, Any]:
    if not isinstance(table, Law):
        return {"kind": table.kind, "rate": table.rate, "cv": None, "dispersion": None}
    law = table.law()
    figures = {"rate": law.mean_rate, "cv": law.interval_cv, "dispersion": law.dispersion}
    known = {name: value if math.isfinite(value) else None for name, value in figures.items()}
    return {"kind": getattr(table, "kind", None), **known}
