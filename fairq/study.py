"""Running a scenario: every cell at every replication, and the directory that holds the results.

A run directory is written whole or not at all, and holds nothing that depends on when, where
or with how many processes it was made: the same scenario, seed and versions give the same bytes.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from fairq.engine_choice import engines_of, engines_text
from fairq.errors import InputError
from fairq.manifest import MANIFEST, causes, differences, manifest_of, read_manifest, told_of
from fairq.overload import Overload, find_overloads
from fairq.provenance import reading_text
from fairq.run_tables import read_table
from fairq.rundir import written_whole
from fairq.scenario import Scenario
from fairq.statistics import Interval, intervals, summarise
from fairq.study_runs import StudyRuns, parameters_of, run_all
from fairq.validation import whole_number
from fairq.wording import cell_label, time_unit
from fairq.wording_arrivals import arrivals_text

if TYPE_CHECKING:
    from fairq.scenario import Cell

__all__ = ["Study", "load_study", "run_study"]

_FILES = ("runs.csv", "summary.csv", "report.html")
_CLASSES = "classes.csv"


@dataclass(frozen=True, eq=False)
class Study:
    """A finished run directory, read back.

    Attributes:
        directory: where it lies.
        scenario: what was run.
        runs: a row per cell and replication: cell, replication, policy, its parameters, and
            the names of `fairq.simulate`'s summary.
        summary: tidy; cell, policy, parameters, metric, n, mean, ci_low, ci_high (Student t, 95 %,
            over replications; empty ends with one replication).
        classes: of a scenario with `workload.classes`, a row per cell, replication and class, the last
            ``"all"``: cell, replication, policy, its parameters, class, and the columns of
            `fairq.Result.classes`; None of another.
        reused: whether the directory was there already and nothing was simulated.
        readings: how each file of requests was read, a line each: format, columns, rows used and left out.
        engines: which engine ran each cell, ``"simpy"`` or ``"compiled"``; the figures do not depend on it.
        arrivals: the law of arrivals that was asked for beside what was drawn, in a sentence; or "".
    """

    directory: Path
    scenario: Scenario
    runs: pd.DataFrame
    summary: pd.DataFrame
    classes: pd.DataFrame | None = None
    reused: bool = False
    readings: tuple[str, ...] = ()
    engines: tuple[str, ...] = ()
    arrivals: str = ""

    @property
    def report(self) -> Path:
        """Path of the report, a web page that needs nothing else."""
        return self.directory / "report.html"

    @cached_property
    def cells(self) -> list[Cell]:
        """The cells of the scenario, in its order."""
        return self.scenario.cells()

    @cached_property
    def intervals(self) -> dict[tuple[int, str], Interval]:
        """The summary by cell and metric."""
        return intervals(self.summary)

    @cached_property
    def labels(self) -> dict[int, str]:
        """Cell index to a name for people, such as ``isjl (alpha 50)``."""
        return {cell.index: cell_label(cell.policy, cell.parameters) for cell in self.cells}

    @cached_property
    def overloads(self) -> dict[int, Overload]:
        """The cells that did not keep up with the arrivals in some replication, by index."""
        return find_overloads(self.runs)

    @property
    def engines_text(self) -> str:
        """Which engine ran what, in words."""
        return engines_text(self.engines, list(self.labels.values()))

    def mark(self, cell: int) -> str:
        """What a table says beside the name of a cell that is not steady; nothing of one that is."""
        return self.overloads[cell].mark if cell in self.overloads else ""


def run_study(
    scenario: Scenario, out: str | Path, *, jobs: int = 1, force: bool = False, progress: bool = True
) -> Study:
    """Simulate every cell of `scenario` at every replication and write the run directory `out`.

    The cells of a replication share one drawn workload.  A finished directory of the same
    scenario, seed, input files and versions is read and returned as it is, whichever engine made it.

    Parameters:
        out: the directory; it appears only when all is done.
        jobs: processes; the results do not depend on it.
        force: run again, whatever run directory is there, and replace it.
        progress: a bar on stderr, where that is a terminal.

    Raises:
        InputError: `out` is something else than a run directory, or one of another study and not `force`;
            or the scenario asks for what is not allowed, or for an engine that cannot run one of its cells.
        CheckError, PolicyError: a run broke one of its invariants, or its policy answered wrongly; the
            error names cell and replication.
        OSError: `out` cannot be written.
    """
    jobs, directory, manifest = whole_number("jobs", jobs, at_least=1), Path(out), manifest_of(scenario)
    if _is_finished(directory, manifest, force, _files(scenario)):
        return load_study(directory, reused=True)
    if readings := scenario.readings():
        manifest["reading"] = readings
    with written_whole(directory, replace=force) as fresh:
        done = run_all(scenario, jobs, progress)
        _write(fresh, scenario, manifest | told_of(done.engines, done.arrivals), done)
    return load_study(directory)


def load_study(directory: str | Path, *, reused: bool = False) -> Study:
    """Read a finished run directory.

    Raises:
        InputError: no run directory, or one that lacks a file.
    """
    directory = Path(directory)
    manifest = read_manifest(directory)
    try:
        scenario = Scenario.from_dict(manifest["scenario"])
    except InputError as error:
        raise InputError(
            f"{directory / MANIFEST} holds no scenario of this version of fairq: {error}"
        ) from None
    for name in _files(scenario):
        if not (directory / name).is_file():
            raise InputError(f"{directory} is no whole run directory: it has no {name}")
    runs, summary = (read_table(directory / name) for name in ("runs.csv", "summary.csv"))
    classes = read_table(directory / _CLASSES, texts=["class"]) if _has_classes(scenario) else None
    readings, engines = _readings(manifest, directory), _engines(manifest, directory, scenario)
    drawn = _arrivals(manifest, directory, scenario)
    return Study(directory, scenario, runs, summary, classes, reused, readings, engines, drawn)


def _has_classes(scenario: Scenario) -> bool:
    return scenario.workload.classes is not None


def _files(scenario: Scenario) -> tuple[str, ...]:
    """The files beside the manifest that a finished directory must have."""
    return (*_FILES, _CLASSES) if _has_classes(scenario) else _FILES


def _readings(manifest: dict[str, Any], directory: Path) -> tuple[str, ...]:
    try:
        return tuple(reading_text(entry) for entry in manifest.get("reading", {}).values())
    except (AttributeError, KeyError, TypeError, ValueError):
        raise InputError(f"{directory / MANIFEST} is damaged: its 'reading' is none of fairq's") from None


def _arrivals(manifest: dict[str, Any], directory: Path, scenario: Scenario) -> str:
    try:
        return arrivals_text(manifest.get("arrivals", {}), time_unit(scenario.clock))
    except (AttributeError, KeyError, TypeError, ValueError):
        raise InputError(f"{directory / MANIFEST} is damaged: its 'arrivals' are none of fairq's") from None


def _engines(manifest: dict[str, Any], directory: Path, scenario: Scenario) -> tuple[str, ...]:
    try:
        return engines_of(manifest, len(scenario.cells()))
    except (TypeError, ValueError):
        raise InputError(f"{directory / MANIFEST} is damaged: its 'engines' are none of fairq's") from None


def _is_finished(directory: Path, manifest: dict[str, Any], force: bool, files: tuple[str, ...]) -> bool:
    """Whether `directory` holds this very study and may be read; an error where it holds something to keep.

    Even with `force` only a run directory is replaced: a slip of the hand must not cost anything else.
    """
    here = Path.cwd()
    if os.path.abspath(directory) in map(str, (here, *here.parents)):  # noqa: PTH100 - links stay as they are
        raise InputError(f"--out is {str(directory)!r}: it must be a folder other than the one you are in")
    if not directory.exists() or (directory.is_dir() and not any(directory.iterdir())):
        return False
    if not directory.is_dir():
        raise InputError(f"{directory} is a file: the results need a directory of their own")
    try:
        found = read_manifest(directory)
    except InputError as error:
        raise InputError(f"{error}; nothing there is overwritten, name another directory") from None
    if force:
        return False
    reasons = list(differences(causes(found), causes(manifest)))
    reasons += [f"{name} is missing" for name in files if not (directory / name).is_file()]
    if reasons:
        what = "; ".join(reasons[:3])
        raise InputError(f"{directory} holds another run ({what}): name another directory or use --force")
    return True


def _write(directory: Path, scenario: Scenario, manifest: dict[str, Any], done: StudyRuns) -> None:
    """Every file of the run directory; numbers as the shortest text that reads back the same."""
    from fairq.report import write_report  # it draws, and a Study is often read without

    keys = ["cell", "policy", *parameters_of(scenario.cells())]
    metrics = [name for name in done.runs.columns if name not in {"replication", *keys}]
    summary = summarise(done.runs, keys, metrics)
    text = json.dumps(manifest, indent=2, ensure_ascii=False, sort_keys=False) + "\n"
    (directory / MANIFEST).write_text(text, encoding="utf-8", newline="\n")
    tables = {"runs.csv": done.runs, "summary.csv": summary, _CLASSES: done.classes}
    for name, table in tables.items():
        if table is not None:
            table.to_csv(directory / name, index=False, lineterminator="\n", encoding="utf-8")
    readings = _readings(manifest, directory)
    drawn = _arrivals(manifest, directory, scenario)
    study = Study(
        directory, scenario, done.runs, summary, done.classes, readings=readings, engines=done.engines,
        arrivals=drawn,
    )  # fmt: skip
    write_report(study, directory)
