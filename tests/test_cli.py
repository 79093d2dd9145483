"""The command: what it prints, its exit status, and one line for every mistake."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from small_study import small_scenario

import fairq
from fairq.cli import main
from fairq.manifest import own_version
from fairq.policy import POLICIES
from fairq.result import Result

CALL = "from fairq.cli import main; sys.exit(main())"
COMMAND = [sys.executable, "-c", f"import sys; {CALL}"]
HEED = "signal.signal(signal.SIGINT, signal.default_int_handler)"  # who starts the tests may ignore it
INTERRUPTIBLE = [sys.executable, "-c", f"import signal, sys; {HEED}; {CALL}"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the small scenario in it."""
    small_scenario(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_run_writes_where_it_says_and_the_second_time_reads(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "small.toml"]) == 0
    first = capsys.readouterr().out
    assert first.endswith(f"Report: {Path('runs', 'small', 'report.html')}\n")
    assert (folder / "runs" / "small" / "report.html").is_file()
    assert main(["run", "small.toml"]) == 0
    second = capsys.readouterr()
    assert "nothing was simulated" in second.out
    assert first.splitlines()[:12] == second.out.splitlines()[:12]
    assert second.err == ""


def test_set_out_jobs_and_force(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["run", "small.toml", "--out", "here/run", "--set", "seed=9", "--set", "replications=2"]
    assert main([*arguments, "--jobs", "2"]) == 0
    manifest = json.loads((folder / "here" / "run" / "manifest.json").read_text(encoding="utf-8"))
    assert (manifest["seed"], manifest["scenario"]["replications"]) == (9, 2)
    assert main([*arguments, "--set", "seed=10"]) == 2
    assert "seed is 9 there and 10 here" in capsys.readouterr().err
    assert main([*arguments, "--set", "seed=10", "--force"]) == 0


def test_policies_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policies"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[::2]] == list(POLICIES)
    assert main(["policies", "--json"]) == 0
    listed = {entry["name"]: entry for entry in json.loads(capsys.readouterr().out)}
    assert list(listed) == list(POLICIES)
    assert listed["isjl"]["needs_alpha"] is True
    assert "pack_order" in listed["isjl"]["options"]


def test_schema_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    assert {"name", "workload", "pool", "policies"} <= set(json.loads(capsys.readouterr().out)["properties"])


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    assert "{run,policies,schema}" not in (text := capsys.readouterr().out)
    assert all(command in text for command in ("run", "policies", "schema"))
    assert main(["run", "--help"]) == 0
    assert "--set FIELD=VALUE" in capsys.readouterr().out
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("fairq ")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "no command given: it must be one of run, policies, schema"),
        (["rnu", "small.toml"], "unknown command 'rnu': did you mean 'run'?"),
        (["--verson"], "unknown option '--verson' of fairq: did you mean '--version'?"),
        (["run"], "the following arguments are required: SCENARIO"),
        (
            ["run", "small.toml", "--jbos", "2"],
            "unknown option '--jbos' of fairq run: did you mean '--jobs'?",
        ),
        (["run", "small.toml", "--jobs", "0"], "--jobs is 0: it must be a whole number >= 1"),
        (["run", "small.toml", "--jobs", "2.5"], "--jobs is '2.5': it must be a whole number >= 1"),
        (["run", "small.toml", "--jobs"], "argument --jobs: expected one argument"),
        (["run", "small.toml", "other.toml"], "fairq run takes no further argument 'other.toml'"),
        (["run", "tabel1"], "unknown scenario 'tabel1': did you mean 'table1'?"),
        (["run", "none.toml"], "none.toml"),
        (
            ["run", "small.toml", "--set", "pool.wrokers=3"],
            "unknown field 'pool.wrokers': did you mean 'workers'?",
        ),
        (["run", "small.toml", "--set", "pool.workers=0"], "pool.workers is 0"),
        (
            ["run", "small.toml", "--set", "policies.0.name=fcsf"],
            "unknown policy 'fcsf': did you mean 'fcfs'?",
        ),
        (["run", "small.toml", "--set", "nonsense"], "it must be FIELD=VALUE"),
        (["run", "small.toml", "--out", "small.toml"], "small.toml is a file"),
        (["run", "small.toml", "--out", "."], "it must be a folder other than the one you are in"),
        (["run", "small.toml", "--out", ""], "it must be a folder other than the one you are in"),
        (["run", "small.toml", "--jobs", "9" * 5000], "--jobs is '999"),
        (["run", "small.toml", "--set", "until=" + "9" * 400], "until is 999"),
        (["run", "small.toml", "--set", "until=" + "9" * 5000], "until"),
        (["run", "small.toml", "--set", "cost.c=" + "9" * 400], "cost.c is 999"),
        (["run", "small.toml", "--set", "policies.2.alpha=" + "9" * 400], "alpha"),
        (["run", "small.toml", "--set", "workload.tokens.high=" + "9" * 400], "high"),
        (["run", "small.toml", "--set", "workload.tokens.high=1e300"], "high"),
        (["run", "small.toml", "--set", f"policies.{'0' * 5000}.name=fcfs"], "policies"),
        (["run", "small.toml", "--set", "replications=" + "1" + "0" * 30], "replications is 1000"),
        (["run", "small.toml", "--set", "cost.price=1e308"], "Cost.price is 1e+308"),
        (["run", "small.toml", "--set", "clock={ c = 5e-324 }"], "use another unit"),
        (["run", "small.toml", "--set", "clock={ c = 1e308 }"], "use another unit"),
        (["run", "small.toml", "--out", "small.toml/run"], "small.toml"),
        (["policies", "--jsn"], "unknown option '--jsn' of fairq policies: did you mean '--json'?"),
    ],
)
def test_a_mistake_is_one_line_and_writes_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], told: str
) -> None:
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("fairq: error: ")
    assert err.count("\n") == 1
    assert told in err
    assert names(folder) == ["small.toml"]


