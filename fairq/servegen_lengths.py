"""Length tables of a ServeGen client: counts of tokens with their probabilities, a table a window."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairq.columns import MAX_TOKENS
from fairq.errors import InputError
from fairq.textfile import read_text
from fairq.validation import shown

if TYPE_CHECKING:
    from os import PathLike

    from numpy.typing import NDArray

__all__ = ["Counts", "LengthTable", "read_lengths"]

_SLACK = 0.01
"""How far probabilities may add up beside 1; they are then scaled."""


@dataclass(frozen=True)
class Counts:
    """A law on whole numbers of tokens: `values` ascending, and the probability of at most each."""

    values: NDArray[np.int64]
    cumulative: NDArray[np.float64]

    @property
    def mean(self) -> float:
        """Its mean in tokens, NaN of an empty table."""
        if len(self.values) == 0:
            return float("nan")
        return float(self.values @ np.diff(self.cumulative, prepend=0.0))

    def tokens(self, uniforms: NDArray[np.float64]) -> NDArray[np.int64]:
        """A count for each uniform, by the inverse distribution function."""
        place = np.searchsorted(self.cumulative, uniforms, side="left")
        return self.values[np.minimum(place, len(self.values) - 1)]


@dataclass(frozen=True)
class LengthTable:
    """Input and output tokens from `start` (s) to the next table's start."""

    start: float
    input: Counts
    output: Counts

    @property
    def idle(self) -> bool:
        """Whether nothing was seen in the window."""
        return len(self.input.values) == 0 or len(self.output.values) == 0


def read_lengths(path: str | PathLike[str]) -> tuple[LengthTable, ...]:
    """The tables of a ``*-dataset.json``, by start.

    Raises:
        InputError: the file cannot be read, is not such JSON, or a table is not allowed.
    """
    content = read_text(path)
    try:
        windows = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON: {' '.join(str(error).split())}") from None
    if not isinstance(windows, dict) or not windows:
        raise InputError(f"{path} must be a JSON object with a start of a window (s) for each key")
    tables = []
    for key, window in windows.items():
        place = f"{path}: window {shown(key)}"
        if not (key.isascii() and key.isdigit() and len(key) < 16 and isinstance(window, Mapping)):
            raise InputError(f"{place}: it must be a whole number of seconds, and hold an object")
        input_counts, output_counts = (
            _counts(window.get(name), f"{place}, {name}", low)
            for name, low in (("input_tokens", 0), ("output_tokens", 1))
        )
        tables.append(LengthTable(float(key), input_counts, output_counts))
    return tuple(sorted(tables, key=lambda table: table.start))


def _counts(text: Any, place: str, low: int) -> Counts:
    """The law that a text holding a Python dict writes; read as a literal, never evaluated."""
    try:
        table = ast.literal_eval(text) if isinstance(text, str) else None
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        table = None
    if not isinstance(table, dict):
        raise InputError(
            f"{place} is {shown(text)}: it must be text that writes a dict of tokens to probabilities"
        )
    for value, share in table.items():
        if type(value) is not int or not low <= value <= MAX_TOKENS:
            raise InputError(f"{place}: {shown(value)} must be a whole number from {low} to {MAX_TOKENS:,}")
        if not isinstance(share, (int, float)) or not 0 <= share <= 1 + _SLACK:
            raise InputError(f"{place}: the probability of {value} is {shown(share)}: it must be from 0 to 1")
    values = np.array(sorted(table), dtype=np.int64)
    cumulative = np.cumsum([float(table[value]) for value in values.tolist()])
    if len(values) and abs(cumulative[-1] - 1) > _SLACK:
        raise InputError(f"{place}: the probabilities add up to {float(cumulative[-1])!r}: it must be 1")
    return Counts(values, cumulative / cumulative[-1] if len(values) else cumulative)
