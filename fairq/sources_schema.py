"""The tables of requests that come from files: a trace, a ServeGen client, or lengths alone."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from fairq.fields import Part, Positive, Span, inside
from fairq.formats import format_named
from fairq.layout import check_columns

__all__ = ["LengthPool", "ServeGen", "Trace", "TraceFile"]


class TraceFile(Part):
    """A file of requests, and how to read it."""

    kind: Literal["trace"] = Field(description="From a file.")
    path: str = Field(
        min_length=1,
        description="A trace, relative to the scenario's file if it is there, else to the working folder.",
    )
    format: str | None = Field(
        default=None, description="A format's name, as 'azure'; without it, the columns tell."
    )
    columns: dict[str, str] | None = Field(
        default=None, description="From our column names to the file's, as { arrival = 'arrived_at' }."
    )
    zero: Literal["drop", "keep", "refuse"] | None = Field(
        default=None,
        description="Rows without output tokens: leave out, count as one token, refuse the file. "
        "Without it: refused in our own format, else left out.",
    )

    @field_validator("format")
    @classmethod
    def _known_format(cls, name: str | None) -> str | None:
        if name is not None:
            inside(format_named, name)
        return name

    @field_validator("columns")
    @classmethod
    def _our_names(cls, columns: dict[str, str] | None) -> dict[str, str] | None:
        inside(check_columns, columns or {})
        return columns


class Trace(TraceFile):
    """Requests from a file: arrivals and token counts as they stand there."""

    kind: Literal["trace"] = Field(description="Requests, with times and token counts, from a file.")
    time_unit: Literal["s", "steps"] | None = Field(
        default=None, description="Unit of the file's times, if known."
    )
    ties: Literal["keep", "spread"] = Field(
        default="keep", description="Equal arrivals: keep them, or spread them inside their bucket of time."
    )
    window: Span | None = Field(
        default=None, description="[start, end]: only what arrives from start to below end, from start on."
    )
    bootstrap: Positive | None = Field(
        default=None, description="Draw pieces of about this much time, with replacement, a replication."
    )
    rate: Positive | None = Field(
        default=None, description="Stretch the times so that this many arrive per unit of the clock's time."
    )


class ServeGen(Part):
    """Requests drawn from the statistics of a ServeGen client."""

    kind: Literal["servegen"] = Field(description="Requests drawn from a ServeGen client.")
    path: str = Field(
        min_length=1,
        description="Its *-trace.csv, relative to the scenario's file if it is there, else to the working "
        "folder.",
    )
    dataset: str | None = Field(
        default=None, min_length=1, description="Its *-dataset.json; without it, the one beside the trace."
    )
    window: Span | None = Field(
        default=None, description="[start, end]: only that part of the client's time, from start on."
    )
    rate: Positive | None = Field(
        default=None,
        description="Stretch the times so that this many are expected per unit of the clock's time.",
    )


class LengthPool(TraceFile):
    """Token counts of requests drawn, with replacement, from a file's: its lengths apart from its times."""

    kind: Literal["trace"] = Field(description="Token counts drawn from a file's requests.")
