"""The study of the stability region: its table, sentences and page, on a small one and on the kept one."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

STUDY = Path(__file__).resolve().parents[1] / "scenarios" / "stability"
sys.path.insert(0, str(STUDY))

from cells import Cell, Found, Settings, load_found, save_found  # noqa: E402
from page import write_page  # noqa: E402
from sentences import crossing, curve, headlines, leaders, pooling, turn  # noqa: E402
from study import main, search_all  # noqa: E402

from fairq.presets import PRESETS  # noqa: E402

SMALL = """
seed = 1
batch_size = 2
requests = 1000
requests_per_worker = 500
replications = 2
precision = 0.5
backlog = 300
tokens = { dist = "randint", parameters = { low = 1, high = 8 } }
[region]
workers = [1, 3]
policies = [{ name = "fcfs" }, { name = "isjl", alpha = [2] }]
[map]
x = [0.0, 2.0]
policies = [{ name = "fcfs" }, { name = "isjl", alpha = [2] }]
"""


def made(part: str, policy: str, x: float, low: float, high: float, workers: int = 1) -> tuple[Cell, Found]:
    alpha = 100.0 if policy == "isjl" else None
    cell = Cell(part, policy, alpha, workers, x, 50_000, 4)
    low, high = round(low, 6), round(high, 6)
    backlog = 0.99 if part == "region" and workers == 1 else None
    return cell, Found(cell, low, high, low, high, high > 1.1 * low, 9, backlog)


def lines(isjl: list[tuple[float, float]]) -> dict[Cell, Found]:
    """A map where first come first served halves with every x."""
    found = {}
    for x, middle, (low, high) in zip((0.0, 0.5, 1.0), (0.8, 0.4, 0.2), isjl, strict=True):
        found |= dict(
            [made("map", "fcfs", x, middle - 0.01, middle + 0.01), made("map", "isjl", x, low, high)]
        )
    return found


def test_the_crossing_is_between_what_is_sure() -> None:
    """Middles 0.4, 0.4, 0.4 cross 0.8, 0.4, 0.2 at x = 0.5; there the intervals overlap."""
    found = lines([(0.39, 0.41)] * 3)
    place = crossing(curve(found, "fcfs"), curve(found, "isjl 100"))
    assert place is not None
    assert (place.after, place.about, place.by) == pytest.approx((0.0, 0.5, 1.0))
    assert place.other == "isjl 100"
    assert str(place) == "near x = 0.50, surely by 1"


def test_a_crossing_need_not_be_sure_before() -> None:
    """0.79 to 0.802 at x = 0 is not surely below 0.79 to 0.81, so nothing is surely before."""
    found = lines([(0.79, 0.802), (0.5, 0.5), (0.5, 0.5)])
    place = crossing(curve(found, "fcfs"), curve(found, "isjl 100"))
    assert place is not None
    assert (place.after, place.by) == (None, 0.5)
    assert 0 < place.about < 0.05


def test_lines_are_compared_where_both_were_searched() -> None:
    found = lines([(0.39, 0.41)] * 3)
    found = {cell: one for cell, one in found.items() if (cell.policy, cell.x) != ("isjl", 0.5)}
    place = crossing(curve(found, "fcfs"), curve(found, "isjl 100"))
    assert place is not None
    assert (place.after, place.by) == (0.0, 1.0)
    assert set(leaders(found)) == {0.0, 1.0}


def test_who_carries_most_is_who_nobody_is_surely_above() -> None:
    """At x = 0.5 the intervals 0.39 to 0.41 are the same; the crossing is that of the lead."""
    found = lines([(0.39, 0.41)] * 3)
    most = {x: [one.cell.policy for one in row] for x, row in leaders(found).items()}
    assert most == {0.0: ["fcfs"], 0.5: ["fcfs", "isjl"], 1.0: ["isjl"]}
    assert [one.cell.policy for one in leaders(found, lambda cell: cell.policy == "fcfs")[1.0]] == ["fcfs"]
    assert turn(found) == crossing(curve(found, "fcfs"), curve(found, "isjl 100"))
    said = " ".join(headlines(found))
    assert "fcfs at x = 0; fcfs or isjl 100 at x = 0.5; isjl 100 at x = 1 (isjl 100 takes" in said
    assert "isjl 100 takes the lead near x = 0.50, surely by 1)." in said
    assert "paper" not in said  # both are the paper's
    assert turn(lines([(0.1, 0.1)] * 3)) is None


def test_the_paper_s_policies_are_compared_apart() -> None:
    found = lines([(0.39, 0.41)] * 3) | dict(made("map", "matched", x, 0.9, 0.95) for x in (0.0, 1.0))
    most, paper = headlines(found)
    assert "Which policy carries most: matched from x = 0 to 1." in most
    assert "fcfs at x = 0; fcfs or isjl at x = 0.5; isjl at x = 1." in paper
    assert "costs capacity where x is small and buys some where it is large" in paper


def test_lines_that_do_not_cross_have_no_crossing() -> None:
    for isjl in ([(0.1, 0.1)] * 3, [(0.9, 0.95)] * 3):
        found = lines(isjl)
        assert crossing(curve(found, "fcfs"), curve(found, "isjl 100")) is None


def test_sentences_say_only_what_the_table_bears_out() -> None:
    pairs = [made("region", "fcfs", 0.0, 0.95, 1.0), made("region", "isjl", 0.0, 0.5, 0.6)]
    said = " ".join(headlines(dict(pairs)))
    assert "isjl 100 works one off at load 0.99 but keeps up with 0.50 to 0.60" in said
    assert "matched" not in said
    pairs.append(made("region", "matched", 0.0, 0.9, 0.95))
    assert "matched never mixes" in " ".join(headlines(dict(pairs)))
    pairs[2] = made("region", "matched", 0.0, 0.55, 0.95)  # not surely above
    assert "matched" not in " ".join(headlines(dict(pairs)))
    pairs[1:] = [made("region", "isjl", 0.0, 0.94, 1.0)]
    assert headlines(dict(pairs)) == []


def pools(**loads: tuple[tuple[float, float], tuple[float, float]]) -> dict[Cell, Found]:
    """Intervals for 1 and for 8 workers, by policy."""
    return dict(
        made("region", policy, 0.0, low, high, workers)
        for policy, ends in loads.items()
        for workers, (low, high) in zip((1, 8), ends, strict=True)
    )


def test_what_pooling_moves_is_said_by_intervals() -> None:
    """fcfs's intervals overlap; isjl goes from a middle of 0.52 to 0.59, ljf from 0.32 to 0.26."""
    found = pools(
        fcfs=((0.9, 0.95), (0.92, 0.99)), isjl=((0.5, 0.54), (0.58, 0.6)), ljf=((0.3, 0.34), (0.25, 0.27))
    )
    (said,) = (text for text in headlines(found) if text.startswith("Pooling"))
    assert said.startswith(
        "Pooling 8 workers instead of 1 moves the load by 0.06 to 0.07: up for isjl 100 +0.07; down for ljf "
        "-0.06; the others' intervals overlap."
    )
    assert "what these lack to a backlog, 0.45 to 0.65" in said  # 0.99 less 0.54, less 0.34
    assert "half of the paper's pooling argument" in pooling(found)


