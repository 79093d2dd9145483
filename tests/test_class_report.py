"""Classes of requests in the run directory: their table, its reuse, and their part of the report."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from small_study import SMALL, small_scenario

from fairq import InputError
from fairq.class_report import class_estimates
from fairq.scenario import Scenario
from fairq.statistics import mean_interval
from fairq.study import Study, load_study, run_study
from fairq.wording import number_text, range_text

CLASSES = SMALL.replace(
    'tokens = { dist = "randint", low = 1, high = 21 }',
    """classes = [
  { label = "chat", weight = 2, tokens = { dist = "randint", low = 1, high = 9 }, price = 0.01, SLA },
  { label = "7", weight = 1, tokens = { dist = "randint", low = 9, high = 21 } },
]
arrivals = { kind = "poisson", rate = 0.1 }""".replace("SLA", "sla = { latency = 20.0 }"),
)


def run(folder: Path, text: str = CLASSES, *overrides: str, jobs: int = 1) -> Study:
    scenario = Scenario.load(small_scenario(folder, text), overrides)
    return run_study(scenario, folder / "run", progress=False, jobs=jobs)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return run(tmp_path_factory.mktemp("classes"))


def test_classes_have_a_row_per_cell_replication_and_class(study: Study) -> None:
    classes = study.classes
    assert classes is not None
    assert list(classes.columns[:6]) == ["cell", "replication", "policy", "alpha", "pack_order", "class"]
    found = classes[["replication", "cell", "class"]].to_numpy().tolist()
    assert found == [[r, c, name] for r in range(3) for c in range(4) for name in ("chat", "7", "all")]


def test_a_row_is_the_runs_own_to_the_last_bit(study: Study) -> None:
    assert study.classes is not None
    expected = study.scenario.simulate(study.cells[2], 1).classes
    rows = study.classes.query("cell == 2 and replication == 1").set_index("class")
    for label in ("chat", "7", "all"):
        for name, value in expected.loc[label].items():
            got = rows.loc[label, name]
            assert got == value or (math.isnan(got) and math.isnan(value)), (label, name)


def test_the_page_has_means_and_intervals_by_class(study: Study) -> None:
    assert study.classes is not None
    page = study.report.read_text(encoding="utf-8")
    part = page[page.index("Classes: service") : page.index("<h2>Figures")]
    for title in ("Classes: money", "Classes: latency", "SLA met", "Goodput", "fcfs: chat", "isjl (alpha 2"):
        assert title in part
    for name in ("attainment", "goodput", "latency_p99", "profit"):
        values = study.classes.query("cell == 1 and `class` == 'chat'")[name]
        interval = mean_interval(values)
        assert class_estimates(study)[(1, "chat"), name] == interval
        assert number_text(interval.mean, interval.half_width) in part
        assert range_text(interval) in part
    assert "every class of request in classes.csv" in page


def test_a_finished_directory_needs_its_classes(tmp_path: Path) -> None:
    made = run(tmp_path)
    assert not made.reused
    assert run(tmp_path).reused
    (made.directory / "classes.csv").unlink()
    with pytest.raises(InputError, match=r"classes\.csv is missing"):
        run(tmp_path)
    with pytest.raises(InputError, match=r"it has no classes\.csv"):
        load_study(made.directory)


def test_without_classes_there_is_no_table_of_them(tmp_path: Path) -> None:
    study = run(tmp_path, SMALL)
    assert study.classes is None
    assert not (study.directory / "classes.csv").exists()
    assert class_estimates(study) == {}
    assert "lasses" not in study.report.read_text(encoding="utf-8").partition("<details>")[0]


def test_processes_change_no_byte(tmp_path: Path, study: Study) -> None:
    other = run(tmp_path, jobs=2)
    for name in ("classes.csv", "runs.csv", "report.html"):
        assert (other.directory / name).read_bytes() == (study.directory / name).read_bytes()
