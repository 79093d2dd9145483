"""A file of rows, read in pieces: CSV, JSON lines, a JSON list or Parquet, told apart by content.

Every kind offers the same: the names of its columns, pieces of the wanted ones, and how an error
calls a row.  Values stay as the file has them: text from CSV, Python values from JSON, arrays from
Parquet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, Protocol

from fairq.csvtable import CsvTable
from fairq.jsontable import json_table
from fairq.recognition import tells as telling_name
from fairq.textfile import first_bytes, open_text

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["Piece", "Table", "open_table"]

Piece = Mapping[str, Any]
"""Values of some rows: a list or array for each wanted column of the file, all as long."""


class Table(Protocol):
    """A file of rows.

    Attributes:
        names: of the columns.
        header: how an error calls the place where the names stand.
        blank: blank lines passed over so far.
        binary: whether it is no text file.
    """

    names: list[str]
    header: str
    blank: int
    binary: bool

    def pieces(self, wanted: Sequence[str]) -> Iterator[Piece]:
        """The rows in order, cut into pieces, of the columns `wanted`."""
        ...

    def row(self, index: int) -> str:
        """How an error calls row `index` (from 0)."""
        ...


@contextmanager
def open_table(path: str | PathLike[str], tells: Callable[[str], bool] = telling_name) -> Iterator[Table]:
    """The rows of the file at `path`, to be read while the context lasts.

    Parameters:
        path: the file.
        tells: whether a later row of JSON must not bring a column of this name, if the first has none.

    Raises:
        InputError: a file that cannot be read or has no rows to find.
    """
    if first_bytes(path, 4) == b"PAR1":
        from fairq.parquet import ParquetTable

        with ParquetTable.open(path) as table:
            yield table
        return
    with open_text(path) as text:
        first = _first_line(text)
    with open_text(path) as text:
        if first.lstrip()[:1] in ("{", "["):
            yield json_table(text, str(path), first, tells)
        else:
            yield CsvTable(text, str(path))


def _first_line(text: IO[str]) -> str:
    while line := text.readline(1 << 24):
        if line.strip():
            return line
    return ""
