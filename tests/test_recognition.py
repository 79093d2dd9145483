"""What a file's columns say of it: times are not passed over, later rows bring no news, keys are known."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest
from test_formats import problem, write

from fairq import ReadWarning
from fairq.recognition import tells
from fairq.workload import Workload

UNREAD_TIMES = [
    ("Arrived_At,num_prefill_tokens,num_decode_tokens\n0,5,5\n9,5,5\n", "Arrived_At", "vidur-lengths"),
    ("Timestamp,input_length,output_length\n0,5,5\n9,5,5\n", "Timestamp", "lengths"),
    ("arrival_time_ms,num_prefill_tokens,num_decode_tokens\n0,5,5\n", "arrival_time_ms", "vidur-lengths"),
    ("question_length,answer_length,sentAt\n5,5,0\n", "sentAt", "lmsys-lengths"),
    ('{"input_length": 5, "output_length": 5, "ts": 3}\n', "ts", "lengths"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "column", "lengths"), UNREAD_TIMES)
def test_a_column_like_time_beside_lengths_is_not_passed_over(
    tmp_path: Path, content: str, column: str, lengths: str
) -> None:
    path = write(tmp_path, content)
    found = problem(path)
    assert f"row 1, column {column!r} seems to hold times" in found
    assert f"columns = {{arrival = {column!r}" in found
    w = Workload.read(path, format=lengths)  # the way out that it names
    assert (w.arrival == 0).all()


def test_the_ways_out_that_are_named_read_the_times(tmp_path: Path) -> None:
    path = write(tmp_path, UNREAD_TIMES[0][0])
    assert "format = 'vidur' (times in s)" in problem(path)
    assert Workload.read(path, format="vidur", columns={"arrival": "Arrived_At"}).arrival.tolist() == [0, 9]
    names = {"arrival": "Arrived_At", "prompt_tokens": "num_prefill_tokens"}
    w = Workload.read(path, columns={**names, "output_tokens": "num_decode_tokens"})
    assert w.arrival.tolist() == [0, 9]


def test_lengths_with_columns_that_are_no_times_are_read(tmp_path: Path) -> None:
    header = ",num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio,model,update,percent"
    w = Workload.read(write(tmp_path, header + "\n0,5,6,11,0.8,a,b,c\n"))
    assert w.tokens.tolist() == [11]
    assert w.source is not None
    assert w.source.format == "vidur-lengths"


LATER = [
    (
        [{"input_length": 5, "output_length": 5}, {"timestamp": 1, "input_length": 5, "output_length": 5}],
        "timestamp",
    ),
    (
        [
            {"timestamp": 1, "input_length": 5, "output_length": 5},
            {"chat_id": 1, "timestamp": 1, "input_length": 5, "output_length": 5},
        ],
        "chat_id",
    ),
    ([{"tokens": 5}, {"tokens": 5, "created_at": 7}], "created_at"),
    ([{"tokens": 5}, {"tokens": 5, "label": "x"}], "label"),
]


@pytest.mark.parametrize("lines", [True, False])
@pytest.mark.parametrize(("rows", "name"), LATER)
def test_a_later_row_brings_no_column_that_has_a_say(
    tmp_path: Path, rows: list[dict[str, object]], name: str, lines: bool
) -> None:
    content = "".join(json.dumps(row) + "\n" for row in rows) if lines else json.dumps(rows)
    found = problem(write(tmp_path, content))
    assert f"row 2 has the column {name!r}, which row 1 has not" in found


def test_a_late_row_far_down_is_found_and_others_may_differ(tmp_path: Path) -> None:
    rows = ['{"tokens": 5}\n'] * 40_000
    rows[30_000] = '{"tokens": 5, "note": 1}\n'
    path = write(tmp_path, "".join(rows))
    assert len(Workload.read(path)) == 40_000
    rows[35_000] = '{"tokens": 5, "arrival": 1}\n'
    assert "row 35001 has the column 'arrival'" in problem(write(tmp_path, "".join(rows)))


def test_a_format_that_is_named_watches_its_own_optional_columns(tmp_path: Path) -> None:
    first = {"timestamp": 1, "input_length": 5, "output_length": 5}
    path = write(tmp_path, json.dumps(first) + "\n" + json.dumps({**first, "type": "text"}) + "\n")
    assert "row 2 has the column 'type'" in problem(path, format="bailian")
    assert len(Workload.read(path, format="mooncake")) == 2
    names = {"arrival": "timestamp", "tokens": "input_length"}
    assert len(Workload.read(path, columns=names, format="csv")) == 2


@pytest.mark.parametrize(
    ("key", "value"), [("chat_id", 1), ("parent_chat_id", -1), ("turn", 2), ("type", "t")]
)
def test_any_key_of_bailians_own_makes_its_times_seconds(tmp_path: Path, key: str, value: object) -> None:
    rows = [{key: value, "timestamp": t, "input_length": 5, "output_length": 5} for t in (0, 7)]
    w = Workload.read(write(tmp_path, "".join(json.dumps(row) + "\n" for row in rows)))
    assert w.source is not None
    assert w.source.format == "bailian"
    assert w.arrival.tolist() == [0.0, 7.0]


def test_a_map_that_goes_over_another_unit_is_doubted_aloud(tmp_path: Path) -> None:
    names = {"arrival": "timestamp", "prompt_tokens": "input_length", "output_tokens": "output_length"}
    rows = [{"timestamp": t, "input_length": 5, "output_length": 5} for t in (0, 3000)]
    path = write(tmp_path, "".join(json.dumps(row) + "\n" for row in rows))
    with pytest.warns(ReadWarning, match="the file is mooncake, whose times are in ms: format = 'mooncake'"):
        assert Workload.read(path, columns=names).arrival.tolist() == [0.0, 3000.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Workload.read(path, columns=names, format="mooncake").arrival.tolist() == [0.0, 3.0]
    vidur = {
        "arrival": "arrived_at",
        "prompt_tokens": "num_prefill_tokens",
        "output_tokens": "num_decode_tokens",
    }
    path = write(tmp_path, ",".join(vidur.values()) + "\n1,5,5\n")
    assert Workload.read(path, columns=vidur).arrival.tolist() == [1.0]  # seconds: nothing to doubt


@pytest.mark.parametrize("indent", [None, 1])
def test_a_servegen_dataset_points_at_its_trace(tmp_path: Path, indent: int | None) -> None:
    table = {"0": {"input_tokens": "{1: 1}", "output_tokens": "{1: 1}"}, "600": {}}
    path = write(tmp_path, json.dumps(table, indent=indent), "chunk-3-dataset.json")
    found = problem(path)
    assert f"is the dataset of a ServeGen client: it must be given by its *-trace.csv, as {tmp_path}" in found
    assert found.endswith("chunk-3-trace.csv")


def test_an_object_without_columns_is_said_to_be_one(tmp_path: Path) -> None:
    assert "row 1, no columns at all: there must be those of a known format" in problem(write(tmp_path, "{}"))
    assert "no columns at all" in problem(write(tmp_path, "[{}]"))


@pytest.mark.parametrize(
    "name", ["arrived_at", "sentTs", "Start", "t", "TIMESTAMP", "day", "chat_id", "request"]
)
def test_names_that_tell(name: str) -> None:
    assert tells(name)


@pytest.mark.parametrize(
    "name", ["note", "update", "percent", "sentence", "model", "prompt", "format", "status"]
)
def test_names_that_do_not(name: str) -> None:
    assert not tells(name)
