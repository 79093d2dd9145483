"""The table of a scenario's workload: when requests come, how long they are, which are accepted."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from fairq.arrivals import MAX_REQUESTS
from fairq.arrivals_schema import Arrivals, Backlog, Law
from fairq.errors import InputError
from fairq.fields import POSITIVE, Count, Part, inside
from fairq.lengths_schema import Tokens
from fairq.sources_schema import Trace

__all__ = ["Acceptance", "Requests"]


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
        description="Number of potential requests, or the most where the run has an end (until). Not with a "
        "trace, which has its own; of a ServeGen client the first so many.",
    )
    arrivals: Arrivals = Field(default=Backlog(), description="When requests arrive.")
    tokens: Tokens | None = Field(
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
            if isinstance(self.arrivals, Trace) and getattr(self, name) is not None:
                inside(_refuse, f"{name} is given, but a trace (arrivals.kind) has its own: leave it out")
        if isinstance(self.arrivals, Backlog) and self.requests is None:
            inside(_refuse, "requests is missing: arrivals of kind 'backlog' need it")
        if isinstance(self.arrivals, Law) and self.tokens is None:
            inside(_refuse, f"tokens is missing: arrivals of kind {self.arrivals.kind!r} need it")
        return self

    def check_end(self, until: float | None) -> None:
        """Refuse a workload without end, or one too large to draw.

        Raises:
            InputError: the message begins with the field.
        """
        if not isinstance(self.arrivals, Law):
            return
        if self.requests is None and until is None:
            raise InputError("workload.requests is missing: it must be given, or until, or both")
        expected = self.arrivals.law().expected(self.requests, until)
        if expected > MAX_REQUESTS:
            raise InputError(
                f"workload.arrivals has about {expected:.3g} expected requests (or changes of phase): there "
                f"must be at most {MAX_REQUESTS:,} (lower rate or until, or give requests)"
            )


def _refuse(message: str) -> None:
    raise InputError(message)
