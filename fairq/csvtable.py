"""Rows of a CSV file, in pieces, with the line on which each begins where an error asks for it."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import itemgetter
from typing import IO, Any

from fairq.errors import InputError
from fairq.textfile import open_text

__all__ = ["CsvTable", "full_rows"]

_ROWS = 1 << 13
"""Rows of a piece."""

LONGEST = 1 << 24
"""The most characters of a value."""

_SEPARATORS = {";": "';'", "\t": "a tab", "|": "'|'"}


class CsvTable:
    """Rows of comma-separated values under a header."""

    binary = False

    def __init__(self, text: IO[str], path: str) -> None:
        self.path = path
        self.blank = 0
        self._reader = _reader(text)
        header = next(_full_rows(self._reader, path), None)
        if header is None:
            raise InputError(f"{path} is empty: it must be a CSV file with a header and a row per request")
        self.header = f"row {header[0]}"
        self.names = [name.strip() for name in header[1]]
        _check_separator(self.names, f"{path}: {self.header}")

    def pieces(self, wanted: Sequence[str]) -> Iterator[Mapping[str, Any]]:
        """The rows in order, as texts.

        Raises:
            InputError: a row with too few or too many values, or quotes that are not closed.
        """
        width, seen = len(self.names), 0
        places = {name: itemgetter(self.names.index(name)) for name in wanted}
        while rows := self._next():
            lengths = set(map(len, rows))
            if lengths != {width}:
                odd = next(index for index, row in enumerate(rows) if len(row) != width)
                values = ",".join(rows[odd])
                raise InputError(
                    f"{self.path}: {self.row(seen + odd)} has {len(rows[odd])} values ({_short(values)!r}): "
                    f"it must have {width}, one for each column of the header"
                )
            seen += len(rows)
            yield {name: list(map(place, rows)) for name, place in places.items()}

    def _next(self) -> list[list[str]]:
        """The next rows that are not blank; none at the end of the file."""
        while True:
            try:
                rows = list(islice(self._reader, _ROWS))
            except csv.Error:
                for _ in self._again():  # meets the same error, and knows on which line its row began
                    pass
                raise InputError(f"{self.path} is not CSV") from None
            full = rows if min(map(len, rows), default=2) > 1 else [row for row in rows if _is_full(row)]
            self.blank += len(rows) - len(full)
            if full or not rows:
                return full

    def row(self, index: int) -> str:
        """How an error calls row `index`: by the line on which it begins, found by reading once more."""
        line, _ = next(islice(self._again(), index + 1, None))
        return f"row {line}"

    def _again(self) -> Iterator[tuple[int, list[str]]]:
        """Every row from the header on, with the line on which it begins, read once more."""
        with open_text(self.path) as text:
            yield from full_rows(text, self.path)


def full_rows(text: Iterable[str], path: str) -> Iterator[tuple[int, list[str]]]:
    """Every row of comma-separated text that is not blank, with the line of the file on which it begins.

    Raises:
        InputError: quotes that are not closed, or a value of more than `LONGEST` characters.
    """
    return _full_rows(_reader(text), path)


def _reader(text: Iterable[str]) -> Any:
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST))  # one for the process: never lowered
    return csv.reader(text, strict=True)


def _check_separator(names: list[str], place: str) -> None:
    """Refuse a header whose values are separated by something else than commas."""
    for sign, called in _SEPARATORS.items():
        if len(names) == 1 and sum(bool(part.strip()) for part in names[0].split(sign)) > 1:
            raise InputError(
                f"{place} is {_short(names[0])!r}, separated by {called}: the separator of a CSV file must "
                "be a comma"
            )


def _full_rows(reader: Any, path: str) -> Iterator[tuple[int, list[str]]]:
    line = 1
    try:
        for row in reader:
            if _is_full(row):
                yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        must = "quotes must be closed"
        if "limit" in str(error):
            must = f"a value must have at most {LONGEST:,} characters, and {must}"
        raise InputError(f"{path}: row {line} is not CSV ({error}): {must}") from None


def _is_full(row: list[str]) -> bool:
    return len(row) > 1 or bool("".join(row).strip())


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}..."
