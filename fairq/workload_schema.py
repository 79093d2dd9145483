"""The table of a scenario's workload: when requests come, how long they are, which are accepted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from fairq.arrivals import MAX_REQUESTS
from fairq.arrivals_schema import Arrivals, Backlog, Law
from fairq.columns import MAX_TOKENS
from fairq.errors import InputError
from fairq.fields import POSITIVE, Amount, Count, Part, Positive, as_tuple, inside
from fairq.lengths_schema import Tokens
from fairq.predictions_schema import Predictions
from fairq.sources_schema import Trace
from fairq.terms import POOLED, Terms

__all__ = ["Acceptance", "Class", "Requests"]


class Acceptance(Part):
    """Which of the potential requests are accepted (Section 5.2 of the paper)."""

    kind: Literal["bucketed-linear"] = Field(
        description="max(0, 1 - o/((2b - 1)·width)) for o tokens in bucket b = ceil(o/width)."
    )
    width: Count = Field(description="Tokens per length bucket.")


class Class(Part):
    """A class of requests (a tenant): what it does not say, the workload does."""

    label: str = Field(min_length=1, max_length=100, description="Its name, in the column label.")
    weight: Positive | None = Field(
        default=None, description="Its share of the workload's arrivals, beside the other weights."
    )
    arrivals: Arrivals | None = Field(
        default=None, description="Its own arrivals; then every class has its own."
    )
    requests: Count | None = Field(
        default=None, description="Most requests of the class, of its own arrivals."
    )
    tokens: Tokens | None = Field(default=None, description="Its own lengths.")
    predictions: Predictions | None = Field(default=None, description="Its own predictions.")
    price: Amount | None = Field(default=None, description="Revenue per token; without it, that of cost.")
    sla: dict[str, Positive] | None = Field(
        default=None, description="Limits that each request should meet, as { latency = 9.0, ttft = 0.5 }."
    )

    @field_validator("sla")
    @classmethod
    def _known_metrics(cls, sla: dict[str, float] | None) -> dict[str, float] | None:
        if sla == {}:  # as Terms says it, but for the name, which the field has
            allowed = "a table of at least one limit, as { latency = 9.0 }"
            raise PydanticCustomError("fairq_allowed", "{allowed}", {"allowed": allowed})
        inside(Terms, None, sla)
        return sla

    def terms(self) -> Terms:
        """Price and SLA of the class."""
        return Terms(self.price, self.sla)


class Requests(Part):
    """The workload: how many requests, when they arrive, how long they are, which are accepted."""

    requests: Annotated[int, Field(ge=1, le=10_000_000), POSITIVE] | None = Field(
        default=None,
        description="Number of potential requests, or the most where the run has an end (until). Not with a "
        "trace, which has its own; of a ServeGen client the first so many.",
    )
    arrivals: Arrivals | None = Field(
        default=None, description="When requests arrive: a backlog, unless every class has its own."
    )
    tokens: Tokens | None = Field(
        default=None,
        description="Tokens of a request, prompt and output; not with a trace, which has its own, "
        "and over a ServeGen client's.",
    )
    predictions: Predictions | None = Field(
        default=None, description="Intervals that a policy is told; without it, the truth."
    )
    classes: Annotated[tuple[Class, ...], Field(min_length=1), BeforeValidator(as_tuple)] | None = Field(
        default=None, description="A mixture of classes, each with its own arrivals or its weight of all."
    )
    prompt_chunk: Annotated[int, Field(ge=1, le=MAX_TOKENS), POSITIVE] = Field(
        default=1, description="Prompt tokens that one step processes; 1 is the paper's model."
    )
    acceptance: Acceptance | None = Field(
        default=None, description="Which potential requests are accepted; without it, all are."
    )

    @model_validator(mode="before")
    @classmethod
    def _a_backlog_by_default(cls, data: Any) -> Any:
        if not isinstance(data, Mapping) or data.get("arrivals") is not None:
            return data
        classes = data.get("classes") or ()
        own = isinstance(classes, (list, tuple)) and any(_has_arrivals(one) for one in classes)
        return dict(data) if own else {**data, "arrivals": {"kind": "backlog"}}

    @model_validator(mode="after")
    def _one_source(self) -> Requests:
        inside(check_classes, self)
        for name in ("requests", "tokens"):
            if isinstance(self.arrivals, Trace) and getattr(self, name) is not None:
                inside(_refuse, f"{name} is given, but a trace (arrivals.kind) has its own: leave it out")
        if isinstance(self.arrivals, Backlog) and self.requests is None:
            inside(_refuse, "requests is missing: arrivals of kind 'backlog' need it")
        if isinstance(self.arrivals, Law) and self.tokens is None and self.classes is None:
            inside(_refuse, f"tokens is missing: arrivals of kind {self.arrivals.kind!r} need it")
        return self

    def sources(self) -> list[tuple[str, Requests | Class]]:
        """The tables that have arrivals or lengths, by dotted field: the workload's, then its classes'."""
        classes = enumerate(self.classes or ())
        return [("workload", self), *((f"workload.classes.{i}", one) for i, one in classes)]

    def check_end(self, until: float | None) -> None:
        """Refuse a workload without end, or one too large to draw.

        Raises:
            InputError: the message begins with the field.
        """
        expected = 0.0
        for field, source in self.sources():
            if isinstance(source.arrivals, Law):
                count = self.requests if source.requests is None else source.requests
                if count is None and until is None:
                    raise InputError(f"{field}.requests is missing: it must be given, or until, or both")
                expected += source.arrivals.law().expected(count, until)
        if expected > MAX_REQUESTS:
            raise InputError(
                f"workload.arrivals has about {expected:.3g} expected requests (or changes of phase): there "
                f"must be at most {MAX_REQUESTS:,} (lower rate or until, or give requests)"
            )


def _has_arrivals(one: Any) -> bool:
    own = one.get("arrivals") if isinstance(one, Mapping) else getattr(one, "arrivals", None)
    return own is not None


def check_classes(demand: Requests) -> None:
    """Refuse classes that do not say all that they must.

    Raises:
        InputError: the message begins with the field.
    """
    labels = [one.label for one in demand.classes or ()]
    for index, one in enumerate(demand.classes or ()):
        field = f"classes.{index}"
        if one.label == POOLED:
            raise InputError(
                f"{field}.label is {one.label!r}: it must be another (that is the row of all requests)"
            )
        if one.label in labels[:index]:
            raise InputError(f"{field}.label is {one.label!r}: it must be another than every label before it")
        if demand.arrivals is None:
            _check_own(field, one)
        else:
            _check_share(field, one)
        if isinstance(one.arrivals, Trace) and one.tokens is not None:
            raise InputError(
                f"{field}.tokens is given, but a trace (arrivals.kind) has its own: leave it out"
            )
        brings = one.arrivals if demand.arrivals is None else demand.arrivals
        if isinstance(brings, Law) and one.tokens is None and demand.tokens is None:
            raise InputError(f"{field}.tokens is missing: the class needs it, or the workload")


def _check_own(field: str, one: Class) -> None:
    if one.arrivals is None:
        raise InputError(f"{field}.arrivals is missing: every class needs its own, or none has")
    if one.weight is not None:
        raise InputError(f"{field}.weight is {one.weight!r}: the class has its own arrivals: leave it out")
    if isinstance(one.arrivals, Backlog) and one.requests is None:
        raise InputError(f"{field}.requests is missing: arrivals of kind 'backlog' need it")


def _check_share(field: str, one: Class) -> None:
    if one.arrivals is not None:
        raise InputError(
            f"{field}.arrivals is given, but the workload has arrivals too: leave out one of the two"
        )
    if one.weight is None:
        raise InputError(f"{field}.weight is missing: a class without arrivals of its own needs one")
    if one.requests is not None:
        raise InputError(f"{field}.requests is {one.requests}: the workload has the arrivals: leave it out")


def _refuse(message: str) -> None:
    raise InputError(message)
