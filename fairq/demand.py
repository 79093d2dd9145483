"""The requests that a scenario's workload table asks for, drawn from its streams."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from os import stat_result
from pathlib import Path

import numpy as np

from fairq.errors import InputError
from fairq.reshaping import arrival_rate, lengths, stretched
from fairq.servegen import Client, read_client
from fairq.streams import open_uniforms, stream
from fairq.workload import Workload
from fairq.workload_schema import LengthPool, Requests, ServeGen, Trace, TraceFile

__all__ = ["potential_requests"]

Locate = Callable[[str], Path]


def potential_requests(demand: Requests, seed: int, replication: int, locate: Locate) -> Workload:
    """The requests of one replication, before any acceptance; there may be none.

    Parameters:
        demand: the scenario's table.
        seed: the scenario's.
        replication: from 0.
        locate: the file that a path of the table means.

    Raises:
        InputError: a file that is not there or cannot be read, or a length that is no length; the
            message begins with the field (``workload. ...``), or with the file where that is at fault.
    """
    arrivals = demand.arrivals
    generator = stream(seed, replication, "arrivals")
    if isinstance(arrivals, Trace):
        drawn = _trace(arrivals, generator, locate)
    elif isinstance(arrivals, ServeGen):
        own_lengths = stream(seed, replication, "lengths") if demand.tokens is None else None
        drawn = _servegen(arrivals, generator, own_lengths, locate)
        if demand.requests is not None:
            drawn = drawn.subset(np.arange(len(drawn)) < demand.requests)
    else:
        drawn = _backlog(demand.requests or 0)
    if demand.tokens is not None:
        drawn = _with_lengths(drawn, demand, seed, replication, locate)
    return drawn.chunk_prompt(demand.prompt_chunk)


def _backlog(count: int) -> Workload:
    return Workload.from_arrays(np.ones(count, dtype=np.int64))


def _trace(table: Trace, generator: np.random.Generator, locate: Locate) -> Workload:
    path = _existing(locate, table.path, "workload.arrivals.path")
    drawn = _read(table, path, table.time_unit, table.ties)
    try:
        if table.window is not None:
            drawn = drawn.window(*table.window)
        factor = None if table.rate is None else arrival_rate(drawn) / table.rate
        if table.bootstrap is not None:
            drawn = drawn.bootstrap(generator, table.bootstrap)
    except InputError as error:
        raise InputError(f"workload.arrivals: {error}") from None
    return drawn if factor is None else stretched(drawn, factor)


def _servegen(
    table: ServeGen, generator: np.random.Generator, lengths: np.random.Generator | None, locate: Locate
) -> Workload:
    path = _existing(locate, table.path, "workload.arrivals.path")
    dataset = None if table.dataset is None else _existing(locate, table.dataset, "workload.arrivals.dataset")
    client = _client(path, dataset)
    try:
        if table.window is not None:
            client = client.between(*table.window)
        drawn = client.draw(generator, lengths)
    except InputError as error:
        raise InputError(f"workload.arrivals: {error}") from None
    return drawn if table.rate is None else stretched(drawn, client.mean_rate() / table.rate)


def _with_lengths(drawn: Workload, demand: Requests, seed: int, replication: int, locate: Locate) -> Workload:
    """The same arrivals with lengths from the stream "lengths", one uniform a request."""
    uniforms = open_uniforms(stream(seed, replication, "lengths"), len(drawn))
    table = demand.tokens
    if isinstance(table, LengthPool):
        path = _existing(locate, table.path, "workload.tokens.path")
        sample = lengths(_read(table, path, None, "keep"), uniforms)
    elif table is None or len(drawn) == 0:
        return drawn
    else:
        try:
            sample = Workload.from_arrays(table.law().tokens(uniforms))
        except InputError as error:
            raise InputError(f"workload.tokens: {error}") from None
    return replace(sample, arrival=drawn.arrival, time_unit=drawn.time_unit)


def _existing(locate: Locate, given: str, field: str) -> Path:
    path = locate(given)
    if not path.exists():
        raise InputError(f"{field} is {str(path)!r}: it must be a file that exists")
    return path


def _read(table: TraceFile, path: Path, time_unit: str | None, ties: str) -> Workload:
    columns = None if table.columns is None else tuple(table.columns.items())
    return _read_once(path, _stamp(path.stat()), table.format, columns, time_unit, table.zero, ties)


def _stamp(about: stat_result) -> tuple[int, int]:
    return about.st_mtime_ns, about.st_size


@lru_cache(maxsize=2)
def _read_once(
    path: Path,
    stamp: tuple[int, int],  # noqa: ARG001 - a file that changed is read again
    format: str | None,  # noqa: A002 - as `Workload.read` calls it
    columns: tuple[tuple[str, str], ...] | None,
    time_unit: str | None,
    zero: str | None,
    ties: str,
) -> Workload:
    """The file, read once for all replications."""
    return Workload.read(path, format, None if columns is None else dict(columns), time_unit, zero, ties)


@lru_cache(maxsize=2)
def _client(path: Path, dataset: Path | None) -> Client:
    return read_client(path, dataset)
