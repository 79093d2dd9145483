"""`fairq trace`: what it says of a file, as text, JSON and picture, and what it refuses."""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from test_formats import write
from test_servegen import DATASET, TRACE
from trace_files import SAMPLES

from fairq.cli import main
from fairq.description import describe, dispersion
from fairq.fits import best_fit
from fairq.streams import stream
from fairq.workload import Workload


@pytest.fixture
def command(capsys):
    def run(*arguments: object) -> tuple[int, str, str]:
        status = main(["trace", *map(str, arguments)])
        return status, *capsys.readouterr()

    return run


def test_a_page_says_what_was_read_and_what_was_not(tmp_path: Path, command) -> None:
    content = SAMPLES["burstgpt"].content + "6,GPT-4,0,0,0,API log\n"
    status, out, err = command(write(tmp_path, content))
    assert (status, err) == (0, "")
    for words in (
        "read as burstgpt", "prompt_tokens = 'Request tokens'", "3 of 4 rows used",
        "1 row dropped: no output",
        "seconds from the first arrival, 5 s in the file", "rate ", "CV of gaps", "largest gap   1.500 s",
        "Correlation of prompt and output", "Nearest law, total: { dist = ", "Labels: ChatGPT 2, GPT-4 1",
    ):  # fmt: skip
        assert words in out


@pytest.mark.parametrize("name", SAMPLES)
def test_every_format_is_described(tmp_path: Path, command, name: str) -> None:
    path = write(tmp_path, SAMPLES[name].content)
    status, out, _ = command(path, "--json")
    found = json.loads(out)
    assert status == 0
    assert found["requests"] == 3
    assert found["source"]["format"] == SAMPLES[name].format
    assert (found["arrivals"] is None) == (SAMPLES[name].arrival is None)
    assert found["lengths"]["prompt"]["quantiles"]["p50"] == 91
    assert found["lengths"]["total"]["max"] == 418
    assert command(path)[0] == 0


def test_a_picture_is_written(tmp_path: Path, command) -> None:
    for name in ("azure-2023", "pairs"):
        picture = tmp_path / f"{name}.png"
        status, out, _ = command(write(tmp_path, SAMPLES[name].content), "--plot", picture)
        assert status == 0
        assert f"Picture: {picture}" in out
        assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    status, out, _ = command(write(tmp_path, "tokens\n5\n5\n"), "--plot", picture, "--json")
    assert (status, json.loads(out)["requests"]) == (0, 2)


def test_options_reach_the_reading(tmp_path: Path, command) -> None:
    path = write(tmp_path, "when,a,b\n5,1,2\n5,1,0\n6,1,2\n")
    columns = ["--columns", "arrival=when,prompt_tokens=a", "--columns", "output_tokens=b"]
    status, out, _ = command(path, "--json", "--zero", "keep", "--ties", "spread", *columns)
    found = json.loads(out)
    assert status == 0
    assert (found["source"]["kept"], found["source"]["ties"], found["arrivals"]["ties"]) == (1, 1, 0)
    path = write(tmp_path, SAMPLES["mooncake"].content)
    assert json.loads(command(path, "--json", "--format", "mooncake-seconds")[1])["arrivals"]["span"] == 2000


@pytest.mark.parametrize(("kind", "magic"), [("pdf", b"%PDF-"), ("svg", b"<?xml"), ("PNG", b"\x89PNG")])
def test_pictures_of_every_kind_have_the_same_bytes_again(
    tmp_path: Path, command, kind: str, magic: bytes
) -> None:
    path = write(tmp_path, SAMPLES["vidur"].content)
    pictures = [tmp_path / f"{k}.{kind}" for k in range(2)]
    for picture in pictures:
        assert command(path, "--plot", picture)[0] == 0
    assert pictures[0].read_bytes().startswith(magic)
    assert pictures[0].read_bytes() == pictures[1].read_bytes()


def test_columns_may_stand_before_the_file_and_hold_spaces_and_signs(tmp_path: Path, command) -> None:
    path = write(tmp_path, "when,n n,x=y\n5,1,2\n")
    status, out, _ = command("--columns", "arrival=when, prompt_tokens=n n,output_tokens=x=y", "--json", path)
    assert status == 0
    assert json.loads(out)["source"]["mapping"] == {
        "arrival": "when", "prompt_tokens": "n n", "output_tokens": "x=y",
    }  # fmt: skip


