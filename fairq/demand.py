"""The requests that a scenario's workload table asks for, drawn from its streams."""

from __future__ import annotations

from fairq.generation import Draw, arrivals_of, with_lengths
from fairq.workload import Workload
from fairq.workload_schema import Requests

__all__ = ["potential_requests"]


def potential_requests(demand: Requests, draw: Draw) -> Workload:
    """The requests of one replication, before any acceptance; there may be none.

    Parameters:
        demand: the scenario's table.
        draw: seed, replication, end of the run, and where files are.

    Raises:
        InputError: a file that is not there or cannot be read, or a length that is no length; the
            message begins with the field (``workload. ...``), or with the file where that is at fault.
    """
    drawn = with_lengths(arrivals_of(demand, demand.requests, draw), demand.tokens, draw)
    return drawn.chunk_prompt(demand.prompt_chunk)
