"""Running a scenario: every cell at every replication, and the directory that holds the results.

A run directory is written whole or not at all, and holds nothing that depends on when, where
or with how many processes it was made: the same scenario, seed and versions give the same bytes.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import joblib
import pandas as pd
from tqdm import tqdm

from fairq.errors import FairqError, InputError
from fairq.manifest import MANIFEST, differences, manifest_of, read_manifest
from fairq.provenance import reading_text
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
        reused: whether the directory was there already and nothing was simulated.
        readings: how each file of requests was read, a line each: format, columns, rows used and left out.
    """

    directory: Path
    scenario: Scenario
    runs: pd.DataFrame
    summary: pd.DataFrame
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
    if _is_finished(directory, manifest, force):
        return load_study(directory, reused=True)
    if readings := scenario.readings():
        manifest["reading"] = readings
    with written_whole(directory, replace=force) as fresh:
        drawn: dict[str, Any] = {}
        runs = _simulate_all(scenario, jobs, progress, drawn)
        _write(fresh, scenario, manifest | {"arrivals": drawn}, runs)
    return load_study(directory)


def load_study(directory: str | Path, *, reused: bool = False) -> Study:
    """Read a finished run directory.

    Raises:
        InputError: no run directory, or one that lacks a file.
    """
    directory = Path(directory)
    manifest = read_manifest(directory)
    for name in _FILES:
        if not (directory / name).is_file():
            raise InputError(f"{directory} is no whole run directory: it has no {name}")
    try:
        scenario = Scenario.from_dict(manifest["scenario"])
    except InputError as error:
        raise InputError(
            f"{directory / MANIFEST} holds no scenario of this version of fairq: {error}"
        ) from None
    runs, summary = (_read_table(directory / name) for name in ("runs.csv", "summary.csv"))
    return Study(directory, scenario, runs, summary, reused, _readings(manifest, directory))


def _readings(manifest: dict[str, Any], directory: Path) -> tuple[str, ...]:
    try:
        return tuple(reading_text(entry) for entry in manifest.get("reading", {}).values())
    except (AttributeError, KeyError, TypeError, ValueError):
        raise InputError(f"{directory / MANIFEST} is damaged: its 'reading' is none of fairq's") from None


def _read_table(path: Path) -> pd.DataFrame:
    """A table to the last bit as it was written, which pandas' own reading is not in every version."""
    try:
        texts = pd.read_csv(path, dtype=str, keep_default_na=False)
    except ValueError as error:  # pandas' parser errors are ValueErrors
        raise InputError(f"{path} is no table: {error}") from None
    return pd.DataFrame({name: _column(texts[name].tolist()) for name in texts.columns})


def _column(texts: list[str]) -> list[bool] | list[int] | list[float] | list[str | None]:
    """Truth values or whole numbers if all are, else floats if all are (an empty text is NaN), else text."""
    if set(texts) <= {"True", "False"}:
        return [text == "True" for text in texts]
    with suppress(ValueError):
        return [int(text) for text in texts]
    with suppress(ValueError):
        return [float(text) if text else math.nan for text in texts]
    return [text or None for text in texts]


def _is_finished(directory: Path, manifest: dict[str, Any], force: bool) -> bool:
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
    reasons += [f"{name} is missing" for name in _FILES if not (directory / name).is_file()]
    if reasons:
        what = "; ".join(reasons[:3])
        raise InputError(f"{directory} holds another run ({what}): name another directory or use --force")
    return True


def _simulate_all(scenario: Scenario, jobs: int, progress: bool, drawn: dict[str, Any]) -> pd.DataFrame:
    """A row per replication and cell, in that order whatever process finished first.

    `drawn` is filled with the figures of the first replication's arrivals.
    """
    cells = scenario.cells()
    if jobs == 1:
        rows: Iterator[dict[str, Any]] = (_row(*task) for task in _tasks(scenario, cells, drawn))
    else:
        pool = joblib.Parallel(n_jobs=jobs, return_as="generator", max_nbytes=None)
        rows = pool(joblib.delayed(_row)(*task) for task in _tasks(scenario, cells, drawn))
    total = len(cells) * scenario.replications
    bar = tqdm(rows, total=total, unit="run", desc=scenario.name, disable=None if progress else True)
    try:
        runs = pd.DataFrame(list(bar))
    except BrokenProcessPool:
        raise FairqError(
            "a process of this run was killed, probably for lack of memory: use fewer --jobs"
        ) from None
    parameters = _parameters(cells)
    first = ["cell", "replication", "policy", *parameters]
    return runs[[*first, *(name for name in runs.columns if name not in first)]]


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


def _row(scenario: Scenario, cell: Cell, replication: int, workload: Workload) -> dict[str, Any]:
    """Simulate one cell once, check it, and keep its summary."""
    if scenario.record == "summary":  # a check needs the table
        scenario = scenario.model_copy(update={"record": "requests"})
    try:
        result = scenario.simulate(cell, replication, workload)
        result.check()
    except FairqError as error:
        error.add_note(f"in {cell_label(cell.policy, cell.parameters)}, replication {replication}")
        raise
    identity = {"cell": cell.index, "replication": replication, "policy": cell.policy, **cell.parameters}
    return identity | {str(name): value for name, value in result.summary.items()}


def _write(directory: Path, scenario: Scenario, manifest: dict[str, Any], runs: pd.DataFrame) -> None:
    """Every file of the run directory; numbers as the shortest text that reads back the same."""
    from fairq.report import write_report  # it draws, and a Study is often read without

    keys = ["cell", "policy", *_parameters(scenario.cells())]
    metrics = [name for name in runs.columns if name not in {"replication", *keys}]
    summary = summarise(runs, keys, metrics)
    text = json.dumps(manifest, indent=2, ensure_ascii=False, sort_keys=False) + "\n"
    (directory / MANIFEST).write_text(text, encoding="utf-8", newline="\n")
    for name, table in (("runs.csv", runs), ("summary.csv", summary)):
        table.to_csv(directory / name, index=False, lineterminator="\n", encoding="utf-8")
    readings = _readings(manifest, directory)
    write_report(Study(directory, scenario, runs, summary, readings=readings), directory)
