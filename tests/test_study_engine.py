"""A study and its engines: which is chosen, that the figures are the same, what is said where one cannot."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tempfile
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_study import small_scenario
from test_study import contents

import fairq
from fairq import InputError, engine_choice, study_runs
from fairq.cli import main
from fairq.compiled import running
from fairq.engine_choice import WORTH, choose_engines, engines_of, engines_text
from fairq.errors import EngineWarning
from fairq.manifest import read_manifest
from fairq.result import Result
from fairq.scenario import Scenario
from fairq.sharing import read_shared, write_shared
from fairq.study import Study, load_study, run_study

needs_numba = pytest.mark.skipif(
    find_spec("numba") is None, reason="the compiled engine needs Numba: pip install 'fairq[fast]'"
)
WINDOW = "policies.0={ name = 'window', window = 2 }"
ENGINES = ("simpy", "compiled", "auto")


def small(folder: Path, *overrides: str) -> Scenario:
    return Scenario.load(small_scenario(folder), overrides)


@pytest.fixture
def without_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    said = "it needs Numba, which is not installed: pip install 'fairq[fast]'"
    monkeypatch.setattr("fairq.compiled.running.fault_of_numba", lambda: said)


@pytest.fixture
def worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any number of requests is worth it."""
    monkeypatch.setattr(engine_choice, "WORTH", 1)


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """They take far longer than these runs."""
    monkeypatch.setattr("fairq.figures.study_pictures", lambda _: [])


pytestmark = pytest.mark.usefixtures("no_pictures")


def told(study: Study) -> tuple[Any, Any]:
    manifest = json.loads((study.directory / "manifest.json").read_text(encoding="utf-8"))
    return manifest["engine"], manifest["engines"]


@needs_numba
def test_the_figures_do_not_depend_on_the_engine(tmp_path: Path) -> None:
    tables = []
    for engine in ENGINES:
        study = run_study(small(tmp_path, f"engine={engine}"), tmp_path / engine, progress=False)
        tables.append([(study.directory / name).read_bytes() for name in ("runs.csv", "summary.csv")])
        assert told(study)[1] == ["compiled" if engine == "compiled" else "simpy"] * 4
    assert tables[0] == tables[1] == tables[2]


@needs_numba
@pytest.mark.usefixtures("worth_it")
@pytest.mark.parametrize("engine", ENGINES)
def test_bytes_do_not_depend_on_the_number_of_processes(tmp_path: Path, engine: str) -> None:
    scenario = small(tmp_path, f"engine={engine}", *([] if engine == "compiled" else [WINDOW]))
    first = run_study(scenario, tmp_path / "one", progress=False)
    second = run_study(scenario, tmp_path / "two", jobs=2, progress=False)
    assert contents(first.directory) == contents(second.directory)
    assert first.engines == second.engines
    assert set(first.engines) == {"simpy": {"simpy"}, "auto": {"simpy", "compiled"}}.get(engine, {"compiled"})


@needs_numba
@pytest.mark.usefixtures("worth_it")
def test_the_engine_that_is_told_is_the_one_that_ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran, check = [], Result.check
    monkeypatch.setattr(Result, "check", lambda self: (ran.append(self.engine), check(self)))
    study = run_study(small(tmp_path, WINDOW), tmp_path / "run", progress=False)
    assert told(study) == ("compiled and simpy", ["simpy", "compiled", "compiled", "compiled"])
    assert ran == list(study.engines) * 3
    assert study.engines_text == "compiled for 3 policies, SimPy for window (window 2)"
    assert read_manifest(study.directory)["numba"]


