"""The tables of a scenario: one pydantic model each, with descriptions, bounds and defaults."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Discriminator, Field, Tag, field_validator, model_validator
from pydantic_core import PydanticCustomError

from fairq.cost import Cost, StepTime
from fairq.errors import InputError
from fairq.fields import POSITIVE, Amount, Count, Part, as_tuple, inside, one_of
from fairq.lengths import LengthLaw
from fairq.policy import check_policy
from fairq.reading import check_columns

__all__ = [
    "Acceptance",
    "Arm",
    "Backlog",
    "ClockLaw",
    "Lengths",
    "Money",
    "Pool",
    "Requests",
    "Trace",
    "table_or_name",
]

_DISPATCHERS = ("round-robin", "random", "power-of-two", "jsq", "least-work", "length-class")  # to come


def _scalar_or_list(value: Any) -> str:
    return "<list>" if isinstance(value, (list, tuple)) else "<one>"


def table_or_name(value: Any) -> str | None:
    """Which kind of clock `value` is, as a tag of the union."""
    if isinstance(value, (Mapping, Part)):
        return "<law>"
    return "<name>" if value in ("token", "cost") else None


def _kind(value: Any) -> str | None:
    kind = value.get("kind") if isinstance(value, Mapping) else getattr(value, "kind", None)
    return f"<{kind}>" if kind in ("backlog", "trace") else None


class ClockLaw(Part):
    """A step takes ``c + b·|S| + tau·|S|·m`` units of time, m the largest token index in the batch."""

    law: Literal["max"] = Field(default="max", description="What the step time follows: the longest request.")
    c: Amount = Field(default=0.0, description="Time of a step, whatever its batch.")
    b: Amount = Field(default=0.0, description="Time for each request in the batch.")
    tau: Amount = Field(default=0.0, description="Time for each request and token of the longest progress.")

    @model_validator(mode="after")
    def _time_passes(self) -> ClockLaw:
        StepTime(self.c, self.b, self.tau)
        return self


class Backlog(Part):
    """All requests are there at time 0."""

    kind: Literal["backlog"] = Field(default="backlog", description="All requests are there at time 0.")


class Trace(Part):
    """Requests from a file: arrivals and token counts as they stand there."""

    kind: Literal["trace"] = Field(description="Requests, with times and token counts, from a file.")
    path: str = Field(
        min_length=1,
        description="A CSV file, relative to the scenario's file if it is there, else to the working folder.",
    )
    columns: dict[str, str] | None = Field(
        default=None, description="From our column names to the file's, as { arrival = 'arrived_at' }."
    )
    time_unit: Literal["s", "steps"] | None = Field(
        default=None, description="Unit of the file's times, if known."
    )

    @field_validator("columns")
    @classmethod
    def _our_names(cls, columns: dict[str, str] | None) -> dict[str, str] | None:
        inside(check_columns, columns or {})
        return columns


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
        default=None, description="Number of potential requests; not with a trace, which has its own."
    )
    arrivals: Annotated[
        Annotated[Backlog, Tag("<backlog>")] | Annotated[Trace, Tag("<trace>")],
        one_of(_kind, "a table with kind = 'backlog' or kind = 'trace'"),
    ] = Field(default=Backlog(), description="When requests arrive.")
    tokens: Lengths | None = Field(
        default=None,
        description="Tokens of a request, prompt and output; not with a trace, which has its own.",
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


class Pool(Part):
    """The workers and how requests reach them."""

    workers: Annotated[int, Field(ge=1, le=100_000), POSITIVE] = Field(
        default=1, description="Number of workers (GPUs)."
    )
    batch_size: Annotated[int, Field(ge=1, le=1_000_000), POSITIVE] = Field(
        description="Most requests that a worker runs in lockstep, B."
    )
    dispatch: Literal["central"] = Field(
        default="central", description="One queue, from which every worker draws."
    )

    @field_validator("dispatch", mode="before")
    @classmethod
    def _known_here(cls, value: Any) -> Any:
        if value in _DISPATCHERS:
            raise PydanticCustomError(
                "fairq_allowed", "{allowed}", {"allowed": "'central', the only one that this version knows"}
            )
        return value


class Money(Part):
    """What a step costs and a token earns; the defaults are the baseline of Section 5.2."""

    c: Amount = Field(default=5e-4, description="Money per nonempty step.")
    tau: Amount = Field(default=1e-6, description="Money per request and token of the longest progress.")
    price: Amount = Field(default=2e-3, description="Revenue per token of a completed request.")
    worker: Amount = Field(default=0.0, description="Money per worker and unit of time, busy or idle.")

    @model_validator(mode="after")
    def _costs_something(self) -> Money:
        self.cost()
        return self

    def cost(self) -> Cost:
        """The same as a `fairq.Cost`."""
        return Cost(self.c, self.tau, self.price, self.worker)


Option = bool | int | float | str


class Arm(Part):
    """A policy, or a grid of them: every list is one axis. Further keys are the policy's own options."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Any]

    name: Annotated[
        Annotated[str, Tag("<one>")]
        | Annotated[tuple[str, ...], Field(min_length=1), BeforeValidator(as_tuple), Tag("<list>")],
        Discriminator(_scalar_or_list),
    ] = Field(description="A policy's name, or a list of names.")
    alpha: (
        Annotated[
            Annotated[Amount, Tag("<one>")]
            | Annotated[tuple[Amount, ...], Field(min_length=1), BeforeValidator(as_tuple), Tag("<list>")],
            Discriminator(_scalar_or_list),
        ]
        | None
    ) = Field(default=None, description="Fairness budget in tokens, or a list of them.")

    @model_validator(mode="before")
    @classmethod
    def _plain_options(cls, data: Any) -> Any:
        if isinstance(data, Mapping):
            for key, value in data.items():
                if key not in ("name", "alpha"):
                    inside(_check_option, key, value)
        return data

    @model_validator(mode="after")
    def _known_policies(self) -> Arm:
        for name, parameters in self.arms():
            options = {key: value for key, value in parameters.items() if key != "alpha"}
            inside(check_policy, name, parameters.get("alpha"), options)
        return self

    def arms(self) -> Iterable[tuple[str, dict[str, Any]]]:
        """Names outermost, then alphas, then options in the file's order."""
        grid = {} if self.alpha is None else {"alpha": self.alpha}
        grid |= self.__pydantic_extra__ or {}
        axes = [value if isinstance(value, (list, tuple)) else (value,) for value in grid.values()]
        names = (self.name,) if isinstance(self.name, str) else self.name
        for name in names:
            for values in itertools.product(*axes):
                yield name, dict(zip(grid, values, strict=True))


def _check_option(key: str, value: Any) -> None:
    entries = value if isinstance(value, (list, tuple)) else [value]
    allowed = "a number, text, a truth value, or a list of them"
    if not entries:
        raise InputError(f"{key} is []: it must be {allowed}, of at least one")
    for entry in entries:
        plain = isinstance(entry, Option)
        if not plain or (isinstance(entry, float) and not math.isfinite(entry)):
            raise InputError(f"{key} is {entry!r}: it must be {allowed}, and finite")