def test_a_broken_check_is_status_1_and_names_the_run(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def check(_: Result) -> None:
        raise fairq.CheckError("capacity", "4 requests\nin 3 slots")

    monkeypatch.setattr(Result, "check", check)
    assert main(["run", "small.toml"]) == 1
    told = "rule 'capacity' is broken: 4 requests in 3 slots in fcfs, replication 0"
    assert capsys.readouterr().err == f"fairq: error: {told}\n"
    assert names(folder) == ["small.toml"]


def test_an_error_in_another_process_is_told_the_same(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "trace.csv").write_text("arrival,tokens\n0,5\n1,-7\n", encoding="utf-8")
    text = (folder / "small.toml").read_text(encoding="utf-8")
    table = 'arrivals = { kind = "trace", path = "trace.csv" }'
    text = text.replace("requests = 30\n", "").replace(
        'tokens = { dist = "randint", low = 1, high = 21 }', table
    )
    (folder / "small.toml").write_text(text, encoding="utf-8")
    assert main(["run", "small.toml", "--jobs", "2"]) == 2
    err = capsys.readouterr().err
    assert "trace.csv" in err
    assert "-7" in err
    assert err.count("\n") == 1
    assert names(folder) == ["small.toml", "trace.csv"]


@pytest.mark.parametrize("failing", ["runs.csv", "report.html"])
def test_a_full_disk_is_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    from_open = Path.open

    def full(path: Path, mode: str = "r", *rest: object, **named: object) -> object:
        if path.name == failing and "w" in mode:
            raise OSError(28, "No space left on device", str(path))
        return from_open(path, mode, *rest, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(Path, "open", full)
    if failing == "runs.csv":
        import pandas as pd

        def to_csv(_: pd.DataFrame, path: Path, **__: object) -> None:
            raise OSError(28, "No space left on device", str(path))

        monkeypatch.setattr(pd.DataFrame, "to_csv", to_csv)
    assert main(["run", "small.toml"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("fairq: error: No space left on device: ")
    assert err.count("\n") == 1
    assert names(folder) == ["small.toml"]


@pytest.mark.skipif(os.name != "posix", reason="signals and pipes as POSIX has them")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_is_status_130_and_leaves_nothing(folder: Path, jobs: str) -> None:
    running = subprocess.Popen(
        [*INTERRUPTIBLE, "run", "small.toml", "--jobs", jobs, "--set", "replications=100000"],
        stderr=subprocess.PIPE,
        text=True,
    )
    started = time.monotonic()
    while not (folder / "runs").exists() and time.monotonic() < started + 60:
        time.sleep(0.05)
    time.sleep(1)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert err.splitlines()[-1] == "fairq: error: interrupted; nothing was written"
    assert names(folder) == ["small.toml"]


@pytest.mark.skipif(os.name != "posix", reason="signals and pipes as POSIX has them")
def test_a_closed_pipe_is_no_traceback() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*COMMAND, "schema"], check=False, stdout=writing, stderr=subprocess.PIPE, text=True
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_stdout_is_one_line() -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            [*COMMAND, "policies"], check=False, stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert (done.returncode, done.stderr) == (2, "fairq: error: No space left on device\n")


def test_the_package_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "fairq", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"fairq {own_version()}\n"
