"""Running a scenario: every cell at every replication, and the directory that holds the results.

A run directory is written whole or not at all, and holds nothing that depends on when, where
or with how many processes it was made: the same scenario, seed and versions give the same bytes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import joblib
import pandas as pd
from tqdm import tqdm

from fairq.errors import FairqError, InputError
from fairq.manifest import MANIFEST, differences, manifest_of, read_manifest
from fairq.overload import Overload, find_overloads
from fairq.provenance import reading_text
from fairq.run_tables import class_rows, read_table, with_first
from fairq.rundir import written_whole
from fairq.scenario import Scenario
from fairq.statistics import Interval, intervals, summarise
from fairq.validation import whole_number
from fairq.wording import cell_label

if TYPE_CHECKING:
    from fairq.scenario import Cell
    from fairq.workload import Workload

__all__ = ["Study", "load_study", "run_study"]

_FILES = ("runs.csv", "summary.csv", "report.html")
_CLASSES = "classes.csv"


_Rows = tuple[dict[str, Any], list[dict[str, Any]]]
"""A run's row of runs.csv, and its rows of classes.csv."""


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
    """

    directory: Path
    scenario: Scenario
    runs: pd.DataFrame
    summary: pd.DataFrame
    classes: pd.DataFrame | None = None
    reused: bool = False
    readings: tuple[str, ...] = ()

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

    def mark(self, cell: int) -> str:
        """What a table says beside the name of a cell that is not steady; nothing of one that is."""
        return self.overloads[cell].mark if cell in self.overloads else ""


def run_study(
    scenario: Scenario, out: str | Path, *, jobs: int = 1, force: bool = False, progress: bool = True
) -> Study:
    """Simulate every cell of `scenario` at every replication and write the run directory `out`.

    The cells of a replication share one drawn workload.  A finished directory of the same
    scenario, seed, input files and versions is read and returned as it is.

    Parameters:
        out: the directory; it appears only when all is done.
        jobs: processes; the results do not depend on it.
        force: run again, whatever run directory is there, and replace it.
        progress: a bar on stderr, where that is a terminal.

    Raises:
        InputError: `out` is something else than a run directory, or one of another study and not `force`;
            or the scenario asks for what is not allowed.
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
        drawn: dict[str, Any] = {}
        runs, classes = _simulate_all(scenario, jobs, progress, drawn)
        _write(fresh, scenario, manifest | {"arrivals": drawn}, runs, classes)
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
    return Study(directory, scenario, runs, summary, classes, reused, _readings(manifest, directory))


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
    told = ("arrivals", "reading")  # what was drawn and how files were read: no causes
    found = {name: value for name, value in found.items() if name not in told}
    reasons = list(differences(found, manifest))
    reasons += [f"{name} is missing" for name in files if not (directory / name).is_file()]
    if reasons:
        what = "; ".join(reasons[:3])
        raise InputError(f"{directory} holds another run ({what}): name another directory or use --force")
    return True


def _simulate_all(
    scenario: Scenario, jobs: int, progress: bool, drawn: dict[str, Any]
) -> tuple[pd.DataFrame, pd.DataFrame | None]:
    """A row per replication and cell, in that order whatever process finished first; and those of classes.

    `drawn` is filled with the figures of the first replication's arrivals.
    """
    cells = scenario.cells()
    if jobs == 1:
        rows: Iterator[_Rows] = (_rows(*task) for task in _tasks(scenario, cells, drawn))
    else:
        pool = joblib.Parallel(n_jobs=jobs, return_as="generator", max_nbytes=None)
        rows = pool(joblib.delayed(_rows)(*task) for task in _tasks(scenario, cells, drawn))
    total = len(cells) * scenario.replications
    bar = tqdm(rows, total=total, unit="run", desc=scenario.name, disable=None if progress else True)
    try:
        done = list(bar)
    except BrokenProcessPool:
        raise FairqError(
            "a process of this run was killed, probably for lack of memory: use fewer --jobs"
        ) from None
    first = ["cell", "replication", "policy", *_parameters(cells)]
    by_class = [row for _, rows in done for row in rows]
    classes = with_first(by_class, [*first, "class"]) if by_class else None
    return with_first([row for row, _ in done], first), classes


def _parameters(cells: list[Cell]) -> list[str]:
    """Names of the policies' parameters, in order of first appearance."""
    return list(dict.fromkeys(name for cell in cells for name in cell.parameters))


def _tasks(
    scenario: Scenario, cells: list[Cell], drawn: dict[str, Any]
) -> Iterator[tuple[Scenario, Cell, int, Workload]]:
    """The runs to do; a replication's workload is drawn once, when its first run is due."""
    for replication in range(scenario.replications):
        workload = scenario.draw(replication)
        if replication == 0:
            drawn.update(scenario.drawn_figures(workload))
        for cell in cells:
            yield scenario, cell, replication, workload


def _rows(scenario: Scenario, cell: Cell, replication: int, workload: Workload) -> _Rows:
    """Simulate one cell once, check it, and keep its summary, and its classes where the scenario has any."""
    if scenario.record == "summary":  # a check needs the table
        scenario = scenario.model_copy(update={"record": "requests"})
    try:
        result = scenario.simulate(cell, replication, workload)
        result.check()
        classes = class_rows(result) if _has_classes(scenario) else []
    except FairqError as error:
        error.add_note(f"in {cell_label(cell.policy, cell.parameters)}, replication {replication}")
        raise
    identity = {"cell": cell.index, "replication": replication, "policy": cell.policy, **cell.parameters}
    row = identity | {str(name): value for name, value in result.summary.items()}
    return row, [identity | of_class for of_class in classes]


def _write(
    directory: Path,
    scenario: Scenario,
    manifest: dict[str, Any],
    runs: pd.DataFrame,
    classes: pd.DataFrame | None,
) -> None:
    """Every file of the run directory; numbers as the shortest text that reads back the same."""
    from fairq.report import write_report  # it draws, and a Study is often read without

    keys = ["cell", "policy", *_parameters(scenario.cells())]
    metrics = [name for name in runs.columns if name not in {"replication", *keys}]
    summary = summarise(runs, keys, metrics)
    text = json.dumps(manifest, indent=2, ensure_ascii=False, sort_keys=False) + "\n"
    (directory / MANIFEST).write_text(text, encoding="utf-8", newline="\n")
    tables = {"runs.csv": runs, "summary.csv": summary}
    for name, table in (tables if classes is None else tables | {_CLASSES: classes}).items():
        table.to_csv(directory / name, index=False, lineterminator="\n", encoding="utf-8")
    readings = _readings(manifest, directory)
    write_report(Study(directory, scenario, runs, summary, classes, readings=readings), directory)
