"""The requests of a run: when each arrives and how many tokens it takes.

A `Workload` holds arrays indexed by request id, 0 .. n-1 in the order given.  It is made
from arrays (`Workload.from_arrays`) or read from a file (`Workload.read`); both go
through the same checks, and an error says where the bad value stands.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairq import resampling, reshaping
from fairq import terms as terms_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    from numpy.typing import NDArray

    from fairq.source import Source
    from fairq.terms import Terms

__all__ = ["Workload"]


@dataclass(frozen=True, eq=False)
class Workload:
    """Requests with their arrivals and token counts, checked and read-only.

    Make one with `from_arrays`, `read` or `empty`.

    Attributes:
        arrival: release times, float64, in `time_unit` (0 on a backlog).
        tokens: steps that a request takes, prompt and output together, int64.
        prompt_tokens: how many of them are prompt; 0 where no split is known (all is output).
        lower, upper: the interval that a policy may be told instead of `tokens`, int64;
            equal to `tokens` where none was given.
        label: a text for each request, ``""`` where none was given.
        billed_tokens: tokens that are paid for, int64.
        time_unit: ``"s"``, ``"steps"``, or None where the arrivals say nothing of their unit.
        prompt_chunk: prompt tokens that one step processes; 1 is the paper's model (`chunk_prompt`).
        measured: what a trace says was measured, in seconds, by column; NaN where nothing was.
        source: how the file was read, None without one.
        widened: where a prediction missed the truth, and its interval was widened to it; None without any.
        terms: price and SLA of the requests of a label (`with_terms`).

    >>> w = Workload.from_arrays(tokens=[12, 8, 2], arrival=[0, 0.5, 0.5])
    >>> len(w), w.upper.tolist()
    (3, [12, 8, 2])
    """

    arrival: NDArray[np.float64]
    tokens: NDArray[np.int64]
    prompt_tokens: NDArray[np.int64]
    lower: NDArray[np.int64]
    upper: NDArray[np.int64]
    label: NDArray[np.object_]
    billed_tokens: NDArray[np.int64]
    time_unit: str | None = None
    prompt_chunk: int = 1
    measured: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    source: Source | None = None
    widened: NDArray[np.bool_] | None = None
    terms: Mapping[str, Terms] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for values in (*(getattr(self, name) for name in _ARRAYS), *self.measured.values(), self.widened):
            if values is not None:
                values.setflags(write=False)

    def __getstate__(self) -> dict[str, Any]:
        """What another process is sent: labels as a number each, so that all columns are plain memory."""
        state = {name: value for name, value in self.__dict__.items() if name != "_coded_labels"}
        return state | {"label": self._coded_labels}

    def __setstate__(self, state: dict[str, Any]) -> None:
        codes, labels = state["label"]
        self.__dict__.update(state | {"label": labels[codes]})
        self.__post_init__()

    @cached_property
    def _coded_labels(self) -> tuple[NDArray[np.int32], NDArray[np.object_]]:
        """The place of each request's label among the different ones, and those."""
        codes, labels = pd.factorize(self.label)
        return codes.astype(np.int32), labels

    def __len__(self) -> int:
        return len(self.tokens)

    def __repr__(self) -> str:
        return (
            f"Workload({len(self)} requests, {int(self.tokens.sum())} tokens, time_unit={self.time_unit!r})"
        )

    @property
    def output_tokens(self) -> NDArray[np.int64]:
        """Tokens after the prompt, at least 1."""
        return self.tokens - self.prompt_tokens

    @property
    def frame(self) -> pd.DataFrame:
        """A table of its own with a row per request.

        Columns: request, arrival, tokens, prompt_tokens, output_tokens, lower, upper, label, billed_tokens,
        and those of `measured`.
        """
        names = ("tokens", "prompt_tokens", "output_tokens", "lower", "upper", "label", "billed_tokens")
        columns = {"request": np.arange(len(self)), "arrival": self.arrival}
        return pd.DataFrame(columns | {name: getattr(self, name) for name in names} | dict(self.measured))

    def subset(self, keep: NDArray[np.bool_] | NDArray[np.int64]) -> Workload:
        """The requests where `keep` is true, or at the places it lists, in that order, with new ids from 0.

        >>> Workload.from_arrays([5, 3, 4]).subset(np.array([True, False, True])).tokens.tolist()
        [5, 4]
        """
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        kept = {id(values): values[keep] for values in arrays.values()}  # what was one array stays one
        columns = {name: kept[id(values)] for name, values in arrays.items()}
        measured = {name: values[keep] for name, values in self.measured.items()}
        widened = None if self.widened is None else self.widened[keep]
        return replace(self, **columns, measured=measured, widened=widened)

    @classmethod
    def empty(cls, time_unit: str | None = None) -> Workload:
        """A workload without requests, as a random draw may leave it.

        >>> len(Workload.empty())
        0
        """
        from fairq.building import checked_unit

        none = np.zeros(0, dtype=np.int64)
        arrival, label = np.zeros(0), np.zeros(0, dtype=object)
        return cls(arrival, none, none, none, none, label, none, checked_unit(time_unit))

    @classmethod
    def from_arrays(
        cls,
        tokens: Any,
        arrival: Any = None,
        prompt_tokens: Any = None,
        lower: Any = None,
        upper: Any = None,
        label: Any = None,
        time_unit: str | None = None,
    ) -> Workload:
        """A workload from lists, tuples, numpy arrays or pandas series of equal length.

        Parameters:
            tokens: whole numbers from 1 to 100,000,000 (5.0 counts as 5).
            arrival: finite times >= 0, in any order; None: a backlog, all at 0.
            prompt_tokens: whole numbers >= 0 and below `tokens`; None: no split, all is output.
            lower, upper: whole numbers with lower <= tokens <= upper; None: equal to `tokens`.
            label: texts; None, whole or single: ``""``.
            time_unit: ``"s"``, ``"steps"`` or None.

        Raises:
            InputError: no requests at all, or a value that is not allowed: the message names the
                argument, the index, the value and what is allowed.

        >>> Workload.from_arrays(tokens=[3, 0.5])
        Traceback (most recent call last):
        fairq.errors.InputError: tokens[1] is 0.5: it must be a whole number from 1 to 100,000,000
        """
        from fairq.building import from_arrays

        given = {"tokens": tokens, "arrival": arrival, "prompt_tokens": prompt_tokens}
        return from_arrays(given | {"lower": lower, "upper": upper, "label": label}, time_unit)

    @classmethod
    def read(
        cls,
        path: str | PathLike[str],
        format: str | None = None,  # noqa: A002 -- the public contract's name
        columns: Mapping[str, str] | None = None,
        time_unit: str | None = None,
        zero: str | None = None,
        ties: str = "keep",
    ) -> Workload:
        r"""A workload from a trace: CSV, JSON lines, a JSON list or Parquet, gzipped or not.

        The format is known by its columns (docs/traces.md has the table); `source` says how it was read.
        Times of our own columns, and of any mapped by `columns` alone, are taken as they are, rows in the
        file's order.  Times of other formats become seconds from the first arrival, rows in order of
        arrival.

        Parameters:
            path: the file.
            format: a format's name, as ``"azure"``, where the columns do not tell; ``"csv"`` is our own.
            columns: from our column names to the file's, as ``{"arrival": "arrived_at"}``.  Names that it
                leaves out are those of `format`, without one our own; other columns are left unread.
            time_unit: ``"s"``, ``"steps"`` or None, where the times say nothing of their unit.
            zero: rows without output tokens: ``"drop"`` leaves them out, ``"keep"`` counts one token,
                ``"refuse"`` is an error.  None: refused in our own format, else dropped.
            ties: equal arrivals: ``"keep"``, or ``"spread"`` evenly inside their bucket, which is the
                least gap between two different times of the file.

        Raises:
            InputError: a file that cannot be read, or a row that is not allowed: the message names
                file, row (the line in the file, from 1), column, value and what is allowed.

        Warns:
            ReadWarning: rows were dropped, kept as one token, sorted or spread; the message counts them.

        >>> from pathlib import Path
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "trace.csv")
        ...     _ = path.write_text("arrived_at,num_prefill_tokens,num_decode_tokens\n0.25,374,44\n")
        ...     Workload.read(path).tokens.tolist()
        [418]
        """
        from fairq.reading import read_workload

        return read_workload(path, format, columns, time_unit, zero, ties)

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write our own format, which `read` reads back to the same workload, bit for bit.

        Raises:
            InputError: the workload is empty, a label cannot be written as UTF-8, or the file cannot be.
        """
        from fairq.own import write_csv

        write_csv(self, path)

    as_backlog = reshaping.as_backlog
    in_steps = reshaping.in_steps
    at_rate = reshaping.at_rate
    window = reshaping.window
    bootstrap = resampling.bootstrap
    lengths = resampling.lengths
    chunk_prompt = reshaping.chunk_prompt
    with_terms = terms_of.with_terms


_ARRAYS = ("arrival", "tokens", "prompt_tokens", "lower", "upper", "label", "billed_tokens")
