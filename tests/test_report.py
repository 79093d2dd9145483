"""The report: self-contained, honest about intervals, its sentences those of the summary."""

from __future__ import annotations

import base64
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from small_study import SMALL, small_scenario

from fairq.findings import findings, setting
from fairq.presets import PRESETS
from fairq.report import text_table
from fairq.scenario import Scenario
from fairq.sections import SECTIONS
from fairq.statistics import Interval
from fairq.study import Study, run_study
from fairq.wording import cell_label, interval_text, metric, number_text, range_text


class Page(HTMLParser):
    """What a page shows and what it points to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.images: list[dict[str, str | None]] = []
        self.links: list[str] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if tag == "img":
            self.images.append(named)
        self.links += [
            f"{tag} {name}" for name in named if name in {"href", "src", "srcset", "data", "action"}
        ]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def run(folder: Path, *overrides: str, text: str = SMALL) -> Study:
    return run_study(Scenario.load(small_scenario(folder, text), overrides), folder / "run", progress=False)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return run(tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="module")
def page(study: Study) -> Page:
    return Page(study.report.read_text(encoding="utf-8"))


def test_nothing_leads_out_of_the_page(study: Study, page: Page) -> None:
    text = study.report.read_text(encoding="utf-8")
    assert set(page.links) == {"img src"}
    assert all(str(image["src"]).startswith("data:image/png;base64,") for image in page.images)
    assert not re.search(r"https?:|url\(|@import|<script|<link", re.sub(r"base64,[^\"]+", "", text))


def test_images_are_the_figures_and_have_alternative_texts(study: Study, page: Page) -> None:
    files = [study.directory / "figures" / f"{name}.png" for name in ("cost", "frontier", "latency")]
    inlined = [base64.b64decode(str(image["src"]).partition(",")[2]) for image in page.images]
    assert inlined == [file.read_bytes() for file in files]
    assert all("isjl (alpha 6.5" in str(image["alt"]) for image in page.images)


def test_every_policy_and_every_unit_is_named(study: Study, page: Page) -> None:
    for label in study.labels.values():
        assert page.texts.count(label) == len(SECTIONS), label
    assert {"tokens/step", "steps", "money", "tokens", "steps/token", "% of arrived"} <= set(page.texts)


def test_figures_of_the_page_are_those_of_the_summary(study: Study, page: Page) -> None:
    value = study.intervals[3, "ttft_p99"]
    assert number_text(value.mean, value.half_width) in page.texts
    assert range_text(value) in page.texts


def test_limits_are_stated(page: Page) -> None:
    text = "".join(page.texts)
    assert "TTFT is not a real machine" in text
    assert "Prefix reuse is not modelled" in text


def test_one_replication_has_no_intervals_and_says_so(tmp_path: Path) -> None:
    study = run(tmp_path, "replications=1")
    text = "".join(Page(study.report.read_text(encoding="utf-8")).texts)
    assert "One replication: no intervals can be given" in text
    assert "95 %" not in text + text_table(study)
    assert "±" not in text_table(study)


def test_what_a_scenario_says_is_escaped(tmp_path: Path) -> None:
    text = SMALL.replace("alpha = [2, 6.5]", "alpha = 2").replace('"descending"', '"ascending"')
    study = run(tmp_path, text=text)
    study.labels[0] = "<b>fcfs & co</b>"
    from fairq.report import report_page

    page = report_page(study, [])
    assert "<b>fcfs" not in page
    assert "&lt;b&gt;fcfs &amp; co" in page


def test_a_run_in_seconds_says_seconds(tmp_path: Path) -> None:
    study = run(tmp_path, "clock=cost", "until=0.02", "replications=2")
    text = text_table(study)
    assert "tokens/s" in text
    assert "steps" not in text
    assert "time in seconds" in setting(study)
    assert any("queued at the end" in sentence for sentence in findings(study))


@pytest.mark.parametrize("until", ["until=1e6", "until=0.02"])
def test_the_setting_tells_how_much_the_longest_request_weighs(tmp_path: Path, until: str) -> None:
    """x = tau·B·E[o]/c with E[o] of the requests drawn: of all runs, or of one where some are left."""
    law = PRESETS["long-context"].clock
    study = run(tmp_path, "clock=long-context", until, "replications=2")
    drawn = [study.scenario.draw(replication).tokens for replication in range(2)]
    tokens = np.concatenate(drawn) if until == "until=1e6" else drawn[0]
    x = law.tau * study.scenario.pool.slots * tokens.mean() / law.c
    assert setting(study).endswith(f"time in seconds; clock long-context: x = tau·B·E[o]/c = {x:.2g}.")


def test_equal_steps_have_no_weight_to_tell(study: Study, tmp_path: Path) -> None:
    assert "x =" not in setting(study)
    own = run(tmp_path, "clock={ c = 0.02, tau = 1e-4 }", "replications=1")
    assert "; clock c = 0.02, tau = 0.0001: x = " in setting(own)


def test_findings_name_best_and_worst_by_the_summary(study: Study) -> None:
    means = {cell: study.intervals[cell, "profit"].mean for cell in study.labels}
    best, worst = (study.labels[pick(means, key=lambda cell: means[cell])] for pick in (max, min))
    (sentence,) = (text for text in findings(study) if text.startswith("Profit"))
    assert sentence.startswith(f"Profit is highest under {best}, ")
    assert f"it is lowest under {worst}, " in sentence
    assert number_text(max(means.values()), study.intervals[1, "profit"].half_width)[:3] in sentence


def test_a_tie_and_a_broken_alpha_are_told(tmp_path: Path) -> None:
    arms = '[[policies]]\nname = "fcfs"\n[[policies]]\nname = "fcfs"\nalpha = 0\n'
    study = run(tmp_path, "pool.workers=1", text=SMALL[: SMALL.index("[[policies]]")] + arms)
    texts = findings(study)
    assert any(text.startswith("Throughput is ") and "under every policy" in text for text in texts)
    assert any(
        text.startswith("Steps with an extent beyond alpha") and "fcfs (alpha 0)" in text for text in texts
    )


def test_the_terminal_table_is_aligned_and_narrow(study: Study) -> None:
    lines = text_table(study).splitlines()
    first, second = "\n".join(lines).split("\n\n")[:2]
    for block in (first, second):
        assert len({len(line) for line in block.splitlines()}) == 1
        assert len(block.splitlines()) == 2 + len(study.labels)
    assert max(map(len, first.splitlines())) <= 120


@pytest.mark.parametrize(
    ("value", "half_width", "text"),
    [
        (2541.7, 27.3, "2,542"),
        (39.512, 0.45, "39.51"),
        (0.0, 0.0, "0"),
        (1.0, 1e-17, "1"),
        (float("nan"), 1.0, "n/a"),
        (-4e-6, 2e-4, "0.00000"),
        (3e-9, float("nan"), "3.000e-09"),
        (12345.0, float("nan"), "12,345"),
    ],
)
def test_numbers_have_the_digits_they_deserve(value: float, half_width: float, text: str) -> None:
    assert number_text(value, half_width) == text


def test_wording() -> None:
    assert cell_label("ljf", {}) == "ljf"
    assert interval_text(Interval(5.0, 5.0, 5.0, 3)) == "5"
    assert range_text(Interval(5.0, 5.0, 5.0, 3)) == ""
    assert metric("makespan", "s").unit == "s"
    assert metric("tpot_mean", "steps").title == "TPOT mean"
