"""Reading a workload from a CSV file, and saying exactly where it is wrong.

Numbers are read as Python reads them, to the last bit.  A blank line, either line end, a
byte order mark, a missing last line end and spaces around a value are tolerated; nothing
else is guessed.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairq.columns import MAX_TOKENS, Place, whole_column
from fairq.errors import InputError, unknown_name
from fairq.workload import Workload, build

if TYPE_CHECKING:
    from os import PathLike

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["COLUMNS", "check_columns", "read_csv", "read_text"]

COLUMNS = ("arrival", "tokens", "prompt_tokens", "output_tokens", "lower", "upper", "label")
"""Our own names of a file's columns."""

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def read_csv(
    path: str | PathLike[str], columns: Mapping[str, str] | None = None, time_unit: str | None = None
) -> Workload:
    """The workload in the CSV file at `path`; see `fairq.Workload.read`."""
    rows = _rows(read_text(path), str(path))
    header = next(rows, None)
    if header is None:
        raise InputError(f"{path} is empty: it must be a CSV file with a header and a row per request")
    names = [name.strip() for name in header[1]]
    found = _find_columns(names, columns, f"{path}: row {header[0]}")
    lines, cells = _cells(rows, names, found, str(path))
    if not lines:
        raise InputError(f"{path} has a header and no rows: it must have a row per request")

    def place(name: str, index: int) -> str:
        return f"{path}: row {lines[index]}, column {names[found[name]]!r}"

    if "output_tokens" in cells:
        _join_output(cells, place)
    return build(cells, place, time_unit)


def read_text(path: str | PathLike[str]) -> str:
    """The text of a UTF-8 file, line ends as they are, without a byte order mark.

    Raises:
        InputError: the file is missing, a folder, unreadable, binary, or not UTF-8.
    """
    try:
        data = Path(path).read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path itself
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(f"{str(path)!r} cannot be read: {reason}; it must be a readable file") from None
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise InputError(f"{path}: line {line} holds a NUL byte: it must be a text file in UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        byte = data[error.start]
        raise InputError(f"{path}: line {line} holds the byte 0x{byte:02x}: it must be UTF-8 text") from None


def check_columns(columns: Mapping[str, Any]) -> None:
    """Refuse a column map with a name that is not ours or a file column that is not text."""
    for name, column in columns.items():
        if name not in COLUMNS:
            raise unknown_name("column", name, COLUMNS)
        if not isinstance(column, str) or not column.strip():
            raise InputError(f"{name} is {column!r}: it must be the name of a column of the file")
    doubled = [column for column in columns.values() if list(columns.values()).count(column) > 1]
    if doubled:
        raise InputError(f"columns names {doubled[0]!r} twice: a column of the file has one meaning")


def _rows(text: str, path: str) -> Iterator[tuple[int, list[str]]]:
    """Every row that is not blank, with the line of the file on which it begins."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    line = 1
    try:
        for row in reader:
            if len(row) > 1 or "".join(row).strip():
                yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"{path}: row {line} is not CSV ({error}): quotes must be closed") from None


def _find_columns(names: list[str], columns: Mapping[str, str] | None, place: str) -> dict[str, int]:
    """Where each of our columns stands in the file."""
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{place}, column {name!r} is there twice: every column must have its own name")
    chosen = dict(columns or {})
    check_columns(chosen)
    for name, column in chosen.items():
        if column not in names:
            raise InputError(f"{place}, {unknown_name(f'column (columns.{name})', column, names)}")
    for name in names:
        if name in COLUMNS and name not in chosen and name not in chosen.values():
            chosen[name] = name
        elif columns is None:
            error = unknown_name("column", name, COLUMNS)
            raise InputError(f"{place}, {error}; columns = {{...}} maps a file's own names")
    if "tokens" not in chosen and not {"prompt_tokens", "output_tokens"} <= set(chosen):
        raise InputError(
            f"{place} has the columns {', '.join(map(repr, names))}: there must be 'tokens', or both "
            "'prompt_tokens' and 'output_tokens' (columns = {...} maps a file's own names)"
        )
    return {name: names.index(column) for name, column in chosen.items()}


def _cells(
    rows: Iterator[tuple[int, list[str]]], names: list[str], found: Mapping[str, int], path: str
) -> tuple[list[int], dict[str, list[Any]]]:
    """The lines of the rows, and the cells of each of our columns: numbers, or text in `label`."""
    lines: list[int] = []
    cells: dict[str, list[Any]] = {name: [] for name in found}
    for line, row in rows:
        if len(row) != len(names):
            raise InputError(
                f"{path}: row {line} has {len(row)} values ({','.join(row)!r}): it must have {len(names)}, "
                "one for each column of the header"
            )
        lines.append(line)
        for name, index in found.items():
            cells[name].append(row[index])
    for name in found:
        if name != "label":
            cells[name] = [_number(cell) for cell in cells[name]]
    return lines, cells


def _number(cell: str) -> float | str:
    """The number that `cell` writes; text that is none stays text, for the check to refuse."""
    cell = cell.strip()
    if len(cell) < 16 and cell.isascii() and cell.isdigit():
        return int(cell)
    return float(cell) if _NUMBER.fullmatch(cell) else cell


def _join_output(cells: dict[str, list[Any]], place: Place) -> None:
    """Turn `output_tokens` into whichever of `tokens` and `prompt_tokens` the file leaves out."""
    output = whole_column("output_tokens", cells["output_tokens"], place, low=1)
    if "tokens" not in cells:
        prompt = whole_column("prompt_tokens", cells["prompt_tokens"], place, low=0)
        _refuse(prompt + output > MAX_TOKENS, output, place, f"at most {MAX_TOKENS:,} with the prompt's")
        cells["tokens"] = (prompt + output).tolist()
        return
    tokens = whole_column("tokens", cells["tokens"], place, low=1)
    _refuse(output > tokens, output, place, "at most the row's tokens")
    if "prompt_tokens" in cells:
        prompt = whole_column("prompt_tokens", cells["prompt_tokens"], place, low=0)
        _refuse(prompt + output != tokens, output, place, "tokens - prompt_tokens of its row")
    cells["prompt_tokens"] = (tokens - output).tolist()


def _refuse(bad: NDArray[np.bool_], output: NDArray[np.int64], place: Place, allowed: str) -> None:
    if bad.any():
        index = int(bad.argmax())
        raise InputError(f"{place('output_tokens', index)} is {output[index]}: it must be {allowed}")