def test_pools_that_do_not_differ_surely_are_said_to_overlap() -> None:
    found = pools(fcfs=((0.9, 0.95), (0.92, 0.99)), isjl=((0.5, 0.54), (0.53, 0.6)))
    (said,) = (text for text in headlines(found) if "workers on one queue" in text)
    assert said == "8 workers on one queue carry the load of 1: every policy's intervals overlap."


def test_pooling_that_matters_is_not_called_little() -> None:
    found = pools(isjl=((0.3, 0.34), (0.9, 0.95)))
    (said,) = (text for text in headlines(found) if text.startswith("Pooling"))
    assert said.startswith("Pooling 8 workers instead of 1 moves the load by 0.60: up for")  # 0.925 − 0.32
    assert "little" in said  # 0.65 is still more
    found = pools(isjl=((0.3, 0.38), (0.95, 1.0)))
    (said,) = (text for text in headlines(found) if text.startswith("Pooling"))
    assert "little" not in said  # 0.975 − 0.34 = 0.635 moved, 0.99 − 0.38 = 0.61 lacking
    assert pooling(found) == ""


def test_the_table_reads_back(tmp_path: Path) -> None:
    found = lines([(0.39, 0.41)] * 3) | dict([made("region", "fcfs", 0.0, 0.95, 1.0)])
    save_found(tmp_path / "table.csv", found)
    assert load_found(tmp_path / "table.csv") == found
    assert load_found(tmp_path / "none.csv") == {}


