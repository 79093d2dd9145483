"""The paper's tables beside ours: printed numbers are consistent, ours computed, verdicts earned."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.comparison import Comparison, agrees, tolerance
from analysis.paper import BASELINE_C, TABLE_1, TABLE_1_COLUMNS, TABLE_2
from analysis.paper_tables import main, table_1_text, table_2_text, write_comparison
from analysis.sentences import details, headlines
from fairq import InputError
from fairq.scenario import Scenario
from fairq.study import Study, run_study
from fairq.theory import makespan_lower_bound

FAIR = "{ name = ['isjl', 'free-ride', 'ljf-fair'], alpha = [50, 250] }"
ARMS = f"policies=[{{ name = 'fcfs' }}, {{ name = 'ljf' }}, {FAIR}]"


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """All 20 replications of Table 1, at two alphas."""
    scenario = Scenario.load("table1", [ARMS])
    return run_study(scenario, tmp_path_factory.mktemp("paper") / "run", progress=False)


@pytest.fixture(scope="module")
def comparison(study: Study) -> Comparison:
    return Comparison(study, draws=20)


@pytest.mark.parametrize("row", TABLE_1, ids=str)
def test_table_1_is_copied_right(row: tuple[str, float | None]) -> None:
    printed = dict(zip(TABLE_1_COLUMNS, TABLE_1[row], strict=True))
    parts = printed["cost_intrinsic"] + printed["cost_time"] + printed["cost_externality"]
    assert printed["cost"] == pytest.approx(parts, abs=0.021)  # four numbers rounded to 0.005 each
    revenue = TABLE_1["ljf", None][0] + TABLE_1["ljf", None][1]
    assert printed["profit"] + printed["cost"] == pytest.approx(revenue, abs=0.021)
    base = dict(zip(TABLE_1_COLUMNS, TABLE_1["ljf", None], strict=True))["throughput"]
    assert printed["gain"] == pytest.approx(100 * (printed["throughput"] / base - 1), abs=0.04)


@pytest.mark.parametrize("alpha", TABLE_2)
def test_table_2_is_copied_right(alpha: float) -> None:
    saving, externality, break_even = TABLE_2[alpha]
    assert break_even == pytest.approx(externality / saving, abs=1e-4)
    printed = dict(zip(TABLE_1_COLUMNS, TABLE_1["isjl", alpha], strict=True))
    assert externality == pytest.approx(printed["cost_externality"], abs=0.025)


def test_fcfs_and_ljf_agree_with_the_paper(comparison: Comparison) -> None:
    table = comparison.table_1
    for policy in ("fcfs", "ljf"):
        rows = table[(table["policy"] == policy) & table["paper"].notna()]
        assert rows["metric"].tolist() == list(TABLE_1_COLUMNS)
        assert rows["agrees"].tolist() == [True] * 8
    assert headlines(comparison)[:2] == [
        "FCFS: all 8 figures of Table 1 agree with ours.",
        "LJF: all 8 figures of Table 1 agree with ours.",
    ]


def test_isjl_does_not_and_free_ride_beats_it_at_250(comparison: Comparison) -> None:
    told = headlines(comparison)
    assert told[2].startswith(
        "ISJL: 2 of 2 rows do not agree with Table 1 in at least one figure (alpha 50, 250)"
    )
    assert told[3].startswith(
        "free-ride, our variant, beats ISJL on makespan, externality and mean completion"
    )
    assert "at alpha 250 (each" in told[3]
    assert any(text.startswith("At alpha 50, free-ride is lower in makespan") for text in details(comparison))


def test_agreement_is_three_standard_errors_of_the_difference(comparison: Comparison, study: Study) -> None:
    row = comparison.table_1.query("policy == 'fcfs' and metric == 'throughput'").iloc[0]
    values = study.runs.loc[study.runs["cell"] == 0, "throughput"]
    assert row["tolerance"] == pytest.approx(3 * values.std() * math.sqrt(1 / 20 + 1 / 5))
    assert (row["mean"], row["n"], row["paper"]) == (pytest.approx(values.mean()), 20, 39.78)
    assert agrees(1.0, 1.0 + tolerance(1.0, 20), tolerance(1.0, 20) + 1e-12)
    assert agrees(1.0, 2.6, tolerance(1.0, 20)) is False


def test_room_is_ljfs_makespan_less_the_bound(comparison: Comparison, study: Study) -> None:
    runs = study.runs[study.runs["cell"] == 1].set_index("replication")
    room = comparison.room(50)
    for replication in (0, 7):
        bound = makespan_lower_bound(study.scenario.draw(replication).tokens, 50, 50).value
        assert room[replication] == runs.loc[replication, "makespan"] - bound
    assert (room >= 0).all()


def test_no_fair_run_beats_its_bound(comparison: Comparison) -> None:
    assert (comparison.runs["bound"] <= comparison.runs["makespan"]).all()
    ljf = comparison.runs[comparison.runs["cell"] == 1]
    assert (ljf["bound"] == ljf["makespan"]).all()  # with alpha 0 cohorts are all there is


def test_break_even_is_where_profits_meet(comparison: Comparison, study: Study) -> None:
    table = comparison.table_2.set_index(["policy", "alpha"])
    means = study.runs.groupby("cell")[["busy_steps", "cost_externality", "profit"]].mean()
    break_even = table.loc[("free-ride", 250), "break_even"]
    cell = comparison.cells["free-ride", 250]
    advantage = break_even * (means.loc[1, "busy_steps"] - means.loc[cell, "busy_steps"])
    assert advantage == pytest.approx(means.loc[cell, "cost_externality"])
    profits = BASELINE_C * table.loc[("free-ride", 250), "saving"] - means.loc[cell, "cost_externality"]
    assert means.loc[cell, "profit"] - means.loc[1, "profit"] == pytest.approx(profits)
    assert math.isnan(table.loc[("isjl", 250), "break_even"])
    assert "none" in table_2_text(comparison)


def test_verdicts_follow_from_the_room(comparison: Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    rooms = {50: [10.0] * 15 + [83.0] * 5, 100: [0.0] * 19 + [740.0], 150: [236.0] * 20}
    monkeypatch.setattr(Comparison, "further_room", lambda _, alpha: np.array(rooms.get(alpha, [1e4] * 20)))
    fresh = Comparison(comparison.study)
    verdicts = fresh.reach.set_index("alpha")
    # at 100 one of twenty has room for 5 · 148: a group has enough if it drew that one, 1 − 0.95^5 = 23 %
    assert verdicts["verdict"].tolist()[:3] == ["out of reach", "within reach", "within reach"]
    assert verdicts.loc[50, "group_largest"] <= 83
    assert verdicts["groups"].tolist()[:3] == [0, pytest.approx(1 - 0.95**5, abs=0.015), 1]
    rooms[100] = [0.0] * 999 + [740.0]
    fresh = Comparison(comparison.study)
    assert fresh.reach["verdict"].tolist()[1] == "very unlikely"
    told = headlines(fresh)[-1]
    assert "out of reach at alpha 50; very unlikely at alpha 100; within reach at alpha 150, 250" in told


def test_everything_is_written(comparison: Comparison, tmp_path: Path) -> None:
    page = write_comparison(comparison, tmp_path / "out")
    assert sorted(path.name for path in page.parent.iterdir()) == [
        "figure5.png", "figure6.png", "paper.html", "reach.csv", "table1.csv", "table1.png", "table1.txt",
        "table2.csv", "table2.txt",
    ]  # fmt: skip
    text = page.read_text(encoding="utf-8")
    assert text.count('<img src="data:image/png;base64,') == 3
    assert "http" not in text.replace("base64", "").partition("<img")[0]
    table = pd.read_csv(tmp_path / "out" / "table1.csv")
    assert len(table) == 8 * 11
    assert (tmp_path / "out" / "table1.txt").read_text(encoding="utf-8") == table_1_text(comparison)
    before = {path.name: path.read_bytes() for path in page.parent.iterdir()}
    write_comparison(comparison, tmp_path / "out")
    assert {path.name: path.read_bytes() for path in page.parent.iterdir()} == before


def test_the_command(study: Study, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(study.directory), "--draws", "5", "--out", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().out.endswith(f"Page: {tmp_path / 'out' / 'paper.html'}\n")


def test_mistakes_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], study: Study) -> None:
    (tmp_path / "thesis.tex").touch()
    for arguments, told in (
        ([str(tmp_path)], "is no run directory"),
        ([str(study.directory), "--out", str(tmp_path)], "nothing in it is overwritten"),
    ):
        assert main(arguments) == 2
        err = capsys.readouterr().err
        assert told in err
        assert err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize(
    ("override", "told"),
    [("pool.batch_size=40", "pool is"), ("policies=[{ name = 'fcfs' }]", "has no policy 'ljf'")],
)
def test_only_the_papers_setting_is_compared(tmp_path: Path, override: str, told: str) -> None:
    scenario = Scenario.load("table1", ["replications=1", "policies=[{ name = 'fcfs' }]", override])
    study = run_study(scenario, tmp_path / "run", progress=False)
    with pytest.raises(InputError, match=told):
        Comparison(study)


def test_one_replication_has_no_verdict_on_agreement(tmp_path: Path) -> None:
    study = run_study(Scenario.load("table1", [ARMS, "replications=1"]), tmp_path / "run", progress=False)
    comparison = Comparison(study, draws=5)
    assert comparison.table_1["agrees"].isna().all()
    assert headlines(comparison)[-1].startswith("By the lower bound")
    write_comparison(comparison, tmp_path / "out")