@pytest.mark.parametrize(
    "times",
    [("0.5", "1e308"), ("0", "1e308", "1.7e308"), ("0", "5e-324"), ("0", "1e-310", "3e-310"),
     ("1e308", "1e308"), ("0", "1", "1e300", "1.1e300")],
)  # fmt: skip
def test_times_at_the_ends_of_floats_are_described_and_drawn(
    tmp_path: Path, command, times: tuple[str, ...]
) -> None:
    path = write(
        tmp_path, "arrived_at,num_prefill_tokens,num_decode_tokens\n" + "".join(f"{t},37,4\n" for t in times)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        status, out, err = command(path, "--json", "--plot", tmp_path / "x.png")
        assert (status, err) == (0, "")
        found = json.loads(out, parse_constant=lambda text: pytest.fail(f"{text} is no JSON"))
        assert found["requests"] == len(times)
        status, out, err = command(path)
        assert (status, err) == (0, "")
    assert max(map(len, out.splitlines())) < 200


def test_control_characters_of_a_file_stay_off_the_terminal(tmp_path: Path, command) -> None:
    row = {"tokens": 5, "label": "\x1b[31mred\nline"}
    status, out, _ = command(write(tmp_path, json.dumps(row) + "\n"))
    assert status == 0
    assert "\x1b" not in out
    assert "Labels: \\x1b[31mred\\nline 1" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["none.csv"], "'none.csv' cannot be read: No such file or directory"),
        (["bad.csv"], "bad.csv: row 2, column 'tokens' is 'x': it must be a whole number"),
        (["bad.csv", "--columns", "arrival"], "--columns is 'arrival': it must be OURS=THEIRS"),
        (["bad.csv", "--columns", "arival=x"], "unknown column 'arival': did you mean 'arrival'?"),
        (["bad.csv", "--format", "azur"], "unknown format 'azur'"),
        (["bad.csv", "--zero", "clip"], "unknown zero 'clip'"),
        (["bad.csv", "--ties", "clip"], "unknown ties 'clip'"),
        (["bad.csv", "--jsn"], "unknown option '--jsn' of fairq trace: did you mean '--json'?"),
        (["good.csv", "--plot", "good.csv"], "--plot is 'good.csv': its name must end in .png, .pdf, .svg"),
        (["good.csv", "--plot", "x.txt"], "--plot is 'x.txt': its name must end in .png, .pdf, .svg"),
        (["good.png", "--plot", "good.png"], "--plot is 'good.png', the trace itself: it must be another"),
        (["good.csv", "--plot", "link.png"], "--plot is 'link.png', the trace itself: it must be another"),
        (["c-trace.csv", "--plot", "c-dataset.json"], "its name must end in .png, .pdf, .svg"),
        (["good.csv", "--columns", "tokens=a,tokens=b"], "--columns gives tokens twice, 'a' and 'b'"),
        (["good.csv", "--columns", "tokens=a", "--columns", "tokens=b"], "--columns gives tokens twice"),
        (["--columns", "tokens=a", "arrival=b", "good.csv"], "(--columns takes OURS=THEIRS,OURS=THEIRS)"),
        (["good.csv", "--plot", "no/such/folder/x.png"], "No such file or directory"),
        (["c-trace.csv", "--format", "azure"], "--format is given, but c-trace.csv is a ServeGen client"),
        ([], "FILE"),
    ],
)
def test_bad_input_is_one_line_and_status_two(tmp_path, monkeypatch, command, arguments, words) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "tokens\nx\n", "bad.csv")
    write(tmp_path, "tokens\n5\n", "good.csv")
    write(tmp_path, "tokens\n5\n", "good.png")
    (tmp_path / "link.png").symlink_to("good.csv")
    write(tmp_path, TRACE, "c-trace.csv")
    write(tmp_path, json.dumps(DATASET), "c-dataset.json")
    status, _, err = command(*arguments)
    assert status == 2
    assert (tmp_path / "good.csv").read_text() == (tmp_path / "good.png").read_text() == "tokens\n5\n"
    assert words in err
    assert err.count("\n") == 1
    assert "Traceback" not in err


RUN = """
name = "failed"
clock = "cost"
[workload.arrivals]
kind = "trace"
path = "burst.csv"
[pool]
batch_size = 2
[[policies]]
name = ["fcfs", "ljf"]
"""


def test_a_run_says_once_what_was_left_out(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, SAMPLES["burstgpt"].content + "6,GPT-4,0,0,0,API log\n", "burst.csv")
    write(tmp_path, RUN, "failed.toml")
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert main(["run", "failed.toml"]) == 0
    assert capsys.readouterr().err.splitlines().count(
        "fairq: warning: burst.csv: 1 of 4 rows dropped (no output tokens)"
    ) == 1  # fmt: skip


