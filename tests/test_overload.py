"""A load that policies do not carry: said first, with the backlog, marked in every table, and not ranked."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from fairq.cli import main
from fairq.findings import findings
from fairq.overload import find_overloads
from fairq.report import text_table
from fairq.scenario import Scenario
from fairq.study import Study, load_study, run_study

# Tokens are 20 on average and the pool has 2 * 4 slots, so it carries at most 8 / 20 = 0.4 requests a step.
OVERLOADED = """
name = "overloaded"
seed = 5
replications = 3
until = 1500
[workload]
arrivals = { kind = "poisson", rate = 0.8 }
tokens = { dist = "randint", low = 1, high = 40 }
[pool]
workers = 2
batch_size = 4
[[policies]]
name = "fcfs"
[[policies]]
name = "isjl"
alpha = 10
"""


def scenario(folder: Path, *overrides: str, text: str = OVERLOADED) -> Scenario:
    path = folder / "overloaded.toml"
    path.write_text(text, encoding="utf-8")
    return Scenario.load(path, overrides)


def run(folder: Path, *overrides: str, text: str = OVERLOADED) -> Study:
    return run_study(scenario(folder, *overrides, text=text), folder / "run", progress=False)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return run(tmp_path_factory.mktemp("overloaded"))


def test_every_policy_says_how_many_are_unstable_and_the_backlog(study: Study) -> None:
    sentences = findings(study)
    assert sentences[0].startswith("The load is too much for 2 of 2 policies")
    for (cell, label), text in zip(study.labels.items(), sentences[1:3], strict=True):
        mean = study.runs.loc[study.runs["cell"] == cell, "queued_end"].mean()
        assert text.startswith(
            f"{label} is unstable in 3 of 3 replications, with {mean:,.0f} requests (95 %: "
        )
        assert text.endswith("queued at the end.")


def test_what_did_not_keep_up_is_not_ranked(study: Study) -> None:
    assert not [text for text in findings(study) if re.search("highest|lowest|externality", text)]


def test_page_and_terminal_say_it_first_and_mark_every_row(study: Study) -> None:
    page = study.report.read_text(encoding="utf-8")
    first = page[page.index("<li>") : page.index("</ul>")]
    assert first.index("The load is too much") < first.index("fcfs is unstable in 3 of 3 replications")
    rows = re.findall(r'<tr><th scope="row">.*', page)
    assert rows
    assert all('<small class="mark">unstable 3/3</small>' in row for row in rows)
    assert "Unstable (*), no steady state: fcfs, isjl (alpha 10)." in page
    printed = text_table(study)
    assert printed.startswith("The load is too much for 2 of 2 policies")
    assert printed.count("fcfs [unstable 3/3]") == 2


def test_max_queued_says_when_it_stopped_the_runs(tmp_path: Path) -> None:
    study = run(tmp_path, "pool.max_queued=50")
    stops = study.runs.groupby("cell")["stopped_at"]
    for cell, text in zip(study.labels, findings(study)[1:3], strict=True):
        times = stops.get_group(cell)
        assert "with 51 requests queued at the end" in text  # the arrival that made them more than 50
        assert f"stopped at {times.mean():,.1f} steps on average"[:22] in text
        assert (
            "when more than max_queued (50) requests were queued; what follows is measured until then."
            in text
        )
    assert study.mark(0) == "unstable 3/3, stopped 3/3"


def test_one_stopped_run_gives_its_time(tmp_path: Path) -> None:
    study = run(tmp_path, "pool.max_queued=50", "replications=1")
    text = findings(study)[1]
    assert text.startswith(
        "fcfs is unstable in 1 of 1 replication, with 51 requests queued at the end. It was "
    )
    found = re.search(r"stopped at ([\d.,]+) steps, when", text)
    assert found is not None
    assert float(found[1].replace(",", "")) == pytest.approx(study.runs["stopped_at"][0], rel=1e-3)


def test_a_run_that_serves_all_tells_of_the_queue_that_there_was(tmp_path: Path) -> None:
    text = OVERLOADED.replace("until = 1500\n", "").replace("[workload]\n", "[workload]\nrequests = 1000\n")
    study = run(tmp_path, text=text)
    assert study.runs["queued_end"].eq(0).all()
    sentence = findings(study)[1]
    assert "none queued at the end because the run went on until all had left the queue" in sentence
    assert f"{study.intervals[0, 'mean_queue'].mean:.0f} requests" in sentence


def test_only_who_kept_up_is_ranked(tmp_path: Path) -> None:
    # fcfs carries 0.4; fcfs-static waits for the longest of four, 32 steps on average: 8 / 32 = 0.25.
    text = OVERLOADED.replace('name = "isjl"\nalpha = 10', 'name = "fcfs-static"')
    study = run(tmp_path, "workload.arrivals.rate=0.31", text=text)
    assert list(study.overloads) == [1]
    sentences = findings(study)
    assert sentences[0].startswith("The load is too much for 1 of 2 policies")
    ranked = [text for text in sentences if text.startswith(("Throughput", "Profit", "Mean latency"))]
    assert len(ranked) == 3
    assert all("under fcfs." in text for text in ranked)
    assert "fcfs-static [unstable" in text_table(study)
    assert "fcfs [unstable" not in text_table(study)


def test_a_load_that_is_carried_is_not_said_to_be_too_much(tmp_path: Path) -> None:
    study = run(tmp_path, "workload.arrivals.rate=0.1")
    assert study.overloads == {}
    page = study.report.read_text(encoding="utf-8")
    assert "nstable" not in page.replace("max_queued", "") + text_table(study)


def test_a_chance_flag_is_told_as_such() -> None:
    runs = pd.DataFrame(
        {"cell": [0] * 4, "unstable": [True, False, False, False], "queued_end": [9, 0, 1, 2]}
    )
    found = find_overloads(runs.assign(mean_queue=1.0, stopped_at=float("nan")))
    assert (found[0].mark, found[0].queued.mean) == ("unstable 1/4", 9)


def test_the_command_prints_it_also_of_a_run_that_was_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario(tmp_path)
    for _ in range(2):
        assert main(["run", str(tmp_path / "overloaded.toml"), "--out", str(tmp_path / "run")]) == 0
        printed = capsys.readouterr().out
        assert "fcfs is unstable in 3 of 3 replications" in printed
    assert load_study(tmp_path / "run").overloads[0].unstable == 3
