"""The benchmark suite: who is timed does the work, ratios are taken rightly, and the smoke test notices."""

from __future__ import annotations

import csv
import doctest
import importlib
import json
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

import pytest

import fairq
from benchmarks import memory, smoke, targets
from benchmarks.__main__ import main
from benchmarks.contest import Contest, Contestant, Outcome, Timing, race
from benchmarks.keeping import Kept, read, write
from benchmarks.page import PAGE, renewed
from benchmarks.peers import ciw_network, heap_loop, textbook
from benchmarks.sections import BACKLOG, POOL, SECTIONS
from benchmarks.workloads import TABLE, single_slots, stable_load
from fairq.errors import InputError

ROOT = Path(__file__).resolve().parents[1]
RESULTS = sorted((ROOT / "benchmarks" / "results").glob("*.json"))
HAS_NUMBA = find_spec("numba") is not None
MODULES = [path.stem for path in sorted((ROOT / "benchmarks").glob("[a-z]*.py"))]


LIMIT = {"growth": 3}  # of its contests; the others are the same with another policy or engine


@pytest.fixture(scope="module")
def tiny() -> Kept:
    """Every contest of the suite, one round, a few requests."""
    contests = [
        contest for name, section in SECTIONS.items() for contest in islice(section(40), LIMIT.get(name))
    ]
    outcomes = [race(contest, 1) for contest in contests]
    return Kept({"date": "2026-01-01"}, outcomes)


# Who is timed.


@pytest.mark.parametrize("peer", [textbook, heap_loop, ciw_network])
def test_the_peers_simulate_the_same_queue(peer: Callable[..., list[float]]) -> None:
    """Each request waits as long as in fairq; sums of floats in another order differ by their rounding."""
    if peer is ciw_network:
        pytest.importorskip("ciw")
    workload = single_slots(400)
    waits = peer(workload.arrival.tolist(), workload.tokens.astype(float).tolist(), 8)
    run = fairq.simulate(workload, "fcfs", workers=8, batch_size=1)
    assert run.requests["wait"].max() > 0
    assert waits == pytest.approx(run.requests["wait"].tolist(), abs=1e-6)


def test_every_contest_can_be_held(tiny: Kept) -> None:
    names = [outcome.name for outcome in tiny.outcomes]
    assert len(set(names)) == len(names)
    for outcome in tiny.outcomes:
        own = [timing.name for timing in outcome.timings]
        assert len(set(own)) == len(own)
        assert own or not HAS_NUMBA
        assert all(timing.seconds[0] > 0 for timing in outcome.timings)


def test_who_is_left_out_says_why(tiny: Kept) -> None:
    skipped = {name: why for outcome in tiny.outcomes for name, why in outcome.skipped.items()}
    assert "neither a Rule nor a Cohort" in skipped.pop("matched, compiled")
    if HAS_NUMBA:
        assert {name for name in skipped if name != "Ciw"} == set()
    if find_spec("ciw") is None:
        assert skipped["Ciw"] == "Ciw is not installed: pip install 'fairq[bench]'"


def test_the_loads_are_those_of_the_study() -> None:
    with TABLE.open(newline="", encoding="utf-8") as table:
        rows = [row for row in csv.DictReader(table) if row["part"] == "region" and row["policy"] == "isjl"]
    (of_eight,) = (row for row in rows if (row["alpha"], row["workers"]) == ("100", "8"))
    ends = float(of_eight["load_low"]), float(of_eight["load_high"])
    assert 0.5 < ends[0] < ends[1] < 0.65  # about 0.6: fair batching loses capacity
    assert stable_load("isjl", 100.0, 8) == ends
    assert stable_load("isjl", 100.0, 63) == ends  # the largest pool searched that is no larger
    with pytest.raises(InputError, match=r"policy is 'las', alpha None: results\.csv .* no such row"):
        stable_load("las", None, 8)


# Ratios.


def outcome(**seconds: tuple[int, tuple[float, ...]]) -> Outcome:
    timings = tuple(Timing(name, requests, 0.0, each) for name, (requests, each) in seconds.items())
    return Outcome("made up", timings, {}, "", {})


def test_a_ratio_is_taken_within_a_round_and_per_request() -> None:
    """The second round is ten times as slow for both: 20 requests in 1 s to 10 in 2 s, then in 5 s."""
    made = outcome(base=(10, (2.0, 50.0)), own=(20, (1.0, 10.0)))
    speed, cost = made.speed("own", "base"), made.cost("own", "base")
    assert speed is not None
    assert cost is not None
    assert (speed.least, speed.most) == (4.0, 10.0)
    assert (cost.least, cost.most) == (0.1, 0.25)
    assert made.speed("own", "nobody") is None