def test_a_servegen_client_is_described_as_what_it_is(tmp_path: Path, command) -> None:
    path = write(tmp_path, TRACE, "c-trace.csv")
    write(tmp_path, json.dumps(DATASET), "c-dataset.json")
    status, out, _ = command(path)
    assert status == 0
    assert "a ServeGen client, a law of requests and not requests" in out
    found = json.loads(command(path, "--json")[1])
    assert (found["windows"], found["active"], found["mean_rate_active"], found["largest_rate"]) == (
        3,
        2,
        3.0,
        4.0,
    )
    assert found["cv"] == pytest.approx((2 * 1 + 4 * 2) / 6)
    assert (found["mean_input"], found["mean_output"]) == (8.75, 4.5)
    assert found["families"] == {"Gamma": 1, "Weibull": 1}


def test_gap_figures_by_hand() -> None:
    w = Workload.from_arrays([5, 5, 5, 5], [4.0, 1.0, 1.0, 7.0])
    found = describe(w)["arrivals"]
    assert (found["span"], found["mean_gap"], found["rate"], found["largest_gap"]) == (6.0, 2.0, 0.5, 3.0)
    assert found["cv"] == pytest.approx(math.sqrt(3) / 2)  # gaps 0, 3, 3: sample deviation sqrt(3)
    assert (found["ties"], found["out_of_order"]) == (1, 1)
    assert describe(Workload.from_arrays([5, 5]))["arrivals"] is None
    assert describe(Workload.from_arrays([5, 6], [0, 2]))["arrivals"]["cv"] is None


def test_the_index_of_dispersion_counts_whole_windows() -> None:
    since = np.concatenate([np.arange(20) + 0.25, np.arange(0, 20, 2) + 0.5])  # 2, 1, 2, 1, ... a second
    since.sort()
    since = since - since[0]
    found = next(row for row in dispersion(since) if row["window"] == 1.0)
    counts = np.bincount(since.astype(int))[:19]
    assert found["windows"] == 19
    assert found["mean"] == pytest.approx(counts.mean())
    assert found["index"] == pytest.approx(counts.var(ddof=1) / counts.mean())
    assert (found["least"], found["most"]) == (1, 2)


def test_poisson_arrivals_have_an_index_near_one() -> None:
    since = stream(3, 0, "arrivals").exponential(0.1, 60_000).cumsum()
    for row in dispersion(since - since[0]):
        assert abs(row["index"] - 1) < 5 * math.sqrt(2 / row["windows"])


@pytest.mark.parametrize(
    ("law", "name"),
    [
        (stats.expon(scale=500), "expon"), (stats.gamma(4, scale=100), "gamma"),
        (stats.lognorm(1.2, scale=300), "lognorm"), (stats.weibull_min(2.5, scale=900), "weibull_min"),
    ],
)  # fmt: skip
def test_the_nearest_law_is_the_one_that_was_drawn(law, name: str) -> None:
    values = np.maximum(np.rint(law.rvs(20_000, random_state=stream(1, 0, "lengths"))), 1).astype(np.int64)
    fit = best_fit(*np.unique(values, return_counts=True))
    assert fit is not None
    near = {name} if name != "expon" else {"expon", "gamma", "weibull_min"}  # both have it as a special case
    assert fit["dist"] in near
    assert fit["distance"] < 0.02


def test_a_distance_is_the_largest_difference_of_the_distribution_functions() -> None:
    values = np.array([1, 1, 2, 3, 8])
    fit = best_fit(*np.unique(values, return_counts=True))
    assert fit is not None
    parameters = {key: value for key, value in fit.items() if key not in ("dist", "distance")}
    law = getattr(stats, fit["dist"])(**parameters)
    reached = {1: 0.4, 2: 0.6, 3: 0.8, 8: 1.0}
    below = {1: 0.0, 2: 0.4, 3: 0.6, 8: 0.8}
    expected = max(max(abs(reached[v] - law.cdf(v + 0.5)), abs(below[v] - law.cdf(v - 0.5))) for v in reached)
    assert fit["distance"] == pytest.approx(expected)
    for values in ([5, 5, 5], [0, 1, 2], [7]):
        assert best_fit(*np.unique(np.array(values), return_counts=True)) is None


def test_a_description_of_chunked_prompts_is_of_the_tokens_billed() -> None:
    w = Workload.from_arrays([1003, 503], prompt_tokens=[1000, 500])
    assert describe(w.chunk_prompt(512))["lengths"] == describe(w)["lengths"]
