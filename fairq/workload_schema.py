"""The tables of a scenario's workload: where requests and their lengths come from, which are accepted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Discriminator, Field, Tag, field_validator, model_validator

from fairq.errors import InputError
from fairq.fields import POSITIVE, Count, Part, Positive, Span, as_tuple, inside, one_of
from fairq.formats import format_named
from fairq.layout import check_columns
from fairq.lengths import LengthLaw

__all__ = [
    "Acceptance", "Backlog", "LengthPool", "Lengths", "Requests", "ServeGen", "Trace", "TraceFile",
]  # fmt: skip


def _kind(value: Any) -> str | None:
    kind = value.get("kind") if isinstance(value, Mapping) else getattr(value, "kind", None)
    return f"<{kind}>" if kind in ("backlog", "trace", "servegen") else None


def _law_or_pool(value: Any) -> str:
    """Whether token counts come from a distribution or from a trace, as a tag of the union."""
    kind = value.get("kind") if isinstance(value, Mapping) else getattr(value, "kind", None)
    return "<law>" if kind is None else "<pool>"


class Backlog(Part):
    """All requests are there at time 0."""

    kind: Literal["backlog"] = Field(default="backlog", description="All requests are there at time 0.")


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


class Lengths(Part):
    """Token counts from a distribution of scipy.stats; its parameters stand beside `dist`."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[
        str, Annotated[int | float, Field(description="A parameter of the distribution, by scipy's name.")]
    ]

    dist: str = Field(description="Name of the distribution in scipy.stats, such as 'randint' or 'gamma'.")
    truncate: Annotated[tuple[float, float] | None, BeforeValidator(as_tuple)] = Field(
        default=None,
        description="[lo, hi] in tokens: the distribution given that its value lies in that range.",
    )

    @model_validator(mode="before")
    @classmethod
    def _a_law(cls, data: Any) -> Any:
        if isinstance(data, Mapping) and "dist" in data:
            given = {key: value for key, value in data.items() if key not in ("dist", "truncate")}
            inside(LengthLaw, data["dist"], given, data.get("truncate"))
        return data

    def law(self) -> LengthLaw:
        """The law that this table describes."""
        return LengthLaw(self.dist, dict(self.__pydantic_extra__ or {}), self.truncate)


class Acceptance(Part):
    """Which of the potential requests are accepted (Section 5.2 of the paper)."""

    kind: Literal["bucketed-linear"] = Field(
        description="max(0, 1 - o/((2b - 1)·width)) for o tokens in bucket b = ceil(o/width)."
    )
    width: Count = Field(description="Tokens per length bucket.")


class Requests(Part):
    """The workload: how many requests, when they arrive, how long they are, which are accepted."""

    requests: Annotated[int, Field(ge=1, le=10_000_000), POSITIVE] | None = Field(
        default=None,
        description="Number of potential requests; not with a trace, which has its own; of a ServeGen client "
        "the first so many.",
    )
    arrivals: Annotated[
        Annotated[Backlog, Tag("<backlog>")]
        | Annotated[Trace, Tag("<trace>")]
        | Annotated[ServeGen, Tag("<servegen>")],
        one_of(_kind, "a table with kind = 'backlog', kind = 'trace' or kind = 'servegen'"),
    ] = Field(default=Backlog(), description="When requests arrive.")
    tokens: (
        Annotated[
            Annotated[Lengths, Tag("<law>")] | Annotated[LengthPool, Tag("<pool>")],
            Discriminator(_law_or_pool),
        ]
        | None
    ) = Field(
        default=None,
        description="Tokens of a request, prompt and output; not with a trace, which has its own, "
        "and over a ServeGen client's.",
    )
    prompt_chunk: Count = Field(
        default=1, description="Prompt tokens that one step processes; 1 is the paper's model."
    )
    acceptance: Acceptance | None = Field(
        default=None, description="Which potential requests are accepted; without it, all are."
    )

    @model_validator(mode="after")
    def _one_source(self) -> Requests:
        for name in ("requests", "tokens"):
            given = getattr(self, name) is not None
            if isinstance(self.arrivals, Trace) and given:
                inside(_refuse, f"{name} is given, but a trace (arrivals.kind) has its own: leave it out")
            if isinstance(self.arrivals, Backlog) and not given:
                inside(_refuse, f"{name} is missing: arrivals of kind 'backlog' need it")
        return self


def _refuse(message: str) -> None:
    raise InputError(message)
