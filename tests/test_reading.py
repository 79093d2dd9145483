"""A workload read from a CSV file: exactly what the file says, or one line on what is wrong with it."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import pytest
from fixtures_data import data_folder
from hypothesis import given
from hypothesis import strategies as st

from fairq.errors import InputError
from fairq.workload import Workload

VIDUR = {"arrival": "arrived_at", "prompt_tokens": "num_prefill_tokens", "output_tokens": "num_decode_tokens"}


@pytest.fixture
def write(tmp_path):
    def to_file(content: str | bytes) -> Path:
        path = tmp_path / "trace.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return to_file


def problem(path, **options) -> str:
    """The message that reading `path` gives: one line."""
    with pytest.raises(InputError) as caught:
        Workload.read(path, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_our_own_column_names_need_no_map(write):
    w = Workload.read(
        write("arrival,tokens,prompt_tokens,lower,upper,label\n0.5,7,3,7,8,chat\n0.25,2,0,1,2,\n")
    )
    assert w.frame.drop(columns="billed_tokens").to_numpy().tolist() == [
        [0, 0.5, 7, 3, 4, 7, 8, "chat"],
        [1, 0.25, 2, 0, 2, 1, 2, ""],
    ]
    assert w.time_unit is None


def test_a_map_names_the_files_columns_and_leaves_the_others_unread(write):
    path = write("user,arrived_at,num_prefill_tokens,num_decode_tokens,label\nx,1.5,10,3,chat\n")
    w = Workload.read(path, columns=VIDUR, time_unit="s")
    assert w.arrival.tolist() == [1.5]
    assert w.tokens.tolist() == [13]
    assert w.prompt_tokens.tolist() == [10]
    assert w.label.tolist() == ["chat"]
    assert w.time_unit == "s"


@pytest.mark.parametrize(
    ("header", "row", "expected"),
    [
        ("tokens", "9", (9, 0)),
        ("tokens,output_tokens", "9,2", (9, 7)),
        ("tokens,prompt_tokens", "9,7", (9, 7)),
        ("tokens,prompt_tokens,output_tokens", "9,7,2", (9, 7)),
        ("prompt_tokens,output_tokens", "7,2", (9, 7)),
        ("prompt_tokens,output_tokens", "0,2", (2, 0)),
    ],
)
def test_prompt_and_output_add_up_to_the_tokens(write, header, row, expected):
    w = Workload.read(write(f"{header}\n{row}\n"))
    assert (w.tokens[0], w.prompt_tokens[0]) == expected


@pytest.mark.parametrize(
    "content",
    [
        b"arrival,tokens\n1,5\n2,6\n",
        b"arrival,tokens\r\n1,5\r\n2,6\r\n",
        b"arrival,tokens\r1,5\r2,6",
        b"\xef\xbb\xbfarrival,tokens\n1,5\n2,6",
        b"\n\narrival,tokens\n\n1,5\n   \n2,6\n\n\n",
        b" arrival , tokens \n 1 ,\t5\n2, 6 \n",
        b'"arrival","tokens"\n"1","5"\n2,6\n',
        b"tokens,arrival\n5.0,1e0\n+6,2.\n",
    ],
)
def test_what_is_tolerated(write, content):
    w = Workload.read(write(content))
    assert w.arrival.tolist() == [1.0, 2.0]
    assert w.tokens.tolist() == [5, 6]


def test_times_stay_as_they_are_and_rows_in_their_order(write):
    w = Workload.read(write("arrival,tokens\n30.25,1\n7.125,2\n30.25,3\n"))
    assert w.arrival.tolist() == [30.25, 7.125, 30.25]
    assert w.tokens.tolist() == [1, 2, 3]


@given(st.lists(st.floats(0, 1e15), min_size=1))
def test_times_are_read_to_the_last_bit(tmp_path_factory, times):
    path = tmp_path_factory.mktemp("exact") / "trace.csv"
    path.write_text("arrival,tokens\n" + "".join(f"{time!r},1\n" for time in times))
    assert Workload.read(path).arrival.tolist() == times


NO_COUNTS = ["-3", "0.5", "nan", "inf", "-inf", "1e999", "", "abc", "1_000", "0x10", "\uff15", "9" * 5000]


@pytest.mark.parametrize("value", NO_COUNTS)
@pytest.mark.parametrize("column", ["tokens", "output_tokens", "prompt_tokens", "lower"])
def test_a_bad_token_count_is_named_with_file_row_column_and_value(write, column, value):
    header = "prompt_tokens,output_tokens" if column in ("prompt_tokens", "output_tokens") else "tokens,lower"
    cells = [value if name == column else "1" for name in header.split(",")]
    path = write(f"{header}\n1,1\n\n{','.join(cells)}\n")
    found = problem(path)
    assert found.startswith(f"{path}: row 4, column '{column}' is ")
    assert re.search(r": it must be a whole number from [01] to 100,000,000$", found)


@pytest.mark.parametrize("column", ["tokens", "output_tokens", "lower"])
def test_only_a_prompt_may_have_no_tokens(write, column):
    row = "1,0" if column in ("output_tokens", "lower") else "0,1"
    header = "prompt_tokens,output_tokens" if column == "output_tokens" else "tokens,lower"
    assert f"row 2, column {column!r} is 0: it must be a whole number from 1 to" in problem(
        write(f"{header}\n{row}")
    )


@pytest.mark.parametrize("value", ["-1", "nan", "inf", "1e999", "", "soon", "1:30"])
def test_a_bad_arrival_is_named(write, value):
    path = write(f"arrived_at,tokens\r\n1,5\r\n{value},6")
    found = problem(path, columns={"arrival": "arrived_at"})
    assert found.startswith(f"{path}: row 3, column 'arrived_at' is ")
    assert found.endswith(": it must be a finite number >= 0")


def test_the_row_is_the_line_on_which_it_begins(write):
    path = write('tokens,label\n1,"two\nlines"\n0,x\n')
    assert problem(path).startswith(f"{path}: row 4, column 'tokens' is 0")


def test_bounds_and_splits_that_contradict_are_named(write):
    assert "row 2, column 'upper' is 4: it must be at least tokens, which is 5" in problem(
        write("tokens,upper\n5,4\n")
    )
    assert "row 2, column 'lower' is 6: it must be at most tokens, which is 5" in problem(
        write("tokens,lower\n5,6\n")
    )
    assert "row 2, column 'prompt_tokens' is 5: it must be below tokens" in problem(
        write("tokens,prompt_tokens\n5,5\n")
    )
    assert "row 2, column 'output_tokens' is 6: it must be at most 'tokens' of its row" in problem(
        write("tokens,output_tokens\n5,6\n")
    )
    assert "column 'output_tokens' is 2: it must be 'tokens' of its row less 'prompt_tokens'" in problem(
        write("tokens,prompt_tokens,output_tokens\n5,2,2\n")
    )
    assert "column 'output_tokens' is 99999999: it must be at most 100,000,000 with the prompt's" in problem(
        write("prompt_tokens,output_tokens\n9,99999999\n")
    )


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is empty: it must be a CSV file with a header and a row per request"),
        ("\n  \n", "is empty: it must be"),
        ("tokens,arrival\n", "has a header and no rows: it must have a row per request"),
        (b"tokens\n5\n\0\0\n", "line 3 holds a NUL byte: it must be a text file in UTF-8"),
        ("tokens\n5\n".encode("utf-16"), "line 1 holds a NUL byte: it must be a text file in UTF-8"),
        (b"tokens,label\n5,caf\xe9\n", "line 2 holds the byte 0xe9: it must be UTF-8 text"),
        ("arrival,tokens\n1,5\n2", "row 3 has 1 values ('2'): it must have 2"),
        ("arrival,tokens\n1,5,9\n2,3\n", "row 2 has 3 values ('1,5,9'): it must have 2"),
        ('tokens,label\n5,"cut o', "row 2 is not CSV (unexpected end of data): quotes must be closed"),
        ("tokens,arival\n5,1\n", "row 1, unknown column 'arival': did you mean 'arrival'? Known:"),
        ("tokens;arrival\n5;1\n", "row 1 is 'tokens;arrival', separated by ';': the separator of a CSV"),
        ("tokens\tarrival\n5\t1\n", "separated by a tab: the separator of a CSV file must be a comma"),
        ("tokens|arrival\n5|1\n", "separated by '|': the separator of a CSV file must be a comma"),
        ("tokens,tokens\n5,1\n", "row 1, column 'tokens' is there twice"),
        ("arrival,label\n5,x\n", "there must be 'tokens', or both 'prompt_tokens' and 'output_tokens'"),
        ("output_tokens\n5\n", "there must be 'tokens', or both 'prompt_tokens' and 'output_tokens'"),
    ],
)
def test_a_file_that_is_no_trace(write, content, words):
    path = write(content)
    found = problem(path)
    assert found.startswith(str(path))
    assert words in found


def test_a_file_that_cannot_be_opened(tmp_path):
    for path in (tmp_path / "none.csv", tmp_path, "nul\0byte"):
        found = problem(path)
        assert found.startswith(repr(str(path)))
        assert "cannot be read: " in found


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read every file")
def test_a_file_without_permission(write):
    path = write("tokens\n5\n")
    path.chmod(0)
    assert "cannot be read: Permission denied" in problem(path)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"arival": "t"}, "unknown column 'arival': did you mean 'arrival'?"),
        ({"arrival": "tt"}, "unknown column (columns.arrival) 'tt'"),
        ({"arrival": "t", "lower": "t"}, "columns names 't' twice"),
        ({"arrival": 3}, "arrival is 3: it must be the name of a column"),
        ({"arrival": ""}, "arrival is '': it must be the name of a column"),
        ({"arrival": "t"}, "there must be 'tokens'"),
    ],
)
def test_a_column_map_that_does_not_fit(write, columns, words):
    assert words in problem(write("t,n\n1,5\n"), columns=columns)


def test_a_format_is_one_that_is_known(write):
    path = write("tokens\n5\n")
    assert len(Workload.read(path, format="csv")) == 1
    assert "unknown format 'azur': did you mean 'azure'? Known: azure" in problem(path, format="azur")


def test_a_recorded_trace_is_read_whole_and_fast():
    path = data_folder() / "vidur" / "splitwise_conv.csv"
    best = min(_seconds(path) for _ in range(3))
    assert best < 1
    w = Workload.read(path, columns=VIDUR, time_unit="s")
    lines = path.read_text().splitlines()[1:]
    assert len(w) == len(lines) == 19_366
    for request in (0, 1, 9_999, 19_365):
        arrived, prefill, decode = lines[request].split(",")
        assert w.arrival[request] == float(arrived)
        assert (w.prompt_tokens[request], w.output_tokens[request]) == (int(prefill), int(decode))
    assert w.tokens.sum() == sum(int(a) + int(b) for _, a, b in (line.split(",") for line in lines))


def _seconds(path: Path) -> float:
    start = time.perf_counter()
    Workload.read(path, columns=VIDUR)
    return time.perf_counter() - start
