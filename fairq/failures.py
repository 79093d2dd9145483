"""Rows of a trace that are no request that was served: without output, or aborted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairq.columns import Place
from fairq.errors import InputError
from fairq.source import counted

__all__ = ["ABORTED", "NOTHING", "Failures", "failures"]

NOTHING, ABORTED = "no output tokens", "aborted"
"""Why a row may be no request that was served."""

_SAID = {NOTHING: "without output tokens", ABORTED: ABORTED}


@dataclass(frozen=True)
class Failures:
    """Which rows failed, by reason, each row once.  True where any did."""

    rows: Mapping[str, NDArray[np.bool_]]

    def __bool__(self) -> bool:
        return any(marks.any() for marks in self.rows.values())

    def count(self, reason: str) -> int:
        """How many failed for `reason`."""
        return int(self.rows[reason].sum())

    def counts(self) -> dict[str, int]:
        """How many failed, by reason; reasons of none are left out."""
        return {reason: self.count(reason) for reason in self.rows if self.count(reason)}

    def left(self, path: str) -> NDArray[np.int64]:
        """The rows that did not fail.

        Raises:
            InputError: all did; the message names the file and counts.
        """
        left = np.flatnonzero(~np.logical_or.reduce(list(self.rows.values())))
        if len(left) == 0:
            total = len(self.rows[NOTHING])
            said = ", ".join(f"{number:,} {_SAID[reason]}" for reason, number in self.counts().items())
            raise InputError(
                f"{path}: none of its {counted(total, 'row')} is usable ({said}): there must be at least one "
                "(zero = 'keep' keeps such a row, with at least one output token)"
            )
        return left

    def notices(self, zero: str) -> tuple[str, ...]:
        """What is to be said of aborted requests that were kept."""
        if zero != "keep" or not self.count(ABORTED):
            return ()
        return (f"{counted(self.count(ABORTED), 'aborted request')} kept with the tokens asked for",)


def failures(
    columns: Mapping[str, Any], empty: NDArray[np.bool_], place: Place, aborts: bool, zero: str
) -> Failures:
    """The failures of a file's rows.

    Parameters:
        columns: the file's, by our names.
        empty: which rows have no output tokens.
        place: how an error names a value.
        aborts: whether a missing time to the first token means that the request was aborted.
        zero: what is done with such rows.

    Raises:
        InputError: a row was aborted, and `zero` is ``"refuse"``.
    """
    first = columns.get("measured_ttft")
    aborted = np.zeros(len(empty), dtype=bool)
    if aborts and first is not None:
        aborted = np.isnan(first)
    if zero == "refuse" and aborted.any():
        where = place("measured_ttft", int(aborted.argmax()))
        raise InputError(f"{where} says that the request was aborted: with zero = 'refuse' none may be")
    return Failures({NOTHING: empty, ABORTED: aborted & ~empty})
