"""The tables of a scenario: one pydantic model each, with descriptions, bounds and defaults."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Discriminator, Field, Tag, field_validator, model_validator
from pydantic_core import PydanticCustomError

from fairq.cost import Cost, StepTime
from fairq.dispatch import check_dispatch
from fairq.errors import InputError
from fairq.fields import POSITIVE, Amount, Count, Part, as_tuple, inside, one_of
from fairq.groups import MAX_BATCH, MAX_WORKERS, WorkerGroup
from fairq.policy import check_policy
from fairq.presets import PRESETS

__all__ = [
    "Arm",
    "Clock",
    "ClockLaw",
    "Group",
    "Money",
    "Pool",
    "table_or_name",
]


CLOCKS = ("token", "cost", *PRESETS)
"""Names of a clock."""


def _scalar_or_list(value: Any) -> str:
    return "<list>" if isinstance(value, (list, tuple)) else "<one>"


def table_or_name(value: Any) -> str | None:
    """Which kind of clock `value` is, as a tag of the union."""
    if isinstance(value, (Mapping, Part)):
        return "<law>"
    return "<name>" if value in CLOCKS else None


class ClockLaw(Part):
    """A step takes ``c + b·|S| + tau·|S|·m`` units of time, m the largest token index in the batch."""

    law: Literal["max"] = Field(default="max", description="What the step time follows: the longest request.")
    c: Amount = Field(default=0.0, description="Time of a step, whatever its batch.")
    b: Amount = Field(default=0.0, description="Time for each request in the batch.")
    tau: Amount = Field(default=0.0, description="Time for each request and token of the longest progress.")

    @model_validator(mode="after")
    def _time_passes(self) -> ClockLaw:
        self.step_time()
        return self

    def step_time(self) -> StepTime:
        """The same as a `fairq.StepTime`."""
        return StepTime(self.c, self.b, self.tau)


Clock = Annotated[
    Annotated[str, Field(json_schema_extra={"enum": list(CLOCKS)}), Tag("<name>")]
    | Annotated[ClockLaw, Tag("<law>")],
    one_of(table_or_name, f"{', '.join(map(repr, CLOCKS))} or a table {{ c, b, tau }}"),
]
"""The time of a step: a name, or a law."""


class Group(Part):
    """Some workers that are alike."""

    count: Annotated[int, Field(ge=1, le=MAX_WORKERS), POSITIVE] = Field(description="How many.")
    batch_size: Annotated[int, Field(ge=1, le=MAX_BATCH), POSITIVE] | None = Field(
        default=None, description="Most requests that each runs in lockstep; without it, the pool's."
    )
    clock: Clock | None = Field(default=None, description="Time of a step; without it, the scenario's.")

    def group(self) -> WorkerGroup:
        """The same as a `fairq.WorkerGroup`."""
        clock = self.clock.step_time() if isinstance(self.clock, ClockLaw) else self.clock
        return WorkerGroup(self.count, self.batch_size, clock)


class Pool(Part):
    """The workers and how requests reach them."""

    workers: Annotated[
        Annotated[int, Field(ge=1, le=MAX_WORKERS), POSITIVE, Tag("<one>")]
        | Annotated[tuple[Group, ...], Field(min_length=1), BeforeValidator(as_tuple), Tag("<list>")],
        Discriminator(_scalar_or_list),
    ] = Field(
        default=1,
        description="Number of workers (GPUs); or groups that differ, as [{ count = 4, batch_size = 32 }].",
    )
    batch_size: Annotated[int, Field(ge=1, le=MAX_BATCH), POSITIVE] | None = Field(
        default=None, description="Most requests that a worker runs in lockstep, B."
    )
    dispatch: Literal[
        "central", "round-robin", "random", "power-of-two", "jsq", "least-work", "length-class"
    ] = Field(
        default="central",
        description="'central': one queue, from which every worker draws; else how an arrival is sent to a "
        "worker's own queue.",
    )
    queue_limit: Count | None = Field(
        default=None, description="A request that finds this many waiting in the pool is rejected."
    )
    patience: Amount | None = Field(
        default=None, description="A request that waits longer abandons, in the clock's unit of time."
    )
    max_queued: Count = Field(
        default=1_000_000,
        description="The arrival that makes more than this many wait ends the run, as unstable.",
    )

    @field_validator("dispatch", mode="before")
    @classmethod
    def _known_dispatcher(cls, value: Any) -> Any:
        inside(check_dispatch, value, 0.0)
        return value

    @model_validator(mode="after")
    def _somebody_says_how_many(self) -> Pool:
        if self.batch_size is None and (
            isinstance(self.workers, int) or any(group.batch_size is None for group in self.workers)
        ):
            raise PydanticCustomError(
                "fairq_inside", "{text}", {"text": "batch_size is missing: it must be a whole number >= 1"}
            )
        return self

    @property
    def count(self) -> int:
        """G, the workers of the pool."""
        groups = self.workers
        return groups if isinstance(groups, int) else sum(group.count for group in groups)

    @property
    def slots(self) -> int:
        """B, the slots of a worker; of the largest, where they differ."""
        groups = self.workers
        own = [] if isinstance(groups, int) else [group.batch_size or 0 for group in groups]
        return max([self.batch_size or 0, *own])

    def groups(self) -> int | tuple[WorkerGroup, ...]:
        """The workers as `fairq.simulate` takes them."""
        groups = self.workers
        return groups if isinstance(groups, int) else tuple(group.group() for group in groups)


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


def _named_by_module(data: Mapping[str, Any]) -> dict[str, Any]:
    """`data` with ``name`` in place of ``module``, which is another word for it."""
    if "name" in data:
        raise InputError(f"module is {data['module']!r}: a policy has a name or a module, not both")
    places = data["module"]
    for place in places if isinstance(places, (list, tuple)) else [places]:
        if not isinstance(place, str) or ":" not in place:
            raise InputError(f"module is {place!r}: it must be 'package:Class'")
    return {"name": places} | {key: value for key, value in data.items() if key != "module"}


def _module_in_place_of_name(schema: dict[str, Any]) -> None:
    place = {"type": "string", "pattern": ".:."}
    either = [place, {"type": "array", "items": place, "minItems": 1}]
    schema["properties"]["module"] = {"anyOf": either, "description": "Where a policy is: 'package:Class'."}
    schema["required"] = [name for name in schema["required"] if name != "name"]
    schema["oneOf"] = [{"required": ["name"]}, {"required": ["module"]}]


class Arm(Part):
    """A policy, or a grid of them: every list is one axis. Further keys are the policy's own options."""

    model_config = ConfigDict(extra="allow", json_schema_extra=_module_in_place_of_name)
    __pydantic_extra__: dict[str, Any]

    name: Annotated[
        Annotated[str, Tag("<one>")]
        | Annotated[tuple[str, ...], Field(min_length=1), BeforeValidator(as_tuple), Tag("<list>")],
        Discriminator(_scalar_or_list),
    ] = Field(description="A policy's name, or a list of names; 'package:Class' is one of another package.")
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
            if "module" in data:
                data = inside(_named_by_module, data)
            for key, value in data.items():
                if key not in ("name", "alpha"):
                    inside(_check_option, key, value)
        return data

    @model_validator(mode="after")
    def _known_policies(self) -> Arm:
        for name, parameters in self.arms():
            options = {key: value for key, value in parameters.items() if key != "alpha"}
            inside(_check_policy, name, parameters.get("alpha"), options)
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


def _check_policy(name: str, alpha: float | None, options: Mapping[str, Any]) -> None:
    try:
        check_policy(name, alpha, options)
    except InputError as error:
        what, of_it, why = str(error).partition(f"policy {name!r}: ")
        raise (InputError(f"name is {name!r}: {why}") if of_it and not what else error) from None


def _check_option(key: str, value: Any) -> None:
    entries = value if isinstance(value, (list, tuple)) else [value]
    allowed = "a number, text, a truth value, or a list of them"
    if not entries:
        raise InputError(f"{key} is []: it must be {allowed}, of at least one")
    for entry in entries:
        if isinstance(entry, float) and not math.isfinite(entry):
            raise InputError(f"{key} is {entry!r}: a number must be finite")
        if not isinstance(entry, Option):
            raise InputError(f"{key} is {entry!r}: it must be {allowed}")