@needs_numba
def test_auto_goes_by_the_requests_of_the_whole_study(tmp_path: Path) -> None:
    workload = fairq.Workload.from_arrays(np.ones(WORTH // 12, dtype=np.int64))  # 3 replications, 4 cells
    more = fairq.Workload.from_arrays(np.ones(WORTH // 12 + 1, dtype=np.int64))
    scenario = small(tmp_path)
    assert choose_engines(scenario, workload) == ("simpy",) * 4
    assert choose_engines(scenario, more) == ("compiled",) * 4
    assert choose_engines(small(tmp_path, WINDOW), more) == ("simpy",) * 4  # 3 cells that it can run
    for replications, engine in ((3, "simpy"), (4, "compiled")):
        scenario = small(tmp_path, WINDOW, f"replications={replications}")
        assert choose_engines(scenario, more) == ("simpy", engine, engine, engine)


@needs_numba
def test_what_a_process_did_before_does_not_matter(tmp_path: Path) -> None:
    """`fairq.simulate` takes what is loaded; a study must not."""
    workload = fairq.Workload.from_arrays([3, 1])
    fairq.simulate(workload, "fcfs", batch_size=2, engine="compiled")
    assert fairq.simulate(workload, "fcfs", batch_size=2, engine="auto").engine == "compiled"
    assert run_study(small(tmp_path), tmp_path / "run", progress=False).engines == ("simpy",) * 4


@pytest.mark.usefixtures("without_numba", "worth_it")
def test_auto_does_without_numba(tmp_path: Path) -> None:
    assert run_study(small(tmp_path), tmp_path / "run", progress=False).engines == ("simpy",) * 4


@pytest.mark.usefixtures("worth_it")
def test_auto_does_with_a_numba_that_does_not_suit_numpy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: str) -> None:
        raise ImportError("Numba needs NumPy 2.0 or less")

    monkeypatch.setattr(running, "find_spec", lambda _: object())
    monkeypatch.setattr(running, "import_module", refuse)
    running.fault_of_numba.cache_clear()
    try:
        assert choose_engines(small(tmp_path), fairq.Workload.from_arrays([1])) == ("simpy",) * 4
        with pytest.raises(InputError, match=r"Numba cannot be imported .*NumPy 2.0 or less.*pip install"):
            run_study(small(tmp_path, "engine=compiled"), tmp_path / "run", progress=False)
    finally:
        running.fault_of_numba.cache_clear()
    assert not (tmp_path / "run").exists()


REFUSED = {
    "window": (WINDOW, "cell 0, window (window 2): policy 'window' is neither a Rule nor a Cohort"),
    "max_wait": (
        "policies.1.max_wait=3",
        "cell 1, ljf (max_wait 3): policy 'ljf' has the option max_wait, which it does not know",
    ),
    "two": (
        "policies.2.max_wait=3",
        "cell 2, isjl (alpha 2, pack_order descending, max_wait 3): policy 'isjl' has the option max_wait",
    ),
}


@pytest.mark.parametrize(("override", "said"), REFUSED.values(), ids=REFUSED)
def test_what_the_compiled_engine_cannot_run_is_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    override: str,
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Scenario, "simulate", lambda *_: pytest.fail("it was simulated"))
    small_scenario(tmp_path)
    assert main(["run", "small.toml", "--set", "engine=compiled", "--set", override]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    start = "fairq: error: small.toml: engine is 'compiled', which cannot run "
    assert err.startswith(f"{start}{said}")
    assert ("(and 1 more)" in err) == (override == REFUSED["two"][0])
    assert [path.name for path in tmp_path.iterdir()] == ["small.toml"]


@pytest.mark.usefixtures("without_numba")
def test_without_the_extra_the_line_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    small_scenario(tmp_path)
    assert main(["run", "small.toml", "--set", "engine=compiled"]) == 2
    err = capsys.readouterr().err
    assert "cannot run cell 0, fcfs: it needs Numba, which is not installed: pip install 'fairq[fast]'" in err
    assert err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["small.toml"]


def test_an_unknown_engine_is_named_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="engine is 'fast': it must be 'auto', 'simpy' or 'compiled'"):
        small(tmp_path, "engine=fast")


def test_a_policy_that_cannot_be_made_is_named_before_anything_is_simulated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the scenario is read, or, of one that cannot be made again, when the engine is chosen."""
    (tmp_path / "refusing.py").write_text(
        "class Refusing:\n    def __init__(self, limit): ...\n    def decide(self, view): ...\n"
        "class Once:\n    made = 0\n    def decide(self, view): ...\n"
        "    def __init__(self):\n        Once.made += 1\n        1 / (Once.made < 2)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InputError, match=r"policies\.1\.name is 'refusing:Refusing': it cannot be made"):
        small(tmp_path, "policies.1={ module = 'refusing:Refusing' }")
    scenario = small(tmp_path, "policies.1={ module = 'refusing:Once' }")
    with pytest.raises(InputError, match="making it raised ZeroDivisionError") as caught:
        run_study(scenario, tmp_path / "run", progress=False)
    assert caught.value.__notes__ == ["in refusing:Once"]


@needs_numba
def test_a_study_of_the_other_engine_is_the_same_study(tmp_path: Path) -> None:
    run_study(small(tmp_path, "engine=compiled"), tmp_path / "run", progress=False)
    before = contents(tmp_path / "run")
    for engine in ENGINES:
        again = run_study(small(tmp_path, f"engine={engine}"), tmp_path / "run", progress=False)
        assert (again.reused, again.engines) == (True, ("compiled",) * 4)
    assert contents(tmp_path / "run") == before


def test_a_manifest_of_old_says_which_engine_ran(tmp_path: Path) -> None:
    scenario = small(tmp_path)
    run_study(scenario, tmp_path / "run", progress=False)
    path = tmp_path / "run" / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    del manifest["engines"], manifest["scenario"]["engine"]
    path.write_text(json.dumps(manifest), encoding="utf-8")
    study = run_study(scenario, tmp_path / "run", progress=False)
    assert (study.reused, study.engines) == (True, ("simpy",) * 4)
    path.write_text(json.dumps(manifest | {"engines": ["simpy"]}), encoding="utf-8")
    with pytest.raises(InputError, match="is damaged: its 'engines' are none of fairq's"):
        load_study(tmp_path / "run")


def test_what_a_manifest_says_of_engines_is_checked() -> None:
    assert engines_of({}, 1) == ("simpy",)
    for wrong in ({"engines": ["simpy"]}, {"engines": ["fast", "simpy"]}, {"engines": "simpy"}):
        with pytest.raises(ValueError, match="simpy"):
            engines_of(wrong, 2)


def test_many_policies_of_one_engine_are_counted() -> None:
    labels = [f"own{number}" for number in range(6)]
    assert engines_text(["compiled", *["simpy"] * 5], labels) == "compiled for 1 policy, SimPy for 5 policies"


def test_the_command_and_the_report_name_the_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    small_scenario(tmp_path)
    for _ in range(2):  # simulated, and read again
        assert main(["run", "small.toml"]) == 0
        assert "\nEngine: SimPy\n" in capsys.readouterr().out
    assert "Engine: SimPy." in Path("runs/small/report.html").read_text(encoding="utf-8")


# Warnings of the runs


def warning_simulate(category: type[Warning]) -> Any:
    simulate = Scenario.simulate

    def warn(self: Scenario, *arguments: Any) -> Result:
        warnings.warn("the sky is falling", category, stacklevel=2)
        return simulate(self, *arguments)

    return warn


def test_a_warning_of_many_runs_is_said_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scenario, "simulate", warning_simulate(EngineWarning))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run_study(small(tmp_path), tmp_path / "run", progress=False)
    assert [(each.category, str(each.message)) for each in caught] == [(EngineWarning, "the sky is falling")]


NO_FOLDER = {
    "NUMBA_CACHE_DIR": os.devnull + "/none",
    "NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator",
}
"""Numba is to look for a folder where there can be none, and nowhere else."""


@needs_numba
@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_cache_folder_that_cannot_be_written_is_said_once_a_study(tmp_path: Path, jobs: str) -> None:
    small_scenario(tmp_path)
    command = [sys.executable, "-c", "import sys; from fairq.cli import main; sys.exit(main())"]
    arguments = ["run", "small.toml", "--set", "engine=compiled", "--jobs", jobs]
    done = subprocess.run(
        [*command, *arguments],
        check=False, capture_output=True, text=True, cwd=tmp_path, env={**os.environ, **NO_FOLDER},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("fairq: warning: the compiled engine cannot be kept on disk")


# One workload for all


def test_a_replications_workload_is_written_once_and_gone_soon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One file a replication, of a few of twelve at a time, and none in the end."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    written, there = [], []

    def write(workload: fairq.Workload, path: Path) -> None:
        written.append(path.name)
        write_shared(workload, path)
        there.append(len(list(tmp_path.glob("fairq-*/*"))))

    monkeypatch.setattr(study_runs, "write_shared", write)
    run_study(small(tmp_path, "replications=12"), tmp_path / "run", jobs=2, progress=False)
    assert written == [f"workload-{replication}" for replication in range(12)]
    assert max(there) <= 6  # two tasks a process wait, of four a replication, and some are just done
    assert not list(tmp_path.glob("fairq-*"))


@pytest.mark.parametrize("where", ["drawing", "waiting"])
def test_a_failing_study_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    draw, trouble = Scenario.draw, fairq.InputError("too long") if where == "drawing" else KeyboardInterrupt()

    def failing(self: Scenario, replication: int) -> fairq.Workload:
        if replication == 4:
            raise trouble
        return draw(self, replication)

    done = []

    class Interrupted(study_runs.tqdm):
        def update(self, n: float = 1) -> bool | None:
            done.append(n)
            if len(done) == 9:
                raise trouble
            return super().update(n)

    if where == "drawing":
        monkeypatch.setattr(Scenario, "draw", failing)
    else:
        monkeypatch.setattr(study_runs, "tqdm", Interrupted)
    scenario = small(tmp_path, "replications=12")
    with pytest.raises(type(trouble)):
        run_study(scenario, tmp_path / "run", jobs=2, progress=False)
    assert [path.name for path in tmp_path.iterdir()] == ["small.toml"]


def test_a_process_reads_a_replications_workload_once(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_shared(fairq.Workload.from_arrays([3, 1]), tmp_path / name)
    first = read_shared(tmp_path / "one")
    (tmp_path / "one").unlink()
    assert read_shared(tmp_path / "one") is first
    assert read_shared(tmp_path / "two") is not first
    assert first.tokens.tolist() == [3, 1]


WORKLOADS = {
    "all columns": fairq.Workload.from_arrays(
        [3, 4, 5],
        arrival=[0, 1, 1],
        prompt_tokens=[1, 0, 2],
        lower=[1, 4, 2],
        upper=[4, 4, 9],
        label=["chat", "", "chat"],
        time_unit="s",
    ).with_terms({"chat": fairq.Terms(price=0.5)}),
    "short": fairq.Workload.from_arrays([3]),
    "empty": fairq.Workload.empty(),
}


@pytest.mark.parametrize("given", WORKLOADS.values(), ids=WORKLOADS)
def test_a_workload_is_the_same_after_a_journey(tmp_path: Path, given: fairq.Workload) -> None:
    write_shared(given, tmp_path / "file")
    for found in (read_shared(tmp_path / "file"), pickle.loads(pickle.dumps(given))):  # noqa: S301
        assert found.frame.equals(given.frame)
        assert (found.frame.dtypes == given.frame.dtypes).all()
        assert (found.time_unit, found.terms) == (given.time_unit, given.terms)
        assert found.billed_tokens is found.tokens  # what was one array stays one
        for name in ("arrival", "tokens", "label", "upper"):
            assert not getattr(found, name).flags.writeable


# Progress


def test_the_bar_moves_with_every_run_and_tells_the_time_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bars = []

    class Watched(study_runs.tqdm):
        def __init__(self, **options: Any) -> None:
            super().__init__(
                **options | {"disable": False, "file": (tmp_path / "bar").open("w"), "mininterval": 0}
            )
            bars.append(self)

    monkeypatch.setattr(study_runs, "tqdm", Watched)
    run_study(small(tmp_path), tmp_path / "run")
    (bar,) = bars
    bar.fp.fp.close() if hasattr(bar.fp, "fp") else bar.fp.close()
    text = (tmp_path / "bar").read_text()
    assert all(f" {done}/12 " in text for done in range(13))
    assert "<00:00" in text


# Record levels


@pytest.mark.parametrize("record", ["summary", "requests", "segments"])
def test_a_scenarios_record_goes_through(tmp_path: Path, record: str) -> None:
    scenario = small(tmp_path, f"record={record}")
    result = scenario.simulate(scenario.cells()[0], 0)
    assert result.record == record
    levels = ("summary", "requests", "segments")
    for table in levels[1:]:
        if levels.index(table) <= levels.index(record):
            assert len(getattr(result, table)) > 0
        else:
            with pytest.raises(fairq.RecordError, match=f"it needs '{table}'"):
                getattr(result, table)


def test_the_tables_of_a_study_do_not_depend_on_the_record_level(tmp_path: Path) -> None:
    runs = [
        run_study(small(tmp_path, f"record={record}"), tmp_path / record, progress=False)
        for record in ("summary", "requests", "segments")
    ]
    tables = [(study.directory / "runs.csv").read_bytes() for study in runs]
    assert tables[0] == tables[1] == tables[2]


def test_no_run_of_a_study_outlives_its_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import weakref

    alive: list[weakref.ref[Result]] = []
    most, check = [], Result.check

    def watched(self: Result) -> None:
        most.append(sum(ref() is not None for ref in alive))
        alive.append(weakref.ref(self))
        check(self)

    monkeypatch.setattr(Result, "check", watched)
    run_study(small(tmp_path, "record=summary"), tmp_path / "run", progress=False)
    assert len(most) == 12
    assert max(most) == 0
