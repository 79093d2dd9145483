"""The sentence on arrivals: what was asked for, and what came."""

from __future__ import annotations

from pathlib import Path

from fairq.scenario import Scenario
from fairq.study import load_study, run_study
from fairq.wording_arrivals import arrivals_text

RUSH = """
name = "rush"
seed = 3
clock = { c = 0.5 }
[pool]
batch_size = 4
[workload]
requests = 400
arrivals = { kind = "poisson", rate = 0.25 }
tokens = { dist = "randint", low = 1, high = 9 }
[[policies]]
name = "fcfs"
"""


def test_a_backlog_has_no_sentence() -> None:
    assert arrivals_text({"configured": [], "realised": {"requests": 5, "rate": None}}, "s") == ""
    assert arrivals_text({}, "steps") == ""


def test_classes_are_named() -> None:
    laws = [{"label": "chat", "kind": "poisson", "rate": 1.0}, {"label": "code", "kind": "mmpp", "rate": 2.0}]
    text = arrivals_text({"configured": laws, "realised": {"requests": 1200, "rate": 3.0}}, "steps")
    assert text.startswith("Asked for: chat: poisson, rate 1 per step; code: mmpp, rate 2 per step. ")
    assert text.endswith("Drawn in the first replication: 1,200 requests, rate 3 per step.")


def test_the_report_has_it_and_reads_it_back(tmp_path: Path) -> None:
    file = tmp_path / "rush.toml"
    file.write_text(RUSH, encoding="utf-8")
    study = run_study(Scenario.load(file), tmp_path / "out", progress=False)
    assert "Asked for: poisson, rate 0.25 per s, CV of the gaps 1, index of dispersion 1." in study.arrivals
    assert study.arrivals in study.report.read_text(encoding="utf-8")
    assert load_study(study.directory).arrivals == study.arrivals
