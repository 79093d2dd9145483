"""Reading a workload from a file in any known format, and saying exactly where it is wrong.

Numbers are read as Python reads them, to the last bit.  A blank line, either line end, a byte order
mark, gzip, a missing last line end and spaces around a number are tolerated; rows without output
tokens and rows out of order are dealt with as asked, counted and said; nothing else is guessed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairq.building import build, checked_unit
from fairq.cells import measured, moments, numbers_from, plain_numbers, texts
from fairq.columns import Place, whole_column
from fairq.errors import InputError, ReadWarning, one_line, unknown_name
from fairq.failures import NOTHING, Failures, failures
from fairq.layout import Layout, check_columns, lay_out, telling
from fairq.own import chunk_of, unit_of
from fairq.source import Source, amount, counted
from fairq.splits import join_split
from fairq.table import Table, open_table
from fairq.textfile import as_path, has_mark, is_gzip
from fairq.tidying import count_ties, in_order, seconds_from_first, spread_ties

if TYPE_CHECKING:
    from os import PathLike

    from fairq.workload import Workload

__all__ = ["TIES", "ZERO", "read_workload"]

ZERO = ("drop", "keep", "refuse")
"""What may be done with a row without output tokens: leave it out, count one token, refuse the file."""

TIES = ("keep", "spread")
"""What may be done with equal arrivals: keep them, or spread them evenly inside their bucket of time."""

_COUNTS = ("tokens", "prompt_tokens", "output_tokens")
_MEASURED = ("measured_latency", "measured_ttft")


def read_workload(
    path: str | PathLike[str],
    format: str | None = None,  # noqa: A002 - the public contract's name
    columns: Mapping[str, str] | None = None,
    time_unit: str | None = None,
    zero: str | None = None,
    ties: str = "keep",
) -> Workload:
    """The workload in the file at `path`; see `fairq.Workload.read`."""
    path = as_path(path)
    telling_name = _check_options(path, format, columns, time_unit, zero, ties)
    with open_table(path, telling_name) as table:
        layout = lay_out(table.names, f"{path}: {table.header}", format, columns)
        _check_unit(layout, time_unit, path)
        how = _Reading(str(path), table, layout, zero or ("refuse" if layout.own else "drop"), ties)
        workload = how.workload(time_unit)
    if workload.source is not None and workload.source.changes():
        text = f"{path}: {'; '.join(workload.source.changes())}"
        warnings.warn(one_line(text), ReadWarning, stacklevel=3)
    return workload


def _check_options(
    path: Path,
    format: Any,  # noqa: A002
    columns: Any,
    time_unit: Any,
    zero: Any,
    ties: Any,
) -> Callable[[str], bool]:
    """Refuse an option that is none, naming the file; which columns a later row must not bring."""
    try:
        if zero is not None and zero not in ZERO:
            raise unknown_name("zero", zero, ZERO)
        if ties not in TIES:
            raise unknown_name("ties", ties, TIES)
        checked_unit(time_unit)
        check_columns({} if columns is None else columns)
        return telling(format, columns)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _check_unit(layout: Layout, time_unit: str | None, path: Path) -> None:
    if layout.format.unit is not None and time_unit == "steps":
        raise InputError(
            f"time_unit is 'steps', but {path} is read as {layout.format.name}, whose times are real ones: "
            "it must be 's' or None (in_steps makes steps of seconds)"
        )


@dataclass(frozen=True)
class _Reading:
    """One file being read, and how."""

    path: str
    table: Table
    layout: Layout
    zero: str
    ties: str

    def workload(self, time_unit: str | None) -> Workload:
        """The requests of the file, tidied, with the report of the reading."""
        columns = self._columns()
        rows = len(next(iter(columns.values()), ()))
        if rows == 0:
            raise InputError(f"{self.path} has a header and no rows: it must have a row per request")
        failed = self._failed(columns)
        clocked = self.layout.format.unit is not None and "arrival" in columns
        kept = failed.left(self.path) if self.zero == "drop" and failed else None
        chosen, back = in_order(columns["arrival"], kept) if clocked else (kept, 0)
        source = Source(
            self.path, self.layout.format.name, dict(self.layout.found), "", rows,
            rows if chosen is None else len(chosen),
            {} if kept is None else failed.counts(),
            failed.count(NOTHING) if self.zero == "keep" else 0, back,
            notices=failed.notices(self.zero), repairs=self._repairs(),
        )  # fmt: skip
        for name in columns if chosen is not None else ():
            columns[name] = columns[name][chosen]
        return self._built(columns, chosen, time_unit, source)

    def _failed(self, columns: dict[str, Any]) -> Failures:
        """Which rows failed; `columns` gets tokens and prompt of every row."""
        names = {name: self.layout.found.get(name, name) for name in _COUNTS}
        empty = join_split(columns, self._place, self.zero != "refuse", names)
        return failures(columns, empty, self._place, self.layout.format.aborts, self.zero)

    def _built(
        self, columns: dict[str, Any], chosen: NDArray[np.int64] | None, time_unit: str | None, source: Source
    ) -> Workload:
        """The workload of the rows `chosen`, their times in seconds where the format is not ours."""
        unit, notices = self.layout.format.unit, list(source.notices)
        place = self._place if chosen is None else _at(chosen, self._place)
        raw = columns.get("arrival")
        if self.layout.own:
            time_unit = unit_of(columns, time_unit, place)
        elif unit is not None:
            time_unit = "s"
        told = self._times(raw, time_unit)
        if raw is not None:
            notices += _doubts(raw, unit, self.layout)
        if raw is not None and unit is not None:
            raw = columns["arrival"] = seconds_from_first(raw, unit)
        ties = 0 if raw is None else count_ties(raw)
        if raw is not None and ties and self.ties == "spread":
            columns["arrival"], bucket = self._spread(raw)
            notices.append(f"{counted(ties, 'tie')} spread inside buckets of {amount(bucket)}")
        source = replace(source, times=told, ties=ties, notices=tuple(notices))
        chunk = chunk_of(columns, place) if self.layout.own else 1
        return replace(build(columns, place, time_unit), prompt_chunk=chunk, source=source)

    def _spread(self, raw: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        try:
            return spread_ties(raw)
        except InputError as error:
            raise InputError(f"{self.path}: {error}") from None

    def _columns(self) -> dict[str, Any]:
        """Every column that is used, checked value by value, piece after piece."""
        found, known = self.layout.found, dict[str, str]()
        pieces: dict[str, list[Any]] = {name: [] for name in found}
        seen = 0
        for piece in self.table.pieces(list(found.values())):
            for name, column in found.items():
                pieces[name].append(self._checked(name, piece[column], seen, known))
            seen += len(piece[next(iter(found.values()))])
        columns: dict[str, Any] = {}
        for name in found:
            parts = pieces.pop(name)
            if name in ("label", "time_unit"):
                columns[name] = np.array([text for part in parts for text in part], dtype=object)
            else:
                columns[name] = np.concatenate(parts) if parts else np.zeros(0)
        return columns

    def _checked(self, name: str, cells: Any, seen: int, known: dict[str, str]) -> Any:
        def place(column: str, index: int) -> str:
            return self._place(column, seen + index)

        if name == "arrival":
            unit = self.layout.format.unit
            return moments(cells, place) if unit == "datetime" else numbers_from(cells, place)
        if name in ("label", "time_unit"):
            return texts(cells, known)
        if name in _MEASURED:
            return measured(name, cells, place, self.layout.format.aborts)
        low = 0 if name == "prompt_tokens" or (name in _COUNTS and self.zero != "refuse") else 1
        return whole_column(name, plain_numbers(cells), place, low=low, cells=cells).astype(np.int32)

    def _place(self, name: str, index: int) -> str:
        return f"{self.path}: {self.table.row(index)}, column {self.layout.found[name]!r}"

    def _times(self, raw: Any, time_unit: str | None) -> str:
        unit = self.layout.format.unit
        if raw is None:
            return "no times: a backlog, all at 0"
        if unit is None:
            return f"times as they are, unit {time_unit or 'not known'}"
        if unit == "datetime":
            return f"seconds from the first arrival, {np.datetime64(int(raw.min()), 'ns')} UTC"
        return f"seconds from the first arrival, {amount(float(raw.min()))} {unit} in the file"

    def _repairs(self) -> tuple[str, ...]:
        texts = []
        if self.table.binary:
            return ()
        if is_gzip(self.path):
            texts.append("unzipped")
        if has_mark(self.path):
            texts.append("byte order mark left out")
        if self.table.blank:
            texts.append(f"{counted(self.table.blank, 'blank line')} passed over")
        return tuple(texts)


def _at(chosen: NDArray[np.int64], place: Place) -> Place:
    return lambda name, index: place(name, int(chosen[index]))


def _doubts(raw: NDArray[Any], unit: str | None, layout: Layout) -> list[str]:
    """What may be amiss with the times of the file."""
    known = layout.passed_over
    if (
        known is not None
        and known.unit not in (None, "s")
        and layout.found["arrival"] == known.columns["arrival"]
    ):
        column = layout.found["arrival"]
        text = (
            f"times of {column!r} are taken as they are, but by its columns the file is {known.name}, whose "
            f"times are in {known.unit}: format = {known.name!r} beside columns makes seconds of them"
        )
        return [text]
    if unit == "ms" and raw.dtype.kind == "f" and bool((raw != np.floor(raw)).any()):
        text = "times are read as milliseconds but have fractions: if they are seconds, format = {!r}"
        return [text.format("mooncake-seconds")]
    return []
