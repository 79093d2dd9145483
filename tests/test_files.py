"""Files that are none to read: pipes, devices, paths that are no paths; and names that would break a line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from test_formats import problem, write
from test_servegen import TRACE

from fairq.cli import main
from fairq.errors import InputError
from fairq.scenario import Scenario
from fairq.servegen import read_client
from fairq.workload import Workload

RUN = ["workload={ arrivals = { kind = 'trace', path = 'PATH' } }", "clock='cost'"]


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    if not hasattr(os, "mkfifo"):
        pytest.skip("no named pipes here")
    path = tmp_path / "c-trace.csv"
    os.mkfifo(path)
    return path


def test_a_pipe_is_refused_wherever_a_file_is_read(tmp_path: Path, pipe: Path, capsys) -> None:
    words = "is not a regular file: it must be one"
    assert words in problem(pipe)
    with pytest.raises(InputError, match=words):
        read_client(pipe)
    with pytest.raises(InputError, match=words):
        read_client(write(tmp_path, TRACE, "d-trace.csv"), pipe)
    with pytest.raises(InputError, match=words):
        Scenario.load(pipe)
    for command in (
        ["trace", pipe],
        ["run", pipe],
        ["run", "table1", *(part for text in RUN for part in ("--set", text.replace("PATH", str(pipe))))],
    ):
        assert main(list(map(str, command))) == 2
        err = capsys.readouterr().err
        assert words in err
        assert err.count("\n") == 1


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
def test_a_device_is_refused(device: str, capsys) -> None:
    if not Path(device).exists():
        pytest.skip(f"no {device} here")
    assert "is not a regular file" in problem(Path(device))
    assert (
        main(["run", "table1", *(part for text in RUN for part in ("--set", text.replace("PATH", device)))])
        == 2
    )
    assert f"workload.arrivals.path: {device!r} is not a regular file" in capsys.readouterr().err


@pytest.mark.skipif(not Path("/dev/stdin").exists(), reason="no /dev/stdin here")
def test_what_comes_by_a_pipe_on_stdin_is_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "fairq.cli", "trace", "/dev/stdin"],
        input="tokens\n5\n", capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == (
        "fairq: error: '/dev/stdin' is not a regular file: it must be one (write what a pipe brings to a "
        "file first)\n"
    )


@pytest.mark.parametrize("path", [None, 3, b"trace.csv", ["trace.csv"]])
def test_a_path_that_is_none(path: object) -> None:
    for use in (Workload.read, Workload.from_arrays([5]).to_csv, read_client, Scenario.load):
        with pytest.raises(InputError, match=r"^path is .*: it must be the path of a file$"):
            use(path)  # type: ignore[operator]


def test_a_name_with_a_line_end_leaves_the_message_one_line(tmp_path: Path, capsys) -> None:
    path = write(tmp_path, "tokens\nx\n", "two\nlines\x1b.csv")
    assert problem(path).startswith(f"{tmp_path}/two\\nlines\\x1b.csv: row 2")
    path = write(tmp_path, "tokens\n5\n", "two\nlines\x1b.csv")
    assert "two\\nlines\\x1b.csv read as csv" in str(Workload.read(path).source)
    assert main(["trace", str(path)]) == 0
    assert f"{tmp_path}/two\\nlines\\x1b.csv, read as csv\n" in capsys.readouterr().out
