"""Where a workload came from, and what was done to it on the way: the report of a reading."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from fairq.errors import one_line

__all__ = ["Source", "amount", "counted"]


def counted(number: int, noun: str) -> str:
    """A number of things, in the singular where it is one.

    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def amount(value: float) -> str:
    """A time without an exponent where it need not have one: at most three digits after the point.

    >>> amount(1209600.0), amount(0.125), amount(2e-7)
    ('1,209,600', '0.125', '2e-07')
    """
    if value and not 1e-3 <= abs(value) < 1e15:
        return f"{value:g}"
    return f"{value:,.3f}".rstrip("0").rstrip(".")


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
        made: what was made of the requests since, in order: a window, another rate, a bootstrap.

    Texts of the last three are for reading, not for programs.
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
    made: tuple[str, ...] = ()

    def then(self, text: str) -> Source:
        """The same with one thing more made of the requests."""
        return replace(self, made=(*self.made, text))

    def changes(self) -> list[str]:
        """What was dropped, changed or sorted, and the notices: a text for each, nothing for nothing."""
        rows = f"of {counted(self.rows, 'row')}"
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
        parts.append(f"{self.used:,} of {counted(self.rows, 'row')} used")
        return one_line("; ".join([*parts, *self.changes(), *self.repairs, *self.made]))