def test_contestants_take_turns_after_a_round_that_does_not_count() -> None:
    order: list[str] = []
    runs = tuple(Contestant(name, 1, lambda name=name: order.append(name)) for name in "ab")
    measured = race(Contest("turns", runs), rounds=2)
    assert order == ["a", "b"] * 3
    assert [len(timing.seconds) for timing in measured.timings] == [2, 2]


def test_a_short_contestant_runs_again_and_again() -> None:
    calls: list[int] = []
    measured = race(Contest("short", (Contestant("a", 1, lambda: calls.append(0)),)), 1, least=0.01)
    assert len(calls) > 2
    assert measured.timings[0].seconds[0] < 0.01


# What is promised.


def test_every_target_names_contestants_that_there_are(tiny: Kept) -> None:
    for verdict in targets.verdicts(tiny):
        absent = "memory" if " requests: under " in verdict.target else ""
        absent = "ciw" if verdict.target.endswith("Ciw") and find_spec("ciw") is None else absent
        absent = "numba" if "compiled" in verdict.target and not HAS_NUMBA else absent
        assert (verdict.seen is None) == (absent != ""), verdict.target


def made_up(fcfs: float, late: float) -> Kept:
    """The floor takes 1 s; fcfs `fcfs` s, and `late` s on the larger backlog and at the higher load."""
    pool = {"SimPy, two timeouts a request": 1.0, "fcfs, simpy, 0.5 of slots": fcfs}
    pool |= {"fcfs, simpy, 0.9 of stable": 1.0, "fcfs, simpy, 1.2 of stable": late}
    made = outcome(**{name: (10, (seconds,)) for name, seconds in pool.items()})
    peaks = [memory.Peak("fcfs", "compiled", "summary", 10_000_000, 1e9 * late)]
    return Kept({}, [replace(made, name=POOL)], peaks)


@pytest.mark.parametrize(("fcfs", "late", "met"), [(4.0, 2.0, True), (4.1, 2.6, False)])
def test_the_median_meets_a_target_or_does_not(fcfs: float, late: float, met: bool) -> None:
    """A quarter of the floor, twice the time, 2.5 GB: the first case is at the limits or within."""
    verdicts = {v.target: v.met for v in targets.verdicts(made_up(fcfs, late)) if v.met is not None}
    assert verdicts == {
        "fcfs, simpy, 0.5 of slots: at least 0.25 times the floor": met,
        "fcfs, simpy: a request at load 1.2 to 0.9 at most 2": met,
        "fcfs, compiled, summary, 10,000,000 requests: under 2,500 MB": met,
    }


def test_the_oracle_is_to_be_beaten_by_the_stretch() -> None:
    """Stretches of 4 steps: SimPy must be 2 times as fast as the oracle and is, the twin 4 and is 3."""
    made = outcome(**{"oracle": (10, (6.0,)), "fcfs, simpy": (10, (3.0,)), "fcfs, compiled": (10, (2.0,))})
    name = "oracle, B = 32, lmsys-like, backlog, one worker: fcfs"
    kept = Kept({}, [replace(made, name=name, facts={"mean stretch length": 4.0})])
    met = {v.target.partition(",")[0]: [] for v in targets.verdicts(kept)}
    for verdict in targets.verdicts(kept):
        met[verdict.target.partition(",")[0]].append(verdict.met)
    assert [value for value in met["fcfs"] if value is not None] == [True, False]


# What is kept.


def test_what_is_kept_comes_back(tiny: Kept, tmp_path: Path) -> None:
    kept = replace(tiny, peaks=[memory.Peak("fcfs", "simpy", "summary", 10, None, "no reason")])
    write(kept, tmp_path / "new" / "run.json")
    again = read(tmp_path / "new" / "run.json")
    assert again.made == kept.made
    assert again.peaks == kept.peaks
    for before, after in zip(kept.outcomes, again.outcomes, strict=True):
        assert replace(after, timings=()) == replace(before, timings=())
        for one, other in zip(before.timings, after.timings, strict=True):
            assert other.seconds == pytest.approx(one.seconds, rel=1e-4)


