"""A scenario: one TOML file that says what to simulate, and the one schema that checks it.

`Scenario.load` reads a file or a scenario of the gallery, `Scenario.cells` lists the arms to
compare, `Scenario.draw` makes the requests of a replication, the same for every arm.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Discriminator, Field, PrivateAttr, Tag, ValidationError
from pydantic import field_validator, model_validator
from pydantic_core import PydanticCustomError

from fairq.acceptance import BucketedLinear
from fairq.cost import Cost, StepTime
from fairq.errors import InputError
from fairq.fields import Amount, Count, Part, Seed, explain, inside
from fairq.lengths import LengthLaw
from fairq.reading import check_columns
from fairq.settings import find_scenario, override, read_toml
from fairq.streams import open_uniforms, stream
from fairq.workload import Workload

if TYPE_CHECKING:
    from fairq.simulate import Result

__all__ = ["Cell", "Scenario"]

_DISPATCHERS = ("round-robin", "random", "power-of-two", "jsq", "least-work", "length-class")  # to come


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _scalar_or_list(value: Any) -> str:
    return "<list>" if isinstance(value, (list, tuple)) else "<one>"


def _table_or_name(value: Any) -> str:
    return "<law>" if isinstance(value, (Mapping, Part)) else "<name>"


def _kind(value: Any) -> str | None:
    kind = value.get("kind") if isinstance(value, Mapping) else getattr(value, "kind", None)
    return f"<{kind}>" if kind in ("backlog", "trace") else None


class ClockLaw(Part):
    """A step takes ``c + b·|S| + tau·|S|·m`` units of time, m the largest token index in the batch."""

    law: Literal["max"] = Field("max", description="What the step time follows: the longest request.")
    c: Amount = Field(0.0, description="Time of a step, whatever its batch.")
    b: Amount = Field(0.0, description="Time for each request in the batch.")
    tau: Amount = Field(0.0, description="Time for each request and token of the longest progress.")

    @model_validator(mode="after")
    def _time_passes(self) -> ClockLaw:
        StepTime(self.c, self.b, self.tau)
        return self


class Backlog(Part):
    """All requests are there at time 0."""

    kind: Literal["backlog"] = Field("backlog", description="All requests are there at time 0.")


class Trace(Part):
    """Requests from a file: arrivals and token counts as they stand there."""

    kind: Literal["trace"] = Field(description="Requests, with times and token counts, from a file.")
    path: str = Field(
        min_length=1,
        description="A CSV file, relative to the scenario's file if it is there, else to the working folder.",
    )
    columns: dict[str, str] | None = Field(
        None, description="From our column names to the file's, as { arrival = 'arrived_at' }."
    )
    time_unit: Literal["s", "steps"] | None = Field(None, description="Unit of the file's times, if known.")

    @field_validator("columns")
    @classmethod
    def _our_names(cls, columns: dict[str, str] | None) -> dict[str, str] | None:
        check_columns(columns or {})
        return columns


class Lengths(Part):
    """Token counts from a distribution of scipy.stats; its parameters stand beside `dist`."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Annotated[float, Field(description="A parameter of the distribution.")]]

    dist: str = Field(description="Name of the distribution in scipy.stats, such as 'randint' or 'gamma'.")
    truncate: Annotated[tuple[float, float] | None, BeforeValidator(_as_tuple)] = Field(
        None, description="[lo, hi] in tokens: the distribution given that its value lies in that range."
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

    requests: Annotated[Count, Field(le=10_000_000)] | None = Field(
        None, description="Number of potential requests; not with a trace, which has its own."
    )
    arrivals: Annotated[
        Annotated[Backlog, Tag("<backlog>")] | Annotated[Trace, Tag("<trace>")],
        Discriminator(
            _kind,
            custom_error_type="fairq_allowed",
            custom_error_message="{allowed}",
            custom_error_context={"allowed": "a table with kind = 'backlog' or kind = 'trace'"},
        ),
    ] = Field(Backlog(), description="When requests arrive.")
    tokens: Lengths | None = Field(
        None, description="Tokens of a request, prompt and output; not with a trace, which has its own."
    )
    acceptance: Acceptance | None = Field(
        None, description="Which potential requests are accepted; without it, all are."
    )

    @model_validator(mode="after")
    def _one_source(self) -> Requests:
        for name in ("requests", "tokens"):
            given = getattr(self, name) is not None
            if isinstance(self.arrivals, Trace) and given:
                raise InputError(f"{name} is given, but a trace (arrivals.kind) has its own: leave it out")
            if isinstance(self.arrivals, Backlog) and not given:
                raise InputError(f"{name} is missing: arrivals of kind 'backlog' need it")
        return self


class Pool(Part):
    """The workers and how requests reach them."""

    workers: Annotated[Count, Field(le=100_000)] = Field(1, description="Number of workers (GPUs).")
    batch_size: Annotated[Count, Field(le=1_000_000)] = Field(
        description="Most requests that a worker runs in lockstep, B."
    )
    dispatch: Literal["central"] = Field("central", description="One queue, from which every worker draws.")

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

    c: Amount = Field(5e-4, description="Money per nonempty step.")
    tau: Amount = Field(1e-6, description="Money per request in the batch and token of the longest progress.")
    price: Amount = Field(2e-3, description="Revenue per token of a completed request.")
    worker: Amount = Field(0.0, description="Money per worker and unit of time, busy or idle.")

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
        | Annotated[tuple[str, ...], Field(min_length=1), BeforeValidator(_as_tuple), Tag("<list>")],
        Discriminator(_scalar_or_list),
    ] = Field(description="A policy's name, or a list of names.")
    alpha: (
        Annotated[
            Annotated[Amount, Tag("<one>")]
            | Annotated[tuple[Amount, ...], Field(min_length=1), BeforeValidator(_as_tuple), Tag("<list>")],
            Discriminator(_scalar_or_list),
        ]
        | None
    ) = Field(None, description="Fairness budget in tokens, or a list of them.")

    @model_validator(mode="before")
    @classmethod
    def _plain_options(cls, data: Any) -> Any:
        if isinstance(data, Mapping):
            for key, value in data.items():
                if key not in ("name", "alpha"):
                    inside(_check_option, key, value)
        return data

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


