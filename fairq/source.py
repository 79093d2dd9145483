"""Where a workload came from, and what was done to it on the way: the report of a reading."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["Source"]


@dataclass(frozen=True)
class Source:
    """What was read, how it was understood, and what was changed.

    Attributes:
        file: the file's path.
        format: the name of the format that was used.
        mapping: from our column names to the file's.
        times: what the file's times are, and where the workload's time 0 lies.
        rows: rows read; `used` of them are requests of the workload.
        dropped: rows left out, by reason.
        kept: rows without output tokens that were kept, each as one token.
        out_of_order: rows that arrive before the one above them; they were sorted, ties in the file's order.
        ties: rows that arrive together with another one before them (before they were spread, if they were).
        notices: what else the reader should know.
        repairs: what was tolerated: a byte order mark, blank lines, gzip.

    Texts of the last two are for reading, not for programs.
    """

    file: str
    format: str
    mapping: Mapping[str, str]
    times: str
    rows: int
    used: int
    dropped: Mapping[str, int] = field(default_factory=dict)
    kept: int = 0
    out_of_order: int = 0
    ties: int = 0
    notices: tuple[str, ...] = ()
    repairs: tuple[str, ...] = ()

    def changes(self) -> list[str]:
        """What was dropped, changed or sorted, and the notices: a text for each, nothing for nothing."""
        rows = f"of {self.rows:,} rows"
        texts = [f"{count:,} {rows} dropped ({reason})" for reason, count in self.dropped.items()]
        if self.kept:
            texts.append(f"{self.kept:,} {rows} without output tokens kept as one token")
        if self.out_of_order:
            texts.append(f"{self.out_of_order:,} {rows} out of order, sorted by arrival")
        return [*texts, *self.notices]

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values, for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        columns = ", ".join(f"{ours} = {theirs!r}" for ours, theirs in self.mapping.items())
        parts = [f"{self.file} read as {self.format} ({columns})", self.times]
        parts.append(f"{self.used:,} of {self.rows:,} rows used")
        return "; ".join([*parts, *self.changes(), *self.repairs])
