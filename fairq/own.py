"""Our own trace format: a CSV file that reads back to the same workload, bit for bit."""

from __future__ import annotations

import csv
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np

from fairq.columns import Place, labels
from fairq.errors import InputError
from fairq.textfile import as_path

if TYPE_CHECKING:
    from os import PathLike

    from fairq.workload import Workload

__all__ = ["chunk_of", "unit_of", "write_csv"]

_ROWS = 1 << 16


def write_csv(workload: Workload, path: str | PathLike[str]) -> None:
    """Write `workload` to `path`; see `fairq.Workload.to_csv`."""
    if len(workload) == 0:
        raise InputError("the workload is empty: a trace has at least one request")
    labels(workload.label, len(workload), lambda name, request: f"{name}[{request}]")
    columns, file = _columns(workload), as_path(path)
    try:
        with file.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)  # whose line end is \r\n: so it quotes both
            writer.writerow(columns)
            for start in range(0, len(workload), _ROWS):
                part = slice(start, start + _ROWS)
                writer.writerows(
                    zip(*(_texts(name, column[part]) for name, column in columns.items()), strict=True)
                )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(f"{str(path)!r} cannot be written: {reason}") from None


def _columns(workload: Workload) -> dict[str, Any]:
    """The columns to write: those that say more than the default, in our usual order."""
    count = len(workload)
    columns: dict[str, Any] = {"arrival": workload.arrival, "tokens": workload.tokens}
    columns["prompt_tokens"] = workload.prompt_tokens
    for name in ("lower", "upper"):
        if not np.array_equal(getattr(workload, name), workload.tokens):
            columns[name] = getattr(workload, name)
    if any(workload.label):
        columns["label"] = workload.label
    if workload.prompt_chunk != 1:
        columns["billed_tokens"] = workload.billed_tokens
        columns["prompt_chunk"] = np.full(count, workload.prompt_chunk)
    if workload.time_unit is not None:
        columns["time_unit"] = np.full(count, workload.time_unit, dtype=object)
    return columns | dict(workload.measured)


def _texts(name: str, values: Any) -> list[Any]:
    """Floats by the fewest digits, at most 17, that give the same float again; nothing for NaN."""
    if name.startswith("measured"):
        return ["" if isnan(value) else repr(value) for value in values.tolist()]
    return [repr(value) for value in values.tolist()] if name == "arrival" else values.tolist()


def unit_of(columns: dict[str, Any], given: str | None, place: Place) -> str | None:
    """The unit of time that the file's column says on every row, or else the `given` one."""
    texts = columns.pop("time_unit", None)
    if texts is None:
        return given
    first = texts[0]
    for index, text in enumerate(texts):
        if text not in ("s", "steps") or text != first:
            allowed = f"{first!r}, as in the first row" if first in ("s", "steps") else "'s' or 'steps'"
            raise InputError(f"{place('time_unit', index)} is {text!r}: it must be {allowed}")
    if given not in (None, first):
        raise InputError(f"time_unit is {given!r}, but {place('time_unit', 0)} is {first!r}: they must agree")
    return str(first)


def chunk_of(columns: dict[str, Any], place: Place) -> int:
    """The prompt chunk that the file's column says on every row, 1 without it.

    Raises:
        InputError: it differs between rows, or tokens, prompt and billed tokens do not fit it.
    """
    chunks, tokens = columns.get("prompt_chunk"), columns["tokens"]
    chunk = 1 if chunks is None else int(chunks[0])
    if chunks is not None:
        _refuse(chunks != chunk, "prompt_chunk", chunks, place, f"{chunk}, as in the first row")
    billed = columns.get("billed_tokens")
    if billed is None:
        if chunk != 1:
            raise InputError(
                f"{place('prompt_chunk', 0)} is {chunk}: a file with it must have billed_tokens too"
            )
        return chunk
    prompt = columns.get("prompt_tokens", np.zeros_like(tokens))
    unchunked = billed - (tokens - prompt)
    fits = (unchunked >= 0) & (-(-unchunked // chunk) == prompt)
    allowed = f"output tokens and a prompt that takes prompt_tokens steps of {chunk} tokens"
    _refuse(~fits, "billed_tokens", billed, place, allowed)
    return chunk


def _refuse(bad: Any, name: str, values: Any, place: Place, allowed: str) -> None:
    if bad.any():
        index = int(bad.argmax())
        raise InputError(f"{place(name, index)} is {values[index]}: it must be {allowed}")