@dataclass(frozen=True)
class Cell:
    """One arm of a scenario: a policy with its parameters (`alpha` among them where it was given)."""

    index: int
    policy: str
    parameters: dict[str, Any]


class Scenario(Part):
    """What to simulate: the requests, the workers, the clock, the policies to compare.

    Make one with `Scenario.load` or `Scenario.from_dict`; they raise `InputError` with one clear
    line (pydantic's own constructor raises its `ValidationError`).

    >>> scenario = Scenario.load("table1", overrides=["replications=2"])
    >>> scenario.replications, scenario.pool.batch_size, len(scenario.cells())
    (2, 50, 23)
    """

    name: str = Field(
        min_length=1,
        max_length=100,
        pattern=r"^\w[\w .+-]*$",
        description="Name of the study; its results go to runs/<name> unless told otherwise.",
    )
    seed: Seed = Field(0, description="Root of every random stream.")
    replications: Count = Field(1, description="Number of independent draws of the workload.")
    clock: Annotated[
        Annotated[Literal["token", "cost"], Tag("<name>")] | Annotated[ClockLaw, Tag("<law>")],
        Discriminator(_table_or_name),
    ] = Field("token", description="How long a step takes: 1 ('token'), c and tau of cost ('cost'), a law.")
    until: Amount | None = Field(None, description="Time at which the run stops; without it, all is served.")
    record: Literal["summary", "requests", "segments"] = Field(
        "requests", description="How much a run keeps: 'segments' is everything."
    )
    workload: Requests = Field(description="The requests.")
    pool: Pool = Field(description="The workers.")
    cost: Money = Field(Money(), description="Money.")
    policies: Annotated[tuple[Arm, ...], BeforeValidator(_as_tuple)] = Field(
        min_length=1, description="The policies to compare, in this order."
    )

    _source: Path | None = PrivateAttr(None)

    @model_validator(mode="after")
    def _known_policies(self) -> Scenario:
        from fairq.policies import check_policy

        seen: dict[str, str] = {}
        for number, arm in enumerate(self.policies):
            for name, parameters in arm.arms():
                options = {key: value for key, value in parameters.items() if key != "alpha"}
                try:
                    check_policy(name, parameters.get("alpha"), options)
                except InputError as error:
                    raise InputError(f"policies.{number}: {error}") from None
                key = repr((name, sorted(parameters.items())))
                if key in seen:
                    raise InputError(
                        f"policies.{number}: {name!r} with {parameters} is there twice (first in {seen[key]})"
                    )
                seen[key] = f"policies.{number}"
        return self

    @classmethod
    def load(cls, path_or_name: str | PathLike[str], overrides: Sequence[str] = ()) -> Scenario:
        """The scenario in a TOML file, or the gallery's of that name (a name has no suffix).

        Parameters:
            path_or_name: ``"study.toml"`` or ``"table1"``.
            overrides: ``"field=value"`` texts, as ``"workload.arrivals.path=trace.csv"`` or
                ``"policies.0.alpha=[50, 100]"``; carried out before anything is checked.

        Raises:
            InputError: one line with the file, the dotted field, its value and what is allowed.
        """
        path = find_scenario(path_or_name)
        settings = read_toml(path)
        return cls._checked(settings, str(path), override(settings, overrides), path)

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any]) -> Scenario:
        """The scenario that a mapping describes, as `to_dict` gives it.

        Raises:
            InputError: one line with the dotted field, its value and what is allowed.
        """
        return cls._checked(settings, "scenario", {}, None)

    @classmethod
    def _checked(
        cls, settings: Mapping[str, Any], source: str, overrides: Mapping[str, str], path: Path | None
    ) -> Scenario:
        try:
            scenario = cls.model_validate(settings)
        except ValidationError as error:
            raise explain(error, source, overrides) from None
        scenario._source = path
        return scenario

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """The JSON Schema of a scenario, with descriptions, bounds and defaults."""
        return cls.model_json_schema()

    def to_dict(self) -> dict[str, Any]:
        """Everything that the scenario says, defaults included, ready for JSON."""
        return self.model_dump(mode="json")

    def cells(self) -> list[Cell]:
        """The arms to compare in the file's order: names outermost, then alpha, then options.

        >>> Scenario.load("table1").cells()[2]
        Cell(index=2, policy='isjl', parameters={'alpha': 50.0})
        """
        arms = (arm for policy in self.policies for arm in policy.arms())
        return [Cell(index, name, parameters) for index, (name, parameters) in enumerate(arms)]

    def draw(self, replication: int) -> Workload:
        """The requests of one replication, the same for every cell; there may be none.

        Each potential request takes one uniform of the stream "lengths" and, where there is an
        acceptance, one of the stream "acceptance"; those not accepted are not in the workload.

        Raises:
            InputError: a trace that cannot be read, or a length that is no length.

        >>> len(Scenario.load("table1").draw(0)) < 400
        True
        """
        demand = self.workload
        potential = self._potential(replication)
        if demand.acceptance is None:
            return potential
        uniforms = open_uniforms(stream(self.seed, replication, "acceptance"), len(potential))
        return potential.subset(BucketedLinear(demand.acceptance.width).accepted(potential.tokens, uniforms))

    def _potential(self, replication: int) -> Workload:
        demand, path = self.workload, self.trace_path()
        if path is not None and isinstance(demand.arrivals, Trace):
            return Workload.read(path, columns=demand.arrivals.columns, time_unit=demand.arrivals.time_unit)
        if demand.tokens is None or demand.requests is None:
            raise InputError("workload.tokens and workload.requests must be given")
        uniforms = open_uniforms(stream(self.seed, replication, "lengths"), demand.requests)
        try:
            return Workload.from_arrays(demand.tokens.law().tokens(uniforms))
        except InputError as error:
            raise InputError(f"{self._source or 'scenario'}: workload.tokens: {error}") from None

    def trace_path(self) -> Path | None:
        """The file of the trace, None without one.

        A relative path is looked for beside the scenario's file first, then in the working folder.
        """
        if not isinstance(self.workload.arrivals, Trace):
            return None
        given = Path(self.workload.arrivals.path)
        beside = given if self._source is None else self._source.parent / given
        return beside if beside.exists() else given

    def step_time(self) -> str | StepTime:
        """The clock as `fairq.simulate` takes it: a name or a `StepTime`."""
        clock = self.clock
        return clock if isinstance(clock, str) else StepTime(clock.c, clock.b, clock.tau)

    def simulate(self, cell: Cell, replication: int, workload: Workload | None = None) -> Result:
        """Run one cell on one replication's requests (`workload`, if they are drawn already)."""
        from fairq.simulate import simulate

        return simulate(
            self.draw(replication) if workload is None else workload,
            cell.policy,
            workers=self.pool.workers,
            batch_size=self.pool.batch_size,
            dispatch=self.pool.dispatch,
            clock=self.step_time(),
            cost=self.cost.cost(),
            until=self.until,
            record=self.record,
            seed=self.seed,
            **cell.parameters,
        )
