"""Rows of a JSON file: a row a line, or one document that holds a list of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import IO, Any

from fairq.errors import InputError
from fairq.formats import PAIR
from fairq.recognition import refuse_dataset

__all__ = ["JsonTable", "json_table"]

_ROWS = 1 << 14
"""Rows of a piece."""


class JsonTable:
    """Rows that are JSON objects, or lists [prompt, output]; `records` come with their row number.

    The columns are those of the first row.  A later row must not bring one more for which `tells` is true:
    with it the file would have been read otherwise.
    """

    header = "row 1"
    binary = False

    def __init__(
        self, records: Iterator[tuple[int, Any]], path: str, first: Any, tells: Callable[[str], bool]
    ) -> None:
        self.path = path
        self._tells = tells
        self.blank = 0
        self._records = records
        self._numbers: list[int] = []
        self.names = list(first) if isinstance(first, dict) else list(PAIR)
        self._seen = set(self.names)

    def pieces(self, wanted: Sequence[str]) -> Iterator[Mapping[str, Any]]:
        """The rows in order, as Python values, None where a row has no such column.

        Raises:
            InputError: a row that is no JSON, or neither an object nor a list [prompt, output], or that
                brings a column which the first row should have had.
        """
        while batch := list(islice(self._records, _ROWS)):
            self._numbers.extend(number for number, _ in batch)
            rows = [self._checked(number, record) for number, record in batch]
            self._check_new(batch, set().union(*rows) - self._seen)
            yield {name: [row.get(name) for row in rows] for name in wanted}
        self.blank = (self._numbers[-1] if self._numbers else 0) - len(self._numbers)

    def _checked(self, number: int, record: Any) -> Mapping[str, Any]:
        if isinstance(record, dict):
            return record
        if isinstance(record, list) and len(record) == len(PAIR):
            return dict(zip(PAIR, record, strict=True))
        raise InputError(
            f"{self.path}: row {number} is {_short(json.dumps(record))}: it must be an object, or a list "
            "[prompt, output]"
        )

    def _check_new(self, batch: list[tuple[int, Any]], fresh: set[str]) -> None:
        self._seen |= fresh
        telling = {name for name in fresh if self._tells(name)}
        for number, record in batch if telling else ():
            name = (
                next((name for name in record if name in telling), None) if isinstance(record, dict) else None
            )
            if name is not None:
                raise InputError(
                    f"{self.path}: row {number} has the column {name!r}, which {self.header} has not: the "
                    "first row must have every column (null where it has no value)"
                )

    def row(self, index: int) -> str:
        """How an error calls row `index`: by its line, or its number in the list."""
        return f"row {self._numbers[index]}"


def json_table(text: IO[str], path: str, first: str, tells: Callable[[str], bool]) -> JsonTable:
    """JSON lines where the first line is a row by itself, else one JSON document with the rows inside.

    Parameters:
        tells: whether a later row must not bring a column of this name (`JsonTable`).
    """
    try:
        record = _parse(first, path, 1)
    except InputError:
        record = None
    if record is None or _inner(record) is not None or _is_document(record):
        return _document_table(text.read(), path, tells)
    refuse_dataset(record, path)
    return JsonTable(_lines(text, path), path, record, tells)


def _is_document(record: Any) -> bool:
    """Whether a first line is a whole list of rows."""
    return isinstance(record, list) and not (
        len(record) == len(PAIR) and all(isinstance(entry, (int, float)) for entry in record)
    )


def _document_table(content: str, path: str, tells: Callable[[str], bool]) -> JsonTable:
    document = _parse(content, path, 1)
    refuse_dataset(document, path)
    inner = _inner(document)
    entries = document if inner is None else inner
    if not isinstance(entries, list) or not entries:
        what = "an empty list" if entries == [] else "no list of requests"
        raise InputError(
            f"{path} holds {what}: it must be JSON lines, or a list of objects or of [prompt, output]"
        )
    return JsonTable(iter(enumerate(entries, start=1)), path, entries[0], tells)


def _inner(document: Any) -> Any:
    """The list of requests inside an object: of a VTC result, or under ``data`` or ``requests``."""
    if not isinstance(document, dict):
        return None
    result = document.get("result")
    places = [result.get("responses") if isinstance(result, dict) else None]
    places += [document.get("data"), document.get("requests")]
    return next((place for place in places if isinstance(place, list)), None)


def _lines(text: Iterable[str], path: str) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(text, start=1):
        if line.strip():
            yield number, _parse(line, path, number)


def _parse(content: str, path: str, row: int) -> Any:
    try:
        return json.loads(content, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        line = row + error.lineno - 1
        raise InputError(f"{path}: row {line}, character {error.colno} is not JSON: {error.msg}") from None
    except InputError as error:
        raise InputError(f"{path}: row {row}, {error}") from None
    except RecursionError:
        raise InputError(f"{path}: row {row} is JSON nested too deeply: it must be a flat object") from None
    except ValueError:  # a whole number of thousands of digits
        raise InputError(f"{path}: row {row} holds a number that is too long: it must be a number") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"column {twice!r} is there twice: every column must have its own name")
    return record


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}..."
