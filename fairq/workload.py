"""The requests of a run: when each arrives and how many tokens it takes.

A `Workload` holds arrays indexed by request id, 0 .. n-1 in the order given.  It is made
from arrays (`Workload.from_arrays`) or read from a file (`Workload.read`); both go
through the same checks, and an error says where the bad value stands.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from fairq.columns import Place, as_sequence, labels, require, times, whole_column
from fairq.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    from numpy.typing import NDArray

__all__ = ["Workload", "build"]


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

    def __post_init__(self) -> None:
        for name in _ARRAYS:
            getattr(self, name).setflags(write=False)

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

        Columns: request, arrival, tokens, prompt_tokens, output_tokens, lower, upper, label, billed_tokens.
        """
        names = ("tokens", "prompt_tokens", "output_tokens", "lower", "upper", "label", "billed_tokens")
        columns = {"request": np.arange(len(self)), "arrival": self.arrival}
        return pd.DataFrame(columns | {name: getattr(self, name) for name in names})

    def subset(self, keep: NDArray[np.bool_]) -> Workload:
        """The requests where `keep` is true, in their order, with new ids from 0.

        >>> Workload.from_arrays([5, 3, 4]).subset(np.array([True, False, True])).tokens.tolist()
        [5, 4]
        """
        return replace(self, **{name: getattr(self, name)[keep] for name in _ARRAYS})

    @classmethod
    def empty(cls, time_unit: str | None = None) -> Workload:
        """A workload without requests, as a random draw may leave it.

        >>> len(Workload.empty())
        0
        """
        none = np.zeros(0, dtype=np.int64)
        arrival, label = np.zeros(0), np.zeros(0, dtype=object)
        return cls(arrival, none, none, none, none, label, none, _checked_unit(time_unit))

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
        given = {
            "tokens": tokens,
            "arrival": arrival,
            "prompt_tokens": prompt_tokens,
            "lower": lower,
            "upper": upper,
            "label": label,
        }
        columns = {name: as_sequence(name, values) for name, values in given.items() if values is not None}
        if "tokens" not in columns:
            raise InputError("tokens is None: it must be a sequence of whole numbers >= 1")
        count = len(columns["tokens"])
        for name, values in columns.items():
            if len(values) != count:
                raise InputError(
                    f"{name} has {len(values)} values and tokens has {count}: they must be as many"
                )
        if count == 0:
            raise InputError("tokens is empty: a workload needs at least one request")
        return build(columns, lambda name, index: f"{name}[{index}]", time_unit)

    @classmethod
    def read(
        cls,
        path: str | PathLike[str],
        format: str | None = None,  # noqa: A002 -- the public contract's name
        columns: Mapping[str, str] | None = None,
        time_unit: str | None = None,
    ) -> Workload:
        r"""A workload from a file, a request per row in the file's order, times as they are.

        Parameters:
            path: a CSV file with a header: `arrival`, `tokens`, `prompt_tokens`, `output_tokens`,
                `lower`, `upper`, `label`.  It needs `tokens`, or both `prompt_tokens` and `output_tokens`.
            format: ``"csv"``, or None, which is the same.
            columns: from our column names to the file's, as ``{"arrival": "arrived_at"}``.  Own names
                that it leaves out are still found; the file's other columns are then left unread.
                Without it a column that is not ours is an error.
            time_unit: ``"s"``, ``"steps"`` or None, where the times say nothing of their unit.

        Raises:
            InputError: a file that cannot be read, or a row that is not allowed: the message names
                file, row (the line in the file, from 1), column, value and what is allowed.

        >>> from pathlib import Path
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "trace.csv")
        ...     _ = path.write_text("arrived_at,tokens\n0.25,7\n")
        ...     Workload.read(path, columns={"arrival": "arrived_at"}, time_unit="s").arrival.tolist()
        [0.25]
        """
        from fairq.reading import read_csv

        if format not in (None, "csv"):
            raise InputError(f"format is {format!r}: it must be 'csv' (or None, which is the same)")
        return read_csv(path, columns, _checked_unit(time_unit))


_ARRAYS = tuple(item.name for item in fields(Workload) if item.name != "time_unit")


def build(columns: Mapping[str, Any], place: Place, time_unit: str | None) -> Workload:
    """The workload of `columns` (equal lengths, `tokens` among them), every value checked.

    Raises:
        InputError: the first value of a column that is not allowed, named by `place`.
    """
    tokens = whole_column("tokens", columns["tokens"], place, low=1)
    count = len(tokens)
    prompt = np.zeros(count, dtype=np.int64)
    if "prompt_tokens" in columns:
        prompt = whole_column("prompt_tokens", columns["prompt_tokens"], place, low=0)
        allowed = "below tokens, which is {}: a request needs at least one output token"
        require(prompt < tokens, "prompt_tokens", prompt, tokens, place, allowed)
    lower = upper = tokens
    if "lower" in columns:
        lower = whole_column("lower", columns["lower"], place, low=1)
        require(lower <= tokens, "lower", lower, tokens, place, "at most tokens, which is {}")
    if "upper" in columns:
        upper = whole_column("upper", columns["upper"], place, low=1)
        require(upper >= tokens, "upper", upper, tokens, place, "at least tokens, which is {}")
    arrival = np.zeros(count)
    if "arrival" in columns:
        arrival = times(columns["arrival"], place)
    label = labels(columns.get("label"), count, place)
    return Workload(arrival, tokens, prompt, lower, upper, label, tokens, _checked_unit(time_unit))


def _checked_unit(time_unit: Any) -> str | None:
    if time_unit not in (None, "s", "steps"):
        raise InputError(f"time_unit is {time_unit!r}: it must be 's', 'steps' or None")
    return time_unit  # type: ignore[no-any-return]
