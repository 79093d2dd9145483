"""Every run of a study: each replication's workload drawn once and shared, each run simulated and checked.

The workload is drawn where the study was started.  Other processes map the file that it is written to, once a
replication, and that goes when the replication's last run is done.  A run goes out as scenario, cell and
workload and comes back as rows: only the file supposes that all processes are on one machine.
"""

from __future__ import annotations

import tempfile
import warnings
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import joblib
import pandas as pd
from tqdm import tqdm

from fairq.engine_choice import choose_engines
from fairq.errors import FairqError
from fairq.run_tables import class_rows, with_first
from fairq.sharing import read_shared, write_shared
from fairq.wording import cell_label

if TYPE_CHECKING:
    from fairq.scenario import Cell, Scenario
    from fairq.workload import Workload

__all__ = ["StudyRuns", "parameters_of", "run_all"]

_REDRAW = 0.2  # least seconds between two states of the progress bar
_SMOOTHING = 0.05  # cells differ, and come round: the time left goes by the mean of many runs


@dataclass(frozen=True, eq=False)
class StudyRuns:
    """What the runs of a study came to.

    Attributes:
        runs: a row per replication and cell, in that order.
        classes: a row per replication, cell and class; None of a scenario without classes.
        arrivals: the figures of the first replication's arrivals.
        engines: which engine ran each cell.
    """

    runs: pd.DataFrame
    classes: pd.DataFrame | None
    arrivals: dict[str, Any]
    engines: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class _Task:
    """A run to do, the `number`-th; its workload, or the file that has it."""

    number: int
    scenario: Scenario
    cell: Cell
    replication: int
    engine: str
    workload: Workload | Path


@dataclass(frozen=True, eq=False)
class _Done:
    """A run's row of runs.csv, its rows of classes.csv, and the warnings that it gave."""

    number: int
    replication: int
    row: dict[str, Any]
    by_class: list[dict[str, Any]]
    warned: list[tuple[type[Warning], str]]


def run_all(scenario: Scenario, jobs: int, progress: bool) -> StudyRuns:
    """Simulate every cell of `scenario` at every replication, in so many processes.

    The tables are the same whatever process finished first.

    Raises:
        InputError, CheckError, PolicyError: as `fairq.study.run_study` says.
        FairqError: a process was killed.
    """
    drawn = [scenario.draw(0)]
    engines, arrivals = choose_engines(scenario, drawn[0]), scenario.drawn_figures(drawn[0])
    cells = scenario.cells()
    tasks, bar = _tasks(scenario, cells, engines, drawn), _bar(scenario, cells, progress)
    try:
        with bar, closing(_each(tasks, len(cells), jobs)) as runs:
            done = _collected(runs, bar)
    except BrokenProcessPool:
        raise FairqError(
            "a process of this run was killed, probably for lack of memory: use fewer --jobs"
        ) from None
    first = ["cell", "replication", "policy", *parameters_of(cells)]
    by_class = [row for each in done for row in each.by_class]
    classes = with_first(by_class, [*first, "class"]) if by_class else None
    return StudyRuns(with_first([each.row for each in done], first), classes, arrivals, engines)


def parameters_of(cells: Iterable[Cell]) -> list[str]:
    """Names of the policies' parameters, in order of first appearance."""
    return list(dict.fromkeys(name for cell in cells for name in cell.parameters))


def _bar(scenario: Scenario, cells: list[Cell], progress: bool) -> tqdm[Any]:
    """The bar on stderr: runs done, and the time left."""
    return tqdm(
        total=len(cells) * scenario.replications,
        unit="run",
        desc=scenario.name,
        disable=None if progress else True,
        mininterval=_REDRAW,
        miniters=1,
        smoothing=_SMOOTHING,
    )


