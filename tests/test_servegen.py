"""ServeGen clients: windows and length tables as the files have them, and draws that follow them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from fixtures_data import data_folder

from fairq.cli import main
from fairq.errors import InputError
from fairq.scenario import Scenario
from fairq.servegen import Client, describe_client, read_client
from fairq.streams import stream

TRACE = "0,2.0,1.0,Gamma,1.0,0.5\r\n600,4.0,2.0,Weibull,0.6,0.9\r\n1200,0.0,0.0,,0.0,0.0\r\n"
DATASET = {
    "0": {"input_tokens": "{10: 0.25, 20: 0.75}", "output_tokens": "{1: 0.5, 3: 0.5}"},
    "600": {"input_tokens": "{0: 1.0}", "output_tokens": "{7: 1}", "reason_ratio": "{0.5: 1}"},
    "1200": {"input_tokens": "{}", "output_tokens": "{}"},
}


@pytest.fixture
def write(tmp_path: Path):
    def to_files(trace: str = TRACE, dataset: object = DATASET) -> Path:
        (tmp_path / "c-dataset.json").write_text(json.dumps(dataset))
        (tmp_path / "c-trace.csv").write_text(trace)
        return tmp_path / "c-trace.csv"

    return to_files


def draw(client: Client, seed: int = 1):
    return client.draw(stream(seed, 0, "arrivals"), stream(seed, 0, "lengths"))


def test_windows_and_tables_are_read(write) -> None:
    client = read_client(write())
    assert [(w.start, w.end, w.rate, w.family) for w in client.windows] == [
        (0, 600, 2.0, "Gamma"), (600, 1200, 4.0, "Weibull"), (1200, 1800, 0.0, ""),
    ]  # fmt: skip
    assert client.windows[0].fitted_rate == pytest.approx(2.0)
    assert len(client.active) == 2
    assert [table.input.mean for table in client.tables[:2]] == [17.5, 0.0]
    assert client.tables[2].idle
    assert client.expected() == 3600
    assert client.mean_rate() == 2.0


def test_requests_follow_their_windows(write) -> None:
    w = draw(read_client(write()))
    first, second = w.arrival < 600, (w.arrival >= 600) & (w.arrival < 1200)
    assert (np.diff(w.arrival) >= 0).all()
    assert first.sum() + second.sum() == len(w)
    assert w.time_unit == "s"
    assert set(w.prompt_tokens[first].tolist()) == {10, 20}
    assert set(w.output_tokens[first].tolist()) == {1, 3}
    assert set(w.tokens[second].tolist()) == {7}
    assert (w.prompt_tokens[second] == 0).all()


@pytest.mark.parametrize(
    ("family", "shape"), [("Gamma", 1.0), ("Gamma", 0.3), ("Gamma", 4.0), ("Weibull", 0.7), ("Weibull", 2.0)]
)
def test_the_rate_is_the_windows_own_whatever_its_scale(write, family: str, shape: float) -> None:
    """The count of a renewal process over t has mean near t/m and variance near cv² t/m."""
    client = read_client(write(f"0,5.0,1.0,{family},{shape},123.0\n", {"0": DATASET["0"]}))
    counts = [len(client.arrivals(stream(seed, 0, "arrivals"))) for seed in range(60)]
    cv2 = 1 / shape if family == "Gamma" else _weibull_cv2(shape)
    expected = 3000 + (cv2 - 1) / 2  # an ordinary renewal process, Lorden's constant for the start
    error = (cv2 * 3000 / len(counts)) ** 0.5
    assert abs(np.mean(counts) - expected) < 4 * error


def _weibull_cv2(shape: float) -> float:
    from math import gamma

    return gamma(1 + 2 / shape) / gamma(1 + 1 / shape) ** 2 - 1


def test_gaps_have_the_family_and_shape(write) -> None:
    from scipy import stats

    client = read_client(write("0,50.0,1.0,Weibull,0.7,1\n", {"0": DATASET["0"]}))
    gaps = np.diff(client.arrivals(stream(3, 0, "arrivals")))
    scale = gaps.mean() / stats.weibull_min(0.7).mean()
    assert stats.kstest(gaps, stats.weibull_min(0.7, scale=scale).cdf).pvalue > 0.01


def test_lengths_have_their_tables_shares(write) -> None:
    w = draw(read_client(write("0,50.0,1.0,Gamma,1,1\n", {"0": DATASET["0"]})))
    share = (w.prompt_tokens == 20).mean()
    assert abs(share - 0.75) < 4 * (0.75 * 0.25 / len(w)) ** 0.5


def test_a_part_of_the_time_is_counted_from_its_start(write) -> None:
    part = read_client(write()).between(500, 700)
    assert [(w.start, w.end) for w in part.windows] == [(500, 600), (600, 700)]
    w = draw(part)
    assert w.arrival.min() >= 0
    assert w.arrival.max() < 200
    with pytest.raises(
        InputError, match=r"^window is \[1800\.0, 1900\.0\]: it must be part of \[0\.0, 1800\.0\]$"
    ):
        read_client(write()).between(1800, 1900)
    with pytest.raises(InputError, match=r"c-trace\.csv has no active window from 1200\.0 to 1800\.0 s"):
        draw(read_client(write()).between(1200, 1800))


@pytest.mark.parametrize(
    ("trace", "words"),
    [
        ("", "is empty"),
        ("0,1,1,Gamma,1\n", "row 1 has 5 fields: it must have 6"),
        ("0,1,1,Gauss,1,1\n", "row 1, family is 'Gauss': it must be 'Gamma' or 'Weibull'"),
        ("0,1,1,,1,1\n", "row 1, family is '': it must be"),
        ("0,-1,1,Gamma,1,1\n", "row 1, rate is '-1': it must be a finite number >= 0"),
        ("0,nan,1,Gamma,1,1\n", "row 1, rate is 'nan'"),
        ("0,x,1,Gamma,1,1\n", "row 1, rate is 'x'"),
        ("0,1,1,Gamma,0,1\n", "row 1, shape is '0': it must be from 0.01 to 1000000"),
        ("0,1,1,Gamma,1e-300,1\n", "row 1, shape is '1e-300'"),
        ("0,1,1,Gamma,1,0\n", "row 1, scale is '0': it must be > 0"),
        ("0,1,1,Gamma,1,1\n0,1,1,Gamma,1,1\n", "row 2, start is 0.0: it must be above"),
    ],
)
def test_a_bad_window_is_named(write, trace: str, words: str) -> None:
    with pytest.raises(InputError, match=r"c-trace\.csv") as caught:
        read_client(write(trace))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("__import__('os').getcwd()", "it must be text that writes a dict of tokens to probabilities"),
        ("{1: 0.5 + 0.5}", "it must be text that writes a dict"),
        ("[1]", "it must be text that writes a dict"),
        ("(" * 5000, "it must be text that writes a dict"),
        (None, "window '0', input_tokens is None"),
        ("{1.5: 1}", "1.5 must be a whole number from 0"),
        ("{-1: 1}", "-1 must be a whole number from 0"),
        ("{True: 1}", "True must be a whole number"),
        ("{1: -0.5, 2: 1.5}", "the probability of 1 is -0.5"),
        ("{1: 'x'}", "the probability of 1 is 'x'"),
        ("{1: 0.4, 2: 0.4}", "add up to 0.8: it must be 1"),
    ],
)
def test_a_bad_table_is_named_and_never_run(write, table: str | None, words: str) -> None:
    path = write(dataset={"0": {"input_tokens": table, "output_tokens": "{1: 1}"}})
    with pytest.raises(InputError, match=r"c-dataset\.json") as caught:
        read_client(path)
    assert words in str(caught.value)


def test_an_output_of_nothing_is_refused_and_so_is_what_is_no_dataset(write) -> None:
    with pytest.raises(InputError, match="output_tokens: 0 must be a whole number from 1"):
        read_client(write(dataset={"0": {"input_tokens": "{1: 1}", "output_tokens": "{0: 1}"}}))
    for dataset in ([], {}, {"x": {}}, {"0": 5}):
        with pytest.raises(InputError, match=r"c-dataset\.json"):
            read_client(write(dataset=dataset))
    with pytest.raises(
        InputError, match=r"its name does not end in 'trace\.csv', so its dataset must be given"
    ):
        read_client(write().rename(write().with_name("other.csv")))


def test_a_request_without_a_table_and_too_many_requests_are_errors(write) -> None:
    client = read_client(write(dataset={"0": DATASET["0"], "600": DATASET["1200"]}))
    with pytest.raises(InputError, match=r"a request at 600\.?\d* s finds no length table for that time"):
        draw(client)
    with pytest.raises(InputError, match=r"600,000,000,000 expected requests: there must be at most"):
        draw(read_client(write("0,1e9,1,Gamma,1,1\n")))


def test_the_first_so_many_are_the_same_and_need_no_bound(write) -> None:
    client = read_client(write())
    whole = draw(client)
    for most in (1, 10, 1199, 1200, 3000, len(whole), len(whole) + 5):
        first = client.draw(stream(1, 0, "arrivals"), stream(1, 0, "lengths"), most)
        assert first.arrival.tolist() == whole.arrival[:most].tolist()
        assert first.tokens.tolist() == whole.tokens[:most].tolist()
    heavy = "0,0.01,9.0,Gamma,0.0123,1\n600,2.0,3.0,Weibull,0.4,1\n1200,4.0,1.0,Gamma,1.0,1\n"
    table = {"0": DATASET["0"]}
    client = read_client(write(heavy, table))
    whole = draw(client)
    for most in (1, 2, 5, 50, 2000):
        first = client.arrivals(stream(1, 0, "arrivals"), most)
        assert (first - client.windows[0].start).tolist() == whole.arrival[:most].tolist()
    path = write("0,1e9,1,Gamma,1,1\n", table)  # 6e11 expected
    base = [f"workload={{ arrivals = {{ kind = 'servegen', path = '{path}' }} }}", "workload.requests=10"]
    assert len(Scenario.load("table1", base).draw(0)) == 10
    path = write("0,1e308,1,Gamma,1,1\n", table)
    assert len(Scenario.load("table1", base).draw(0)) == 10


def test_a_client_is_read_again_when_either_file_changes(write) -> None:
    path = write()
    scenario = Scenario.load(
        "table1", [f"workload={{ arrivals = {{ kind = 'servegen', path = '{path}' }} }}"]
    )
    assert scenario.draw(0).tokens.max() == 23
    write(dataset={**DATASET, "0": {"input_tokens": "{90: 1}", "output_tokens": "{1: 1}"}})
    assert scenario.draw(0).tokens.max() == 91
    write("0,0.5,1.0,Gamma,1.0,0.5\n")
    assert 200 < len(scenario.draw(0)) < 400  # 300 expected, standard deviation 17


def test_a_client_that_is_never_active_is_an_error_everywhere(write, capsys) -> None:
    path = write()
    idle = [
        f"workload={{ arrivals = {{ kind = 'servegen', path = '{path}', window = [1200, 1700] }} }}",
        "clock='cost'",
    ]
    words = r"workload\.arrivals: .*c-trace\.csv has no active window from 1200\.0 to 1700\.0 s: at least one"
    with pytest.raises(InputError, match=words):
        Scenario.load("table1", idle).draw(0)
    write("0,0.0,0.0,,0.0,0.0\n600,0.0,0.0,,0.0,0.0\n")
    with pytest.raises(InputError, match=r"has no active window from 0\.0 to 1200\.0 s"):
        Scenario.load("table1", [idle[0].replace(", window = [1200, 1700]", "")]).draw(0)
    assert main(["trace", str(path)]) == 2
    assert "has no active window" in capsys.readouterr().err


def test_empty_tables_are_described_as_such(write, capsys) -> None:
    empty = {"0": {"input_tokens": "{}", "output_tokens": "{}"}}
    assert main(["trace", str(write(dataset=empty))]) == 0
    out = capsys.readouterr().out
    assert "mean input             not known: every length table is empty" in out
    assert "from 0 s to 1,800 s" in out
    assert main(["trace", str(write(dataset={"0": {"input_tokens": "{}"}}))]) == 2
    assert "window '0', output_tokens is None" in capsys.readouterr().err
    big = [f"{604800 * k},1,1,Gamma,1,1" for k in range(2)]
    assert main(["trace", str(write("\n".join(big), {"0": DATASET["0"]}))]) == 0
    assert "from 0 s to 1,209,600 s" in capsys.readouterr().out


def test_a_dataset_that_is_missing_or_given_as_the_trace_is_said_to_be(write) -> None:
    path = write()
    dataset = path.with_name("c-dataset.json")
    with pytest.raises(
        InputError, match=r"c-dataset\.json is the dataset .*: path must be its trace, 'c-trace\.csv'"
    ):
        Scenario.load(
            "table1", [f"workload={{ arrivals = {{ kind = 'servegen', path = '{dataset}' }} }}"]
        ).files()
    dataset.unlink()
    with pytest.raises(InputError, match=r"c-dataset\.json' cannot be read: No such file or directory"):
        read_client(path)


@pytest.mark.parametrize("share", ["9" * 400, "2", "nan", "-0.5"])
def test_a_share_that_is_none_is_named(write, share: str) -> None:
    table = {"0": {"input_tokens": f"{{1: {share}}}", "output_tokens": "{1: 1}"}}
    with pytest.raises(InputError, match="input_tokens"):
        read_client(write(dataset=table))
    with pytest.raises(InputError, match="it must be a whole number of seconds"):
        read_client(write(dataset={"9" * 400: DATASET["0"]}))


def test_a_scenario_draws_from_a_client(write) -> None:
    path = write()
    base = ["workload={ arrivals = { kind = 'servegen', path = '" + str(path) + "' } }", "clock='cost'"]
    scenario = Scenario.load("table1", base)
    w, again = scenario.draw(0), scenario.draw(0)
    assert w.arrival.tolist() == again.arrival.tolist()
    assert w.tokens.tolist() == again.tokens.tolist()
    assert scenario.draw(1).arrival.tolist() != w.arrival.tolist()
    assert scenario.trace_path() == path
    assert [name for name, _ in scenario.files().values()] == [
        str(path),
        str(path).replace("trace.csv", "dataset.json"),
    ]
    first = Scenario.load("table1", [*base, "workload.requests=10"]).draw(0)
    assert first.arrival.tolist() == w.arrival[:10].tolist()
    part = Scenario.load("table1", [*base, "workload.arrivals.window=[600, 700]"]).draw(0)
    assert part.arrival.max() < 100
    faster = Scenario.load("table1", [*base, "workload.arrivals.rate=20.0"]).draw(0)
    np.testing.assert_allclose(faster.arrival, w.arrival / 10)
    assert faster.time_unit is None
    other = Scenario.load("table1", [*base, "workload.tokens={ dist = 'randint', low = 5, high = 9 }"]).draw(
        0
    )
    assert other.arrival.tolist() == w.arrival.tolist()
    assert set(other.tokens.tolist()) == {5, 6, 7, 8}


@pytest.mark.parametrize(
    ("client", "windows", "active", "mean", "largest", "cv", "tokens_in", "tokens_out"),
    [
        ("language_m-small_chunk-18", 2016, 1919, 15.11, 67.35, 1.24, 46.0, 55.0),
        ("language_m-mid_chunk-14", 2016, 1931, 27.61, 53.19, 3.14, 278.0, 65.6),
        ("language_m-small_chunk-14", 2016, 1979, 105.42, 202.64, 8.09, 25.2, 3.0),
        ("reason_deepseek-r1_chunk-48", 144, 62, 2.92, 5.07, 1.14, 320.7, 592.6),
    ],
)
def test_recorded_clients_match_their_table(
    client, windows, active, mean, largest, cv, tokens_in, tokens_out
):
    read = read_client(data_folder() / "servegen" / f"{client}-trace.csv")
    found = describe_client(read)
    assert (found["windows"], found["active"]) == (windows, active)
    assert found["mean_rate_active"] == pytest.approx(mean, abs=0.005)
    assert found["largest_rate"] == pytest.approx(largest, abs=0.006)
    assert found["cv"] == pytest.approx(cv, abs=0.005)
    assert found["mean_input"] == pytest.approx(tokens_in, abs=0.05)
    assert found["mean_output"] == pytest.approx(tokens_out, abs=0.05)
    part = read.between(0, 21_600)
    w = draw(part)
    error = sum(window.rate * (window.end - window.start) * max(1, window.cv) ** 2 for window in part.windows)
    assert abs(len(w) - part.expected()) < 5 * error**0.5
    for table, values in ((part.tables[0].input, w.prompt_tokens), (part.tables[0].output, w.output_tokens)):
        assert abs(values.mean() - table.mean) < 5 * values.std() / len(values) ** 0.5
