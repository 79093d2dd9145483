"""The requests of one stream: its arrivals by law or from a file, each with a length."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from os import stat_result
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from fairq.errors import InputError, ReadWarning, one_line
from fairq.joint import JointLengths
from fairq.resampling import lengths
from fairq.reshaping import arrival_rate, stretched
from fairq.servegen import Client, dataset_beside, read_client
from fairq.sources_schema import LengthPool, ServeGen, Trace, TraceFile
from fairq.streams import open_uniforms, stream
from fairq.workload import Workload

__all__ = ["Draw", "Locate", "Source", "arrivals_of", "readings", "with_lengths"]

Locate = Callable[[str], Path]
Stamp = tuple[int, int, int, int]


class Source(Protocol):
    """A table with arrivals and lengths: the workload, or one of its classes."""

    @property
    def arrivals(self) -> Any:
        """When requests arrive."""

    @property
    def tokens(self) -> Any:
        """How long they are; None where the arrivals bring it."""


@dataclass(frozen=True)
class Draw:
    """What one draw depends on beside the table.

    Attributes:
        seed, replication: the scenario's, and which one, from 0.
        locate: the file that a path of the table means.
        until: the end of the run, None without one.
        part: number of the class, None without classes.
        field: the table's dotted name, for errors.
    """

    seed: int
    replication: int
    locate: Locate
    until: float | None = None
    part: int | None = None
    field: str = "workload"

    def stream(self, purpose: str) -> np.random.Generator:
        """The generator for `purpose`, as `fairq.streams.stream`."""
        return stream(self.seed, self.replication, purpose, self.part)

    def existing(self, given: str, field: str) -> Path:
        """The file at `given`.

        Raises:
            InputError: there is none.
        """
        path = self.locate(given)
        if not path.exists():
            raise InputError(f"{self.field}.{field} is {str(path)!r}: it must be a file that exists")
        return path

    def error(self, field: str, error: InputError) -> InputError:
        """`error`, said of a field of the table."""
        return InputError(f"{self.field}.{field}: {error}")


def readings(sources: Iterable[tuple[str, Source]], locate: Locate) -> dict[str, dict[str, Any]]:
    """How each file of requests is read, by dotted field, as plain values for JSON.

    Parameters:
        sources: the tables with arrivals and lengths, each with its dotted name.
        locate: the file that a path of a table means.

    Returns:
        `fairq.source.Source` as a mapping; of a ServeGen client ``file``, ``format`` (``"servegen"``),
        ``dataset``, ``windows`` and ``active``.  Files are called as the tables call them.

    Raises:
        InputError: a file that is not there or cannot be read.
    """
    found = {}
    for field, source in sources:
        draw, arrivals, tokens = Draw(0, 0, locate, field=field), source.arrivals, source.tokens
        if isinstance(arrivals, Trace):
            found[f"{field}.arrivals"] = _reading(arrivals, _recorded(arrivals, draw))
        if isinstance(arrivals, ServeGen):
            client, dataset = _client_of(arrivals, draw)
            found[f"{field}.arrivals"] = {
                "file": arrivals.path, "format": "servegen", "dataset": dataset,
                "windows": len(client.windows), "active": len(client.active),
            }  # fmt: skip
        if isinstance(tokens, LengthPool):
            found[f"{field}.tokens"] = _reading(tokens, _pool(tokens, draw))
    return found


def _reading(table: TraceFile, workload: Workload) -> dict[str, Any]:
    return {} if workload.source is None else workload.source.to_dict() | {"file": table.path}


def arrivals_of(source: Source, requests: int | None, draw: Draw) -> Workload:
    """Requests with their arrivals in order: with lengths where the arrivals bring them, else of one token.

    Raises:
        InputError: a file that is not there or cannot be read, or times that are not allowed.
    """
    table = source.arrivals
    if isinstance(table, Trace):
        return _trace(table, draw)
    if isinstance(table, ServeGen):
        return _servegen(table, source.tokens is None, requests, draw)
    try:
        times = table.law().times(draw.stream("arrivals"), requests, draw.until)
    except InputError as error:
        raise draw.error("arrivals", error) from None
    if len(times) == 0:
        return Workload.empty()
    return Workload.from_arrays(np.ones(len(times), dtype=np.int64), times)


def with_lengths(drawn: Workload, table: Any, draw: Draw) -> Workload:
    """The same arrivals with lengths from the stream "lengths": one uniform a request, two if joint.

    Raises:
        InputError: a value that is no length, or a file that cannot be read.
    """
    if table is None or len(drawn) == 0:
        return drawn
    generator, count = draw.stream("lengths"), len(drawn)
    if isinstance(table, LengthPool):
        sample = lengths(_pool(table, draw), open_uniforms(generator, count))
    else:
        try:
            sample = _sample(table.law(), generator, count)
        except InputError as error:
            raise draw.error("tokens", error) from None
    return replace(sample, arrival=drawn.arrival, time_unit=drawn.time_unit)


def _sample(law: Any, generator: np.random.Generator, count: int) -> Workload:
    if isinstance(law, JointLengths):
        prompt, output = law.tokens(open_uniforms(generator, 2 * count).reshape(-1, 2))
        return Workload.from_arrays(prompt + output, prompt_tokens=prompt)
    return Workload.from_arrays(law.tokens(open_uniforms(generator, count)))


def _pool(table: LengthPool, draw: Draw) -> Workload:
    return _read(table, draw.existing(table.path, "tokens.path"), None, "keep")


def _recorded(table: Trace, draw: Draw) -> Workload:
    return _read(table, draw.existing(table.path, "arrivals.path"), table.time_unit, table.ties)


def _trace(table: Trace, draw: Draw) -> Workload:
    drawn = _recorded(table, draw)
    try:
        if table.window is not None:
            drawn = drawn.window(*table.window)
        factor = None if table.rate is None else arrival_rate(drawn) / table.rate
        if table.bootstrap is not None:
            drawn = drawn.bootstrap(draw.stream("arrivals"), table.bootstrap)
        return drawn if factor is None else stretched(drawn, factor)
    except InputError as error:
        raise draw.error("arrivals", error) from None


def _servegen(table: ServeGen, own_lengths: bool, requests: int | None, draw: Draw) -> Workload:
    client, _ = _client_of(table, draw)
    try:
        if table.window is not None:
            client = client.between(*table.window)
        lengths_from = draw.stream("lengths") if own_lengths else None
        drawn = client.draw(draw.stream("arrivals"), lengths_from, requests)
        return drawn if table.rate is None else stretched(drawn, client.mean_rate() / table.rate)
    except InputError as error:
        raise draw.error("arrivals", error) from None


def _client_of(table: ServeGen, draw: Draw) -> tuple[Client, str]:
    """The client, and its dataset as the table calls it."""
    path = draw.existing(table.path, "arrivals.path")
    dataset = table.dataset if table.dataset is not None else str(dataset_beside(table.path))
    beside = draw.existing(dataset, "arrivals.dataset")
    return _client(path, beside, (_stamp(path.stat()), _stamp(beside.stat()))), dataset


def _read(table: TraceFile, path: Path, time_unit: str | None, ties: str) -> Workload:
    columns = None if table.columns is None else tuple(table.columns.items())
    replayed = isinstance(table, Trace)
    return _read_once(path, _stamp(path.stat()), table.format, columns, time_unit, table.zero, ties, replayed)


def _stamp(about: stat_result) -> Stamp:
    """What differs when a file was written anew."""
    return about.st_mtime_ns, about.st_ctime_ns, about.st_size, about.st_ino


@lru_cache(maxsize=8)
def _read_once(
    path: Path,
    stamp: Stamp,  # noqa: ARG001 - a file that changed is read again
    format: str | None,  # noqa: A002 - as `Workload.read` calls it
    columns: tuple[tuple[str, str], ...] | None,
    time_unit: str | None,
    zero: str | None,
    ties: str,
    replayed: bool,
) -> Workload:
    """The file, read once for all replications; with a warning where a replay finds no times."""
    found = Workload.read(path, format, None if columns is None else dict(columns), time_unit, zero, ties)
    if replayed and found.source is not None and "arrival" not in found.source.mapping:
        text = f"{path}: it has no times, so its replay is a backlog: all requests are there at 0"
        warnings.warn(one_line(text), ReadWarning, stacklevel=3)
    return found


@lru_cache(maxsize=8)
def _client(path: Path, dataset: Path, stamps: tuple[Stamp, Stamp]) -> Client:  # noqa: ARG001 - as above
    """The client, read once for all replications."""
    return read_client(path, dataset)
