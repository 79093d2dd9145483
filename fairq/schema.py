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
from fairq.fields import POSITIVE, Amount, Part, as_tuple, inside
from fairq.policy import check_policy

__all__ = [
    "Arm",
    "ClockLaw",
    "Money",
    "Pool",
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
