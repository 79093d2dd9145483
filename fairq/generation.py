"""The requests of one stream: its arrivals by law or from a file, each with a length."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from os import stat_result
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from fairq.errors import InputError
from fairq.joint import JointLengths
from fairq.reshaping import arrival_rate, lengths, stretched
from fairq.servegen import Client, read_client
from fairq.sources_schema import LengthPool, ServeGen, Trace, TraceFile
from fairq.streams import open_uniforms, stream
from fairq.workload import Workload

__all__ = ["Draw", "Locate", "Source", "arrivals_of", "with_lengths"]

Locate = Callable[[str], Path]


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


def arrivals_of(source: Source, requests: int | None, draw: Draw) -> Workload:
    """Requests with their arrivals in order: with lengths where the arrivals bring them, else of one token.

    Raises:
        InputError: a file that is not there or cannot be read, or times that are not allowed.
    """
    table = source.arrivals
    if isinstance(table, Trace):
        return _trace(table, draw)
    if isinstance(table, ServeGen):
        drawn = _servegen(table, source.tokens is None, draw)
        return drawn if requests is None else drawn.subset(np.arange(len(drawn)) < requests)
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
        path = draw.existing(table.path, "tokens.path")
        sample = lengths(_read(table, path, None, "keep"), open_uniforms(generator, count))
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


def _trace(table: Trace, draw: Draw) -> Workload:
    path = draw.existing(table.path, "arrivals.path")
    drawn = _read(table, path, table.time_unit, table.ties)
    try:
        if table.window is not None:
            drawn = drawn.window(*table.window)
        factor = None if table.rate is None else arrival_rate(drawn) / table.rate
        if table.bootstrap is not None:
            drawn = drawn.bootstrap(draw.stream("arrivals"), table.bootstrap)
    except InputError as error:
        raise draw.error("arrivals", error) from None
    return drawn if factor is None else stretched(drawn, factor)


def _servegen(table: ServeGen, own_lengths: bool, draw: Draw) -> Workload:
    path = draw.existing(table.path, "arrivals.path")
    dataset = None if table.dataset is None else draw.existing(table.dataset, "arrivals.dataset")
    client = _client(path, dataset)
    try:
        if table.window is not None:
            client = client.between(*table.window)
        drawn = client.draw(draw.stream("arrivals"), draw.stream("lengths") if own_lengths else None)
    except InputError as error:
        raise draw.error("arrivals", error) from None
    return drawn if table.rate is None else stretched(drawn, client.mean_rate() / table.rate)


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