def _tasks(
    scenario: Scenario, cells: list[Cell], engines: tuple[str, ...], drawn: list[Workload]
) -> Iterator[_Task]:
    """The runs to do; a replication's workload is drawn once, when its first run is due.

    `drawn` holds that of the first replication, and is emptied: no workload outlives its runs.
    """
    if scenario.record == "summary":  # a check needs the table, which goes when that is done
        scenario = scenario.model_copy(update={"record": "requests"})
    number = 0
    for replication in range(scenario.replications):
        workload = drawn.pop() if drawn else scenario.draw(replication)
        for cell, engine in zip(cells, engines, strict=True):
            yield _Task(number, scenario, cell, replication, engine, workload)
            number += 1


def _collected(runs: Iterable[_Done], bar: tqdm[Any]) -> list[_Done]:
    """What came of the tasks, by number; each distinct warning is given once."""
    found, given = [], set()
    for done in runs:
        found.append(done)
        bar.update()
        for category, text in done.warned:
            if (category, text) not in given:
                given.add((category, text))
                with tqdm.external_write_mode():
                    warnings.warn(text, category, stacklevel=2)
    return sorted(found, key=lambda done: done.number)


def _each(tasks: Iterable[_Task], cells: int, jobs: int) -> Generator[_Done, None, None]:
    """What comes of each task, as it is done."""
    if jobs == 1:
        yield from map(_carry_out, tasks)
    else:
        yield from _shared_out(tasks, cells, jobs)


def _shared_out(tasks: Iterable[_Task], cells: int, jobs: int) -> Generator[_Done, None, None]:
    """Carry out the tasks in other processes; as they finish, in whatever order.

    A few tasks more than there are processes are waiting, so few workloads exist at a time.
    """
    pool = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1, max_nbytes=None)
    finished: Counter[int] = Counter()
    with tempfile.TemporaryDirectory(prefix="fairq-", ignore_cleanup_errors=True) as folder:
        written = _written(tasks, Path(folder))
        with _closing_quietly(pool(joblib.delayed(_carry_out)(task) for task in written)) as runs:
            for done in runs:
                finished[done.replication] += 1
                if finished[done.replication] == cells:
                    with suppress(OSError):  # where a file in use cannot be removed, it goes with its folder
                        _file_of(Path(folder), done.replication).unlink()
                yield done


@contextmanager
def _closing_quietly(runs: Generator[_Done, None, None]) -> Iterator[Iterator[_Done]]:
    """`runs`, ended in any case; that some are done which nobody wants is no news to who interrupted them."""
    try:
        yield runs
    finally:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=r"\d+ tasks (have|which) ")
            runs.close()


def _written(tasks: Iterable[_Task], folder: Path) -> Iterator[_Task]:
    """The tasks with a file in place of the workload, written when its first one is due."""
    last = -1
    for task in tasks:
        path = _file_of(folder, task.replication)
        if task.replication != last:
            write_shared(cast("Workload", task.workload), path)
            last = task.replication
        yield replace(task, workload=path)


def _file_of(folder: Path, replication: int) -> Path:
    return folder / f"workload-{replication}"


def _carry_out(task: _Task) -> _Done:
    """Simulate one cell once, check it, and keep its summary, and its classes where the scenario has any."""
    cell, workload = task.cell, task.workload
    with warnings.catch_warnings(record=True) as caught:
        try:
            workload = read_shared(workload) if isinstance(workload, Path) else workload
            result = task.scenario.simulate(cell, task.replication, workload, task.engine)
            result.check()
            by_class = class_rows(result) if task.scenario.workload.classes is not None else []
        except FairqError as error:
            error.add_note(f"in {cell_label(cell.policy, cell.parameters)}, replication {task.replication}")
            raise
    identity = {"cell": cell.index, "replication": task.replication, "policy": cell.policy, **cell.parameters}
    row = identity | {str(name): value for name, value in result.summary.items()}
    warned = [(warning.category, str(warning.message)) for warning in caught]
    by_class = [identity | of_class for of_class in by_class]
    return _Done(task.number, task.replication, row, by_class, warned)