@pytest.mark.slow
def test_a_small_study_from_file_to_page(tmp_path: Path) -> None:
    settings, table, out = tmp_path / "small.toml", tmp_path / "table.csv", tmp_path / "out"
    settings.write_text(SMALL)
    given = ["--settings", str(settings), "--table", str(table), "--out", str(out)]
    assert main(given) == 0
    cells = list(Settings.load(settings).cells())
    assert list(load_found(table)) == cells
    assert len(cells) == 8
    page = (out / "stability.html").read_text()
    assert page.count("data:image/png") == 2
    assert "G = 3" in page
    bytes_of = {path.name: path.read_bytes() for path in out.iterdir()}
    assert main(given) == 0  # nothing is searched again
    assert {path.name: path.read_bytes() for path in out.iterdir()} == bytes_of


def test_bad_settings_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--settings", str(tmp_path / "none.toml")]) == 2
    settings = tmp_path / "bad.toml"
    settings.write_text(SMALL.replace("requests = 1000", "requests = 10"))
    table, out = tmp_path / "table.csv", tmp_path / "out"
    assert main(["--settings", str(settings), "--table", str(table), "--out", str(out)]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("study.py: requests is 500: it must be")
    assert not (tmp_path / "out").exists()


def test_the_map_begins_where_the_region_s_worker_is(tmp_path: Path, monkeypatch) -> None:
    """At x = 0 nothing is searched twice: the map's row is the region's, under its own part."""
    (tmp_path / "small.toml").write_text(SMALL)
    settings = Settings.load(tmp_path / "small.toml")
    asked = []

    def search(_: Settings, cell: Cell) -> Found:
        asked.append(cell)
        return Found(cell, 0.5, 0.6, 0.5, 0.6, True, 3, 0.9 if cell.part == "region" else None)

    monkeypatch.setattr(Settings, "search", search)
    found = search_all(settings, tmp_path / "table.csv", fresh=False)
    assert [cell for cell in asked if cell.part == "map" and cell.x == 0] == []
    assert len(asked) == 6
    (first,) = curve(found, "fcfs")[:1]
    assert (first.rate_low, first.open, first.runs, first.backlog) == (0.5, True, 3, None)


def test_a_policy_of_the_map_may_be_searched_at_fewer_x(tmp_path: Path) -> None:
    text = SMALL.replace(
        '{ name = "isjl", alpha = [2] }]\n[map]', '{ name = "isjl", alpha = [2], requests = 3000 }]\n[map]'
    )
    text = text[: text.rindex("{ name")] + '{ name = "isjl", alpha = [2], replications = 2, x = [0.0] }]\n'
    (tmp_path / "small.toml").write_text(text)
    mine = [cell for cell in Settings.load(tmp_path / "small.toml").cells() if cell.policy == "isjl"]
    assert [(cell.part, cell.x, cell.requests, cell.workers) for cell in mine] == [
        ("region", 0.0, 3000, 1), ("region", 0.0, 3000, 3), ("map", 0.0, 3000, 1)
    ]  # fmt: skip


def test_the_kept_table_is_the_study_s(tmp_path: Path) -> None:
    """Every cell of study.toml is in results.csv, and the page is made of it without a search."""
    settings = Settings.load(STUDY / "study.toml")
    found = load_found(STUDY / "results.csv")
    assert list(found) == list(settings.cells())
    page = write_page(settings, found, tmp_path / "out").read_text(encoding="utf-8")
    assert all(cell.label in page for cell in found)
    assert all(0 <= one.rate_low < one.rate_high <= 1 + 1e-9 for one in found.values())
    assert len(headlines(found)) <= 5
    assert page.count("<small>open</small>") == sum(one.open for one in found.values())
    kept = (STUDY / "stability.html").read_text(encoding="utf-8")
    assert without_pictures(page) == without_pictures(kept)


def without_pictures(page: str) -> str:
    """Their bytes depend on the version of the library that draws them."""
    return re.sub(r"base64,[A-Za-z0-9+/=]+", "", page)


def test_the_kept_table_says_which_searches_ended_open() -> None:
    """`open` is what the interval says: before its low end was lowered by 1 %, wider than 3 %."""
    settings = Settings.load(STUDY / "study.toml")
    for one in load_found(STUDY / "results.csv").values():
        width = 1 - one.load_low / 0.99 / one.load_high
        assert one.open == (width > settings.precision + 1e-5)


def test_the_map_reaches_beyond_every_preset() -> None:
    xs = Settings.load(STUDY / "study.toml").map["x"]
    assert all(xs[0] < preset.x < xs[-1] for preset in PRESETS.values())