def test_the_figures_of_the_page_are_those_of_the_last_kept_run() -> None:
    page, kept = PAGE.read_text(encoding="utf-8"), read(RESULTS[-1])
    assert page.count("```text") > 4
    assert renewed(page, kept) == page
    assert renewed(page, replace(kept, outcomes=[])) != page


# Memory.


def test_memory_is_that_of_a_process_of_its_own() -> None:
    small = memory.peak("fcfs", "simpy", "requests", 50)
    assert small.size is not None
    assert 2e7 < small.size < 1e9
    assert "neither a Rule nor a Cohort" in memory.peak("matched", "compiled", "summary", 50).skipped or (
        not HAS_NUMBA
    )


# The smoke version.


def test_a_drop_by_a_third_fails_and_less_passes() -> None:
    kept = {"a": 3.0, "b": 3.0, "c": 3.0}
    wrong = smoke.compare(kept, smoke.Ratios({"a": 2.0, "b": 2.1, "c": 9.0}))
    assert wrong == ["a: 2, was 3: dropped by 33 %"]


def test_a_missing_ratio_is_named() -> None:
    seen = smoke.Ratios({"new": 1.0}, {"left out": "no Numba"})
    assert smoke.compare({"old": 1.0, "left out": 1.0}, seen) == [
        "old: kept, but no longer measured",
        "new: measured, but not kept",
    ]


@pytest.mark.parametrize(("second", "status"), [(2.9, 0), (1.0, 1)])
def test_the_better_of_two_measurements_counts(
    second: float, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    values = iter([0.9, second])
    monkeypatch.setattr(smoke, "read_kept", lambda: {"a": 3.0})
    monkeypatch.setattr(smoke, "measure", lambda: smoke.Ratios({"a": next(values)}))
    assert main(["--smoke"]) == status
    said = capsys.readouterr().out
    assert "measured again" in said
    assert ("FAILED: a: 1, was 3: dropped by 67 %" in said) == bool(status)


def test_the_smoke_ratios_are_measured_and_kept(tmp_path: Path) -> None:
    seen = smoke.measure({"simpy": 40, "compiled": 40}, rounds=1, least=0.0)
    assert seen.values.keys() | seen.skipped.keys() == smoke.read_kept().keys()
    smoke.write_kept(seen, tmp_path / "smoke.json")
    assert smoke.read_kept(tmp_path / "smoke.json") == pytest.approx(dict(seen.values), rel=1e-3)


# The command.


def test_the_command_prints_and_keeps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run.json"
    words = ["--sections", "oracle", "--requests", "400", "--rounds", "1", "--out", str(out)]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert main(["--show", str(out)]) == 0
    shown = capsys.readouterr().out
    head, _, rest = said.partition("oracle, ")
    assert head in shown
    assert rest.count("mean stretch length") == 4
    assert BACKLOG not in said
    main(["--show", str(out), "--targets"])
    assert capsys.readouterr().out.count("at least") == 6 + 8
    assert json.loads(out.read_text())["made"]["settings"].startswith("400 requests, 1 rounds")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--requests", "0"], "--requests is 0: it must be a whole number >= 1"),
        (["--rounds", "many"], "--rounds is 'many': it must be a whole number >= 1"),
        (["--sections", "pol"], "unknown --sections 'pol'"),
        (["--keep"], "--keep is given without --smoke"),
        (["--page"], "--page is given without --show"),
        (["--out", "README.md/run.json"], "--out is 'README.md/run.json', which cannot be written"),
        (["--fast"], "unrecognized arguments: --fast"),
        (["--show", "nowhere.json"], "'nowhere.json' cannot be read: No such file"),
    ],
)
def test_a_bad_argument_is_one_line(
    words: list[str], says: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert main(words) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert said.startswith(f"benchmarks: error: {says}")


def test_a_file_that_is_no_kept_run_is_refused(tmp_path: Path) -> None:
    for text in ("", "[]", '{"made": {}}'):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(InputError, match=r"bad\.json' is no kept run"):
            read(tmp_path / "bad.json")
        with pytest.raises(InputError, match=r"bad\.json holds no ratios"):
            smoke.read_kept(tmp_path / "bad.json")
    with pytest.raises(InputError, match=r"--out is .* cannot be written"):
        write(Kept({}), tmp_path / "bad.json" / "below.json")


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_are_true(module: str) -> None:
    assert doctest.testmod(importlib.import_module(f"benchmarks.{module}")).failed == 0
