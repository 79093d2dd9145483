"""Which format a file's columns are of, and what is well known and no list of requests."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from fairq.errors import InputError
from fairq.formats import (
    FORMATS,
    OWN,
    OWN_COLUMNS,
    PAIR,
    SERVEGEN_FAMILIES,
    SERVEGEN_FIELDS,
    Format,
)

__all__ = ["recognise", "refuse_dataset", "refuse_others", "sniffed", "tells"]

_LIKE_TIME = re.compile("time|stamp|arriv", re.IGNORECASE)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_TIME_WORDS = {
    "at", "begin", "clock", "created", "date", "day", "epoch", "hour", "ms", "ns", "received", "sec",
    "second", "seconds", "sent", "start", "t", "ts", "us", "when",
}  # fmt: skip

_TELLING = {
    *OWN_COLUMNS, "conversations", "sub_requests",
    *(name for layout in FORMATS.values() for name in (*layout.columns.values(), *layout.marks)),
    *(name for layout in FORMATS.values() for name in layout.optional.values()),
} - {*PAIR}  # fmt: skip


def refuse_others(names: Collection[str], place: str) -> None:
    """Refuse what is well known and no list of requests, with what to do about it.

    Raises:
        InputError: ServeGen clients, sessions of LLMServingSim, texts.
    """
    columns = list(names)
    if len(columns) == SERVEGEN_FIELDS and columns[3] in SERVEGEN_FAMILIES:
        raise InputError(
            f"{place} is that of a ServeGen client, which is statistics and not requests: it must be given "
            "to a scenario, as arrivals = { kind = 'servegen', path = ... }"
        )
    if "sub_requests" in columns:
        raise InputError(
            f"{place}, column 'sub_requests': sessions, whose requests wait for each other, are no list of "
            "arrivals: it must have a time for each request"
        )
    if "conversations" in columns:
        raise InputError(f"{place}, column 'conversations': it must hold token counts, and this is text")


def refuse_dataset(document: object, path: str) -> None:
    """Refuse the JSON document of a ServeGen dataset, and say which file goes with it.

    Raises:
        InputError: it is one.
    """
    if not (isinstance(document, Mapping) and document and all(str(key).isdigit() for key in document)):
        return
    if any(isinstance(window, Mapping) and "input_tokens" in window for window in document.values()):
        trace = re.sub(r"dataset\.json$", "trace.csv", path)
        named = f", as {trace}" if trace != path else ""
        raise InputError(
            f"{path} is the dataset of a ServeGen client: it must be given by its *-trace.csv{named}"
        )


def recognise(names: Collection[str], place: str) -> Format:
    """The format of a file with the columns `names`.

    Raises:
        InputError: none fits; the message has every format tried and the columns it wanted.

    >>> recognise(["TIMESTAMP", "ContextTokens", "GeneratedTokens"], "row 1").name
    'azure'
    """
    if "tokens" in names or {"prompt_tokens", "output_tokens"} <= set(names):
        return OWN
    found = sniffed(names)
    if found is not None:
        if found.unit is None:
            _refuse_times(found, names, place)
        return found
    if any(name in OWN_COLUMNS for name in names):
        return OWN  # whose own check says what is amiss
    raise InputError(f"{place}, {_unknown(list(names))}")


def sniffed(names: Collection[str]) -> Format | None:
    """The foreign format that the columns `names` fit, None without one."""
    return next((layout for layout in FORMATS.values() if layout.sniffed and layout.fits(names)), None)


def tells(name: str) -> bool:
    """Whether a column called `name` would have had a say in how the file is read.

    >>> tells("arrived_at"), tells("sent_ts"), tells("note")
    (True, True, False)
    """
    return name in _TELLING or _is_like_time(name)


def _is_like_time(name: str) -> bool:
    words = {word.lower() for word in _WORD.findall(name)}
    return _LIKE_TIME.search(name) is not None or not _TIME_WORDS.isdisjoint(words)


def _refuse_times(found: Format, names: Collection[str], place: str) -> None:
    """Refuse a file of lengths in which another column seems to hold the times.

    To read it as a backlog would lose them, silently.
    """
    like = [
        name for name in names
        if name not in found.columns.values() and name not in found.optional.values() and _is_like_time(name)
    ]  # fmt: skip
    if not like:
        return
    first, prompt, output = like[0], *(found.columns[name] for name in ("prompt_tokens", "output_tokens"))
    timed = {layout.name: layout for layout in FORMATS.values() if layout.unit is not None}
    lengths = set(found.columns.values())
    named = [name for name, layout in timed.items() if lengths <= set(layout.columns.values())]
    known = [f"format = {name!r} (times in {timed[name].unit})" for name in named]
    ways = [f"columns = {{arrival = {first!r}}} with {' or '.join(known)}"] if known else []
    own = {"arrival": first, "prompt_tokens": prompt, "output_tokens": output}
    ways.append(
        f"columns = {{{', '.join(f'{ours} = {theirs!r}' for ours, theirs in own.items())}}} as they are"
    )
    raise InputError(
        f"{place}, column {first!r} seems to hold times, and is none that a format with {prompt!r} and "
        f"{output!r} knows: how to read it must be said ({', or '.join(ways)}), or format = {found.name!r}, "
        "which leaves it unread: a backlog"
    )


def _unknown(names: list[str]) -> str:
    if not names:
        return "no columns at all: there must be those of a known format (docs/traces.md)"
    tried = "; ".join(
        f"{layout.name}: {layout.wanted}"
        for layout in FORMATS.values()
        if layout.sniffed and layout.name != "pairs"
    )
    shown = ", ".join(repr(name) for name in names[:12]) + (", ..." if len(names) > 12 else "")
    return (
        f"unknown column{'s' if len(names) > 1 else ''} {_short(shown)}: they must be those of a known "
        f"format (csv: tokens, or prompt_tokens, output_tokens; {tried}); "
        "format = and columns = {...} override"
    )


def _short(text: str) -> str:
    return text if len(text) <= 300 else f"{text[:297]}..."
