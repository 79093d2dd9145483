"""The study of the stability region: its table, sentences and page, on a small one and on the kept one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

STUDY = Path(__file__).resolve().parents[1] / "scenarios" / "stability"
sys.path.insert(0, str(STUDY))

from cells import Cell, Found, Settings, load_found, save_found  # noqa: E402
from page import write_page  # noqa: E402
from sentences import crossing, curve, headlines  # noqa: E402
from study import main  # noqa: E402

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
    cell = Cell(part, policy, alpha, workers, x, 50_000)
    low, high = round(low, 6), round(high, 6)
    return cell, Found(cell, low, high, low, high, 9, 0.99 if part == "region" else None)


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
    assert crossing(curve(found, "fcfs"), curve(found, "isjl 100")) == pytest.approx((0.0, 0.5, 1.0))


def test_lines_that_do_not_cross_have_no_crossing() -> None:
    for isjl in ([(0.1, 0.1)] * 3, [(0.9, 0.95)] * 3):
        found = lines(isjl)
        assert crossing(curve(found, "fcfs"), curve(found, "isjl 100")) is None


def test_sentences_say_only_what_the_table_bears_out() -> None:
    pairs = [made("region", "fcfs", 0.0, 0.95, 1.0), made("region", "isjl", 0.0, 0.5, 0.6)]
    said = " ".join(headlines(dict(pairs)))
    assert "0.95 to 1.00" in said
    assert "isjl 100 0.50 to 0.60" in said
    assert "0.99 on a backlog" in said
    assert "matched" not in said
    pairs[1] = made("region", "isjl", 0.0, 0.94, 1.0)
    assert headlines(dict(pairs)) == []


def test_pools_that_differ_are_named() -> None:
    pairs = [
        made("region", policy, 0.0, low, low + 0.05, workers)
        for policy, lows in (("fcfs", (0.9, 0.92)), ("isjl", (0.5, 0.58)))
        for workers, low in zip((1, 8), lows, strict=True)
    ]
    (said,) = (text for text in headlines(dict(pairs)) if "Pools" in text)
    assert "all policies but isjl 100 the intervals overlap" in said
    assert "from 1 to 8 workers is +0.08 (isjl 100)" in said
    pairs[3] = made("region", "isjl", 0.0, 0.8, 0.85, workers=8)
    assert not any("Pools" in text for text in headlines(dict(pairs)))


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


def test_the_kept_table_is_the_study_s(tmp_path: Path) -> None:
    """Every cell of study.toml is in results.csv, and the page is made of it without a search."""
    settings = Settings.load(STUDY / "study.toml")
    found = load_found(STUDY / "results.csv")
    assert set(found) == set(settings.cells())
    page = write_page(settings, found, tmp_path / "out").read_text(encoding="utf-8")
    assert all(cell.label in page for cell in found)
    assert all(0 <= one.slots_low < one.slots_high <= 1 + 1e-9 for one in found.values())
