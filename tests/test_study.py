"""Studies: what the run directory holds, that its bytes repeat, reuse, force, and failure without a trace."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal
from small_study import SMALL, small_scenario

from fairq import CheckError, InputError
from fairq.result import Result
from fairq.scenario import Scenario
from fairq.statistics import mean_interval
from fairq.study import Study, load_study, run_study

FILES = [
    "figures/cost.png",
    "figures/frontier.png",
    "figures/latency.png",
    "manifest.json",
    "report.html",
    "runs.csv",
    "summary.csv",
]


def small(folder: Path, *overrides: str) -> Scenario:
    return Scenario.load(small_scenario(folder), overrides)


def contents(directory: Path) -> dict[str, bytes]:
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    folder = tmp_path_factory.mktemp("study")
    return run_study(small(folder), folder / "run", progress=False)


@pytest.fixture
def no_simulation(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a finished study was simulated again")

    monkeypatch.setattr(Scenario, "simulate", refuse)


def test_the_directory_holds_what_it_should_and_no_more(study: Study) -> None:
    assert list(contents(study.directory)) == FILES
    assert [path.name for path in study.directory.parent.iterdir() if path.suffix != ".toml"] == ["run"]


def test_runs_have_a_row_per_replication_and_cell(study: Study) -> None:
    runs = study.runs
    assert list(runs.columns[:5]) == ["cell", "replication", "policy", "alpha", "pack_order"]
    assert runs[["replication", "cell"]].to_numpy().tolist() == [[r, c] for r in range(3) for c in range(4)]
    assert runs["alpha"].tolist()[:4] == pytest.approx([math.nan, math.nan, 2, 6.5], nan_ok=True)
    assert list(runs.columns[5:]) == list(study.scenario.simulate(study.cells[0], 0).summary.index)


def test_a_row_is_the_run_to_the_last_bit(study: Study) -> None:
    cell = study.cells[3]
    summary = study.scenario.simulate(cell, 2).summary
    row = study.runs[(study.runs["cell"] == 3) & (study.runs["replication"] == 2)].iloc[0]
    for name, value in summary.items():
        assert row[name] == value or (math.isnan(row[name]) and math.isnan(value)), name


def test_cells_of_a_replication_face_the_same_workload(study: Study) -> None:
    assert study.runs.groupby("replication")["cost_intrinsic"].nunique().eq(1).all()
    assert study.runs["cost_intrinsic"].nunique() == 3


def test_summary_is_the_mean_over_replications(study: Study) -> None:
    assert list(study.summary.columns) == [
        "cell", "policy", "alpha", "pack_order", "metric", "n", "mean", "ci_low", "ci_high",
    ]  # fmt: skip
    values = study.runs.loc[study.runs["cell"] == 2, "latency_p90"]
    assert study.intervals[2, "latency_p90"] == mean_interval(values)
    assert study.intervals[0, "violations"].n == 0


def test_manifest_says_what_was_run_and_not_when(study: Study) -> None:
    manifest = json.loads((study.directory / "manifest.json").read_text(encoding="utf-8"))
    assert list(manifest) == [
        "name",
        "seed",
        "versions",
        "inputs",
        "scenario",
        "engine",
        "engines",
        "arrivals",
    ]
    assert (manifest["seed"], manifest["engine"], manifest["engines"]) == (7, "simpy", ["simpy"] * 4)
    assert Scenario.from_dict(manifest["scenario"]) == study.scenario
    assert set(manifest["versions"]) == {"fairq", "python", "numpy", "pandas", "scipy", "simpy"}


def test_bytes_do_not_depend_on_the_number_of_processes(study: Study, tmp_path: Path) -> None:
    again = run_study(study.scenario, tmp_path / "elsewhere", jobs=2, progress=False)
    assert contents(again.directory) == contents(study.directory)


def test_a_workload_is_drawn_once_per_replication(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = []
    draw = Scenario.draw
    monkeypatch.setattr(Scenario, "draw", lambda self, k: drawn.append(k) or draw(self, k))
    run_study(small(tmp_path), tmp_path / "run", progress=False)
    assert drawn == [0, 1, 2]


@pytest.mark.usefixtures("no_simulation")
def test_a_finished_study_is_reused(study: Study) -> None:
    before = contents(study.directory)
    again = run_study(study.scenario, study.directory, progress=False)
    assert (again.reused, study.reused) == (True, False)
    assert contents(study.directory) == before
    assert_frame_equal(again.runs, study.runs)
    assert_frame_equal(again.summary, study.summary)


@pytest.mark.usefixtures("no_simulation")
@pytest.mark.parametrize(
    ("override", "named"),
    [
        ("seed=8", "seed is 7 there and 8 here"),
        ("replications=4", "scenario.replications is 3 there and 4 here"),
        ("pool.batch_size=5", "scenario.pool.batch_size is 3 there and 5 here"),
    ],
)
def test_another_study_is_not_overwritten(study: Study, tmp_path: Path, override: str, named: str) -> None:
    before = contents(study.directory)
    with pytest.raises(InputError, match=f"holds another run .*{named}.*--force"):
        run_study(small(tmp_path, override), study.directory, progress=False)
    assert contents(study.directory) == before


def test_force_replaces_another_study(tmp_path: Path) -> None:
    run_study(small(tmp_path), tmp_path / "run", progress=False)
    study = run_study(small(tmp_path, "seed=8"), tmp_path / "run", force=True, progress=False)
    assert load_study(tmp_path / "run").scenario.seed == 8
    assert list(contents(study.directory)) == FILES


@pytest.mark.usefixtures("no_simulation")
def test_another_version_is_named(tmp_path: Path, study: Study) -> None:
    copy = tmp_path / "run"
    copy.mkdir()
    for name in ("manifest.json", "runs.csv", "summary.csv", "report.html"):
        (copy / name).write_bytes((study.directory / name).read_bytes())
    manifest = json.loads((copy / "manifest.json").read_text(encoding="utf-8"))
    manifest["versions"]["fairq"] = "0.0.1"
    (copy / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(InputError, match=r'versions.fairq is "0.0.1" there'):
        run_study(study.scenario, copy, progress=False)
    (copy / "runs.csv").unlink()
    with pytest.raises(InputError, match=r"runs\.csv is missing"):
        run_study(study.scenario, copy, progress=False)


@pytest.mark.usefixtures("no_simulation")
@pytest.mark.parametrize("force", [False, True])
def test_what_is_no_run_directory_is_never_touched(study: Study, tmp_path: Path, force: bool) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(InputError, match=r"has no manifest.json; nothing there is overwritten"):
        run_study(study.scenario, tmp_path, force=force, progress=False)
    with pytest.raises(InputError, match="is a file"):
        run_study(study.scenario, tmp_path / "thesis.tex", force=force, progress=False)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_changed_trace_is_another_study(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("arrival,tokens\n0,5\n1,7\n2,3\n", encoding="utf-8")
    table = 'arrivals = { kind = "trace", path = "trace.csv", time_unit = "steps" }'
    text = SMALL.replace("requests = 30\n", "").replace(
        'tokens = { dist = "randint", low = 1, high = 21 }', table
    )
    scenario = Scenario.load(small_scenario(tmp_path, text), ["replications=1"])
    run_study(scenario, tmp_path / "run", progress=False)
    assert run_study(scenario, tmp_path / "run", progress=False).reused
    trace.write_text("arrival,tokens\n0,5\n1,7\n2,4\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"inputs\.trace\.csv is"):
        run_study(scenario, tmp_path / "run", progress=False)


@pytest.mark.parametrize("error", [CheckError("capacity", "too many"), KeyboardInterrupt()])
def test_a_failing_run_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    scenario, done = small(tmp_path), []

    def check(result: Result) -> None:
        done.append(result)
        if len(done) == 6:
            raise error

    monkeypatch.setattr(Result, "check", check)
    with pytest.raises(type(error)) as caught:
        run_study(scenario, tmp_path / "runs" / "small", progress=False)
    assert [path.name for path in tmp_path.iterdir()] == ["small.toml"]
    if isinstance(error, CheckError):
        assert caught.value.__notes__ == ["in ljf, replication 1"]


def test_record_summary_is_checked_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checked = []
    check = Result.check
    monkeypatch.setattr(Result, "check", lambda self: checked.append(check(self)))
    run_study(small(tmp_path, "record=summary"), tmp_path / "run", progress=False)
    assert len(checked) == 12


def test_jobs_must_be_a_whole_number(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="jobs is 0"):
        run_study(small(tmp_path), tmp_path / "run", jobs=0)
    assert not (tmp_path / "run").exists()


def test_load_study_names_what_is_wrong(tmp_path: Path, study: Study) -> None:
    with pytest.raises(InputError, match=r"is no run directory: it has no manifest.json"):
        load_study(tmp_path)
    for text, named in (("{", "is damaged"), ("[]", "is not one of fairq's")):
        (tmp_path / "manifest.json").write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=named):
            load_study(tmp_path)
    (tmp_path / "manifest.json").write_bytes((study.directory / "manifest.json").read_bytes())
    with pytest.raises(InputError, match=r"it has no runs.csv"):
        load_study(tmp_path)


def test_an_empty_drawn_workload_is_a_run(tmp_path: Path) -> None:
    text = SMALL.replace("[pool]", 'acceptance = { kind = "bucketed-linear", width = 1 }\n[pool]')
    scenario = Scenario.load(
        small_scenario(tmp_path, text), ["workload.tokens={ dist = 'randint', low = 1, high = 2 }"]
    )
    study = run_study(scenario, tmp_path / "run", progress=False)
    assert study.runs["arrived"].tolist() == [0] * 12
    assert pd.isna(study.runs["latency_mean"]).all()


def seeds(study: Study) -> dict[int, Any]:
    return study.runs.groupby("replication")["tokens"].first().to_dict()


def test_replications_differ_and_repeat(study: Study, tmp_path: Path) -> None:
    again = run_study(small(tmp_path, "replications=5"), tmp_path / "more", progress=False)
    assert {k: v for k, v in seeds(again).items() if k < 3} == seeds(study)
    assert len(set(seeds(again).values())) > 1


def test_the_folder_one_is_in_is_never_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for out in (".", "", "..", str(tmp_path)):
        with pytest.raises(InputError, match="other than the one you are in"):
            run_study(Scenario.load(small_scenario(tmp_path)), out, progress=False)
    assert [path.name for path in tmp_path.iterdir()] == ["small.toml"]
