"""What a run says of where its requests came from: how files were read, what was replayed, what was drawn."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest
from test_formats import write
from test_servegen import DATASET, TRACE
from trace_files import SAMPLES

from fairq.cli import main
from fairq.errors import InputError
from fairq.provenance import origin, reading_text, spread
from fairq.scenario import Scenario
from fairq.study import load_study

BASE = """
name = "told"
clock = "cost"
replications = 2
[workload]
{more}
[workload.arrivals]
kind = "{kind}"
path = "{path}"
{arrivals}
[pool]
batch_size = 2
{pool}
[[policies]]
name = "fcfs"
"""


def scenario(path: Path, kind: str = "trace", arrivals: str = "", more: str = "", pool: str = "") -> Scenario:
    text = BASE.format(path=path, kind=kind, arrivals=arrivals, more=more, pool=pool)
    return Scenario.load(write(path.parent, text, "told.toml"))


@pytest.fixture
def burst(tmp_path: Path) -> Path:
    return write(tmp_path, SAMPLES["burstgpt"].content + "6,GPT-4,0,0,0,API log\n", "burst.csv")


@pytest.fixture
def client(tmp_path: Path) -> Path:
    write(tmp_path, json.dumps(DATASET), "c-dataset.json")
    return write(tmp_path, TRACE, "c-trace.csv")


REPLAYED = (
    "A recorded trace, replayed: the figures are exact for it, and say nothing of the spread between traces."
)


def test_each_source_has_its_own_words(burst: Path, client: Path) -> None:
    assert spread(scenario(burst)) == (REPLAYED, True)
    assert origin(scenario(burst)) == " of the trace burst.csv"
    resampled = scenario(burst, arrivals="bootstrap = 0.5")
    text, exact = spread(resampled)
    assert (text[:61], exact) == ("A recorded trace, resampled in pieces of about 0.5: other dra", False)
    assert origin(resampled) == " resampled from the trace burst.csv"
    drawn = scenario(client, "servegen")
    assert spread(drawn) == (
        "Requests drawn from the law of a ServeGen client: they are none that were recorded.", False
    )  # fmt: skip
    assert origin(drawn) == " drawn from the ServeGen client c-trace.csv"
    assert (spread(Scenario.load("table1")), origin(Scenario.load("table1"))) == (("", False), "")


@pytest.mark.parametrize(
    ("more", "pool", "words"),
    [
        (
            "acceptance = { kind = 'bucketed-linear', width = 1000 }",
            "",
            "but for who is accepted, drawn in each",
        ),
        (
            "",
            "workers = 2\ndispatch = 'random'",
            "but for the workers dispatched to, drawn in each replication",
        ),
        (
            "predictions = { kind = 'noise', spread = 0.5 }",
            "",
            "but for predictions, drawn in each replication",
        ),
        ("predictions = { kind = 'classes', edges = [100] }", "", "replayed: the figures are exact"),
    ],
)
def test_a_replay_with_draws_is_not_said_to_be_exact(burst: Path, more: str, pool: str, words: str) -> None:
    text, exact = spread(scenario(burst, more=more, pool=pool))
    assert words in text
    assert exact == (not words.startswith("but"))


def test_a_trace_among_drawn_classes_is_not_exact(burst: Path) -> None:
    text = f"""
    name = "mixed"
    clock = "cost"
    [[workload.classes]]
    label = "recorded"
    arrivals = {{ kind = "trace", path = "{burst}" }}
    [[workload.classes]]
    label = "drawn"
    arrivals = {{ kind = "poisson", rate = 2.0 }}
    requests = 5
    tokens = {{ dist = "randint", low = 1, high = 9 }}
    [pool]
    batch_size = 2
    [[policies]]
    name = "fcfs"
    """
    mixed = Scenario.load(write(burst.parent, text, "mixed.toml"))
    said, exact = spread(mixed)
    assert "but for the other requests, drawn in each replication" in said
    assert not exact
    with pytest.warns(UserWarning, match="1 of 4 rows dropped"):
        assert list(mixed.readings()) == ["workload.classes.0.arrivals"]


@pytest.mark.filterwarnings("default::fairq.ReadWarning")
def test_a_run_says_how_the_trace_was_read_everywhere(burst: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(burst.parent)
    scenario(Path("burst.csv").absolute())
    text = BASE.format(path="burst.csv", kind="trace", arrivals="", more="", pool="")
    write(burst.parent, text, "told.toml")
    line = (
        "burst.csv read as burstgpt (arrival = 'Timestamp', prompt_tokens = 'Request tokens', "
        "output_tokens = 'Response tokens', tokens = 'Total tokens', label = 'Model'); seconds from the "
        "first arrival, 5 s in the file; 3 of 4 rows used; 1 of 4 rows dropped (no output tokens)"
    )
    for _ in range(2):  # the second time the run is there already
        assert main(["run", "told.toml"]) == 0
        assert capsys.readouterr().out.count(f"Read: {line}\n") == 1
    manifest = json.loads(Path("runs/told/manifest.json").read_text())
    reading = manifest["reading"]["workload.arrivals"]
    assert reading["file"] == "burst.csv"
    assert (reading["format"], reading["rows"], reading["used"]) == ("burstgpt", 4, 3)
    assert reading["dropped"] == {"no output tokens": 1}
    assert reading_text(reading) == line
    page = Path("runs/told/report.html").read_text()
    assert page.count("How the file was read: burst.csv read as burstgpt") == 1
    assert "replayed: the figures are exact for it" in page
    assert "1 requests" not in page
    manifest["reading"] = {"workload.arrivals": {"file": "x"}}
    Path("runs/told/manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match="is damaged: its 'reading' is none of fairq's"):
        load_study("runs/told")


def test_a_client_and_a_pool_of_lengths_are_said_too(burst: Path, client: Path) -> None:
    drawn = scenario(client, "servegen", more=f"tokens = {{ kind = 'trace', path = '{burst}' }}")
    with pytest.warns(UserWarning, match="1 of 4 rows dropped"):
        found = drawn.readings()
    assert list(found) == ["workload.arrivals", "workload.tokens"]
    assert reading_text(found["workload.arrivals"]) == (
        f"{client} read as a ServeGen client, lengths from {client.parent}/c-dataset.json; 3 windows, "
        "2 active"
    )
    assert "read as burstgpt" in reading_text(found["workload.tokens"])


def test_the_replay_of_lengths_without_times_is_said_to_be_a_backlog(
    tmp_path: Path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, SAMPLES["vidur-lengths"].content, "lengths.csv")
    write(tmp_path, BASE.format(path="lengths.csv", kind="trace", arrivals="", more="", pool=""), "told.toml")
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert main(["run", "told.toml"]) == 0
    out, err = capsys.readouterr()
    words = "lengths.csv: it has no times, so its replay is a backlog: all requests are there at 0"
    assert err.splitlines().count(f"fairq: warning: {words}") == 1
    assert "no times: a backlog" in out
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pool = "workload={ requests = 5, tokens = { kind = 'trace', path = 'lengths.csv' } }"
        assert len(Scenario.load("table1", [pool]).draw(0)) == 5  # lengths alone need no times


@pytest.mark.filterwarnings("default::fairq.ReadWarning")
def test_seconds_on_the_token_clock_name_the_fields_that_mend_it(burst: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(burst.parent)
    scenario(burst)
    assert main(["run", "told.toml", "--set", "clock=token"]) == 2
    err = capsys.readouterr().err.splitlines()[-1]
    assert "told.toml: workload.arrivals are in seconds, but clock is 'token'" in err
    assert "workload.arrivals.rate must say how many arrive a step" in err
    assert not Path("runs/told").exists()
    assert main(["run", "told.toml", "--set", "clock=token", "--set", "workload.arrivals.rate=0.01"]) == 0
