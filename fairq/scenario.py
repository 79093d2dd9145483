"""A scenario: one TOML file that says what to simulate, and the one schema that checks it.

`Scenario.load` reads a file or a scenario of the gallery, `Scenario.cells` lists the arms to
compare, `Scenario.draw` makes the requests of a replication, the same for every arm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    PrivateAttr,
    ValidationError,
    field_validator,
    model_validator,
)

from fairq.acceptance import BucketedLinear
from fairq.cost import StepTime
from fairq.demand import configured, period_of, potential_requests
from fairq.dispatch import check_dispatch
from fairq.errors import InputError
from fairq.fields import POSITIVE, Amount, Part, Seed, as_tuple, explain, inside
from fairq.generation import Draw, readings
from fairq.realised import realised
from fairq.schema import Arm, Clock, Money, Pool
from fairq.servegen import dataset_beside
from fairq.settings import find_scenario, override, read_toml
from fairq.simulate import Result, simulate
from fairq.sources_schema import LengthPool, ServeGen, Trace
from fairq.streams import open_uniforms, stream
from fairq.workload import Workload
from fairq.workload_schema import Requests

__all__ = ["Cell", "Scenario"]


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
    seed: Seed = Field(default=0, description="Root of every random stream.")
    replications: Annotated[int, Field(ge=1, le=1_000_000), POSITIVE] = Field(
        default=1, description="Number of independent draws of the workload."
    )
    clock: Clock = Field(
        default="token",
        description="Time of a step: 1 ('token'), by c and tau of cost ('cost'), of a preset, or a law.",
    )
    until: Amount | None = Field(default=None, description="Time at which the run stops; else all is served.")
    engine: Literal["auto", "simpy", "compiled"] = Field(
        default="auto",
        description="What simulates: 'simpy'; 'compiled', machine code for the policies it knows; or 'auto', "
        "the latter where it can and is worth it. The results are the same.",
    )
    record: Literal["summary", "requests", "segments"] = Field(
        default="requests", description="How much a run keeps: 'segments' is everything."
    )
    workload: Requests = Field(description="The requests.")
    pool: Pool = Field(description="The workers.")
    cost: Money = Field(default=Money(), description="Money.")
    policies: Annotated[tuple[Arm, ...], BeforeValidator(as_tuple)] = Field(
        min_length=1, description="The policies to compare, in this order."
    )

    _source: Path | None = PrivateAttr(None)

    @field_validator("policies")
    @classmethod
    def _each_once(cls, policies: tuple[Arm, ...]) -> tuple[Arm, ...]:
        arms = [arm for policy in policies for arm in policy.arms()]
        for index, (name, parameters) in enumerate(arms):
            if (name, parameters) in arms[:index]:
                with_them = f" with {parameters}" if parameters else ""
                raise InputError(f"{name!r}{with_them} is there twice: it must be there once")
        return policies

    @model_validator(mode="after")
    def _has_an_end(self) -> Scenario:
        inside(self.workload.check_end, self.until)
        return self

    @model_validator(mode="after")
    def _classes_have_a_width(self) -> Scenario:
        for policy in self.policies:
            for _, parameters in policy.arms():
                inside(check_dispatch, self.pool.dispatch, parameters.get("alpha"))
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
        scenario._source = path  # noqa: SLF001 -- its own class; a constructor argument would be a field
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
        try:
            draw = Draw(self.seed, replication, self._located, self.until)
            return potential_requests(self.workload, draw)
        except InputError as error:
            if not str(error).startswith("workload."):
                raise  # a file's own error names the file
            raise InputError(self.place(str(error))) from None

    def trace_path(self) -> Path | None:
        """The file of the arrivals, a trace or a ServeGen client; None without one.

        A relative path is looked for beside the scenario's file first, then in the working folder.
        """
        arrivals = self.workload.arrivals
        return self._located(arrivals.path) if isinstance(arrivals, (Trace, ServeGen)) else None

    def files(self) -> dict[str, tuple[str, Path]]:
        """Every file that the workload is read from, by dotted field: its path as given, and where it is."""
        found = {}
        for field, source in self.workload.sources():
            arrivals, tokens = source.arrivals, source.tokens
            if isinstance(arrivals, (Trace, ServeGen)):
                found[f"{field}.arrivals.path"] = (arrivals.path, self._located(arrivals.path))
            if isinstance(arrivals, ServeGen):
                given = arrivals.dataset or dataset_beside(arrivals.path)
                found[f"{field}.arrivals.dataset"] = (str(given), self._located(str(given)))
            if isinstance(tokens, LengthPool):
                found[f"{field}.tokens.path"] = (tokens.path, self._located(tokens.path))
        return found

    def readings(self) -> dict[str, dict[str, Any]]:
        """How each file of requests is read, by dotted field; see `fairq.generation.readings`.

        Raises:
            InputError: a file that is not there or cannot be read.
        """
        return readings(self.workload.sources(), self._located)

    def _located(self, path: str) -> Path:
        given = Path(path)
        beside = given if self._source is None else self._source.parent / given
        return beside if beside.exists() else given

    def place(self, message: str) -> str:
        """`message` with the scenario's file before it, if it was read from one."""
        return f"{self._source or 'scenario'}: {message}"

    def step_time(self) -> str | StepTime:
        """The clock as `fairq.simulate` takes it: a name or a `StepTime`."""
        clock = self.clock
        return clock if isinstance(clock, str) else clock.step_time()

    def _check_clock(self, workload: Workload) -> None:
        """Refuse seconds on the token clock with the fields that mend it."""
        if self.clock == "token" and workload.time_unit == "s":
            raise InputError(
                self.place(
                    "workload.arrivals are in seconds, but clock is 'token': it must be 'cost' or a table "
                    "{ c, b, tau }, or workload.arrivals.rate must say how many arrive a step"
                )
            )

    def simulate(
        self, cell: Cell, replication: int, workload: Workload | None = None, engine: str | None = None
    ) -> Result:
        """Run one cell on one replication's requests (`workload`, if they are drawn already).

        The summary's `attrs` have the workload's ``"arrivals"``, as `drawn_figures` gives them.

        Parameters:
            cell, replication: what to run.
            workload: what `draw` gave for the replication.
            engine: another than the scenario's, as `fairq.engine_choice.choose_engines` has it for a study.
        """
        workload = self.draw(replication) if workload is None else workload
        self._check_clock(workload)
        result = simulate(
            workload,
            cell.policy,
            workers=self.pool.groups(),
            batch_size=self.pool.batch_size,
            dispatch=self.pool.dispatch,
            clock=self.step_time(),
            cost=self.cost.cost(),
            until=self.until,
            record=self.record,
            seed=self.seed,
            replication=replication,
            queue_limit=self.pool.queue_limit,
            abandon_after=self.pool.patience,
            max_queued=self.pool.max_queued,
            engine=self.engine if engine is None else engine,
            **cell.parameters,
        )
        result.summary.attrs["arrivals"] = self.drawn_figures(workload)
        return result

    def drawn_figures(self, workload: Workload) -> dict[str, Any]:
        """The law of arrivals as asked for beside what was drawn, ready for JSON.

        Keys: ``configured`` (`fairq.demand.configured`), ``realised`` (`fairq.realised.Realised`, after any
        acceptance), and ``widened``, the share of the predictions that missed; None without any.
        """
        marks = workload.widened
        return {
            "configured": configured(self.workload),
            "realised": realised(workload, period_of(self.workload)).to_dict(),
            "widened": float(marks.mean()) if marks is not None and len(marks) else None,
        }
