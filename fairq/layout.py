"""Which column of a file means what: a format that fits its header, or the one asked for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from fairq.errors import InputError, unknown_name
from fairq.formats import OWN, OWN_COLUMNS, Format, format_named
from fairq.recognition import recognise, refuse_others, sniffed, tells
from fairq.validation import shown

__all__ = ["Layout", "check_columns", "lay_out", "telling"]


@dataclass(frozen=True)
class Layout:
    """A format laid over a file.

    Attributes:
        format: which.
        found: the file's column for each of our names that is used.
        passed_over: the foreign format that the columns fit and that a map without a format goes over.
    """

    format: Format
    found: Mapping[str, str]
    passed_over: Format | None = None

    @property
    def own(self) -> bool:
        """Whether times and rows are taken as they are."""
        return self.format is OWN


def check_columns(columns: Any) -> None:
    """Refuse a column map that is none, or with a name that is not ours or a file column that is not text."""
    if not isinstance(columns, Mapping):
        raise InputError(
            f"columns is {shown(columns)}: it must be a mapping from our column names to the file's, as "
            "{'arrival': 'arrived_at'}"
        )
    for name, column in columns.items():
        if name not in OWN_COLUMNS:
            raise unknown_name("column", name, OWN_COLUMNS)
        if not isinstance(column, str) or not column.strip():
            raise InputError(f"{name} is {shown(column)}: it must be the name of a column of the file")
    doubled = [column for column in columns.values() if list(columns.values()).count(column) > 1]
    if doubled:
        raise InputError(f"columns names {doubled[0]!r} twice: a column of the file has one meaning")


def telling(format: str | None, columns: Mapping[str, str] | None) -> Callable[[str], bool]:  # noqa: A002
    """Which columns a later row of JSON must not bring, given what the caller said of the file.

    Where it must be recognised, all that has a say in it; else those that are read where they are there.
    """
    if format is None and columns is None:
        return tells
    chosen = OWN if format is None else format_named(format)
    return set(OWN_COLUMNS if chosen is OWN else chosen.optional.values()).__contains__


def lay_out(
    names: list[str],
    place: str,
    format: str | None,  # noqa: A002 - the public contract's name
    columns: Mapping[str, str] | None,
) -> Layout:
    """The layout of a file with the columns `names`.

    Parameters:
        names: as they stand in the file.
        place: how an error calls the header.
        format: a format's name; None recognises it, or takes our own where there are `columns`.
        columns: from our names to the file's, over the format's own.

    Raises:
        InputError: a column twice, an unknown format, or columns that are not there.
    """
    refuse_others(names, place)
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{place}, column {name!r} is there twice: every column must have its own name")
    check_columns(columns or {})
    for name, column in (columns or {}).items():
        if column not in names:
            raise InputError(f"{place}, {unknown_name(f'column (columns.{name})', column, names)}")
    if format is not None:
        chosen = format_named(format)
    else:
        chosen = recognise(names, place) if columns is None else OWN
    found = _own(names, place, columns) if chosen is OWN else _foreign(chosen, names, place, columns or {})
    used = {name: column for name, column in found.items() if name != "request"}
    return Layout(chosen, used, sniffed(names) if format is None and columns else None)


def _foreign(
    chosen: Format,
    names: Collection[str],
    place: str,
    columns: Mapping[str, str],
) -> dict[str, str]:
    for name, column in chosen.columns.items():
        if name not in columns and column not in names:
            raise InputError(
                f"{place}, column {column!r} is missing: the format {chosen.name!r} wants "
                f"{', '.join(chosen.columns.values())} (columns = {{...}} maps a file's own names)"
            )
    optional = {name: column for name, column in chosen.optional.items() if column in names}
    return {**chosen.columns, **optional, **columns}


def _own(names: list[str], place: str, columns: Mapping[str, str] | None) -> dict[str, str]:
    found = dict(columns or {})
    for name in names:
        if name in OWN_COLUMNS and name not in found and name not in found.values():
            found[name] = name
        elif columns is None:
            error = unknown_name("column", name, OWN_COLUMNS)
            raise InputError(f"{place}, {error}; columns = {{...}} maps a file's own names")
    if "tokens" not in found and not {"prompt_tokens", "output_tokens"} <= set(found):
        raise InputError(
            f"{place} has the columns {_short(', '.join(map(repr, names)))}: there must be 'tokens', or both "
            "'prompt_tokens' and 'output_tokens' (columns = {...} maps a file's own names)"
        )
    return found


def _short(text: str) -> str:
    return text if len(text) <= 300 else f"{text[:297]}..."
