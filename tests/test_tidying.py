"""The rules of reading: order, ties, rows without output, what is mended, what is refused in which words."""

from __future__ import annotations

import gzip
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_formats import problem, write
from trace_files import SAMPLES

from fairq import ReadWarning
from fairq.errors import InputError
from fairq.tidying import count_ties, spread_ties
from fairq.workload import Workload

HEADER = "arrived_at,num_prefill_tokens,num_decode_tokens\n"
AZURE = "TIMESTAMP,ContextTokens,GeneratedTokens\n"


def test_rows_out_of_order_are_sorted_stably_and_counted(tmp_path: Path) -> None:
    path = write(tmp_path, HEADER + "7,1,1\n5,2,1\n6,3,1\n5,4,1\n7,5,1\n")
    with pytest.warns(ReadWarning, match=r"2 of 5 rows out of order, sorted by arrival$"):
        w = Workload.read(path)
    assert w.arrival.tolist() == [0.0, 0.0, 1.0, 2.0, 2.0]
    assert w.prompt_tokens.tolist() == [2, 4, 3, 1, 5]
    assert w.source is not None
    assert (w.source.out_of_order, w.source.ties) == (2, 2)


def test_rows_without_output_are_dropped_kept_or_refused(tmp_path: Path) -> None:
    path = write(tmp_path, HEADER + "3,0,0\n5,2,1\n6,3,0\n")
    with pytest.warns(ReadWarning, match=r"2 of 3 rows dropped \(no output tokens\)$"):
        w = Workload.read(path)
    assert (w.arrival.tolist(), w.tokens.tolist()) == ([0.0], [3])  # from the first that is left
    assert w.source is not None
    assert (w.source.rows, w.source.used, w.source.dropped) == (3, 1, {"no output tokens": 2})
    with pytest.warns(ReadWarning, match=r"2 of 3 rows without output tokens kept as one token$"):
        w = Workload.read(path, zero="keep")
    assert (w.arrival.tolist(), w.tokens.tolist()) == ([0.0, 2.0, 3.0], [1, 3, 4])
    assert w.output_tokens.tolist() == [1, 1, 1]
    found = problem(path, zero="refuse")
    assert "row 2, column 'num_decode_tokens' is 0: it must be a whole number from 1 to" in found


def test_a_failed_row_may_have_any_total(tmp_path: Path) -> None:
    content = SAMPLES["burstgpt"].content + "9,GPT-4,50,0,50,API log\n10,GPT-4,0,0,0,API log\n"
    with pytest.warns(ReadWarning, match="2 of 5 rows dropped"):
        assert len(Workload.read(write(tmp_path, content))) == 3
    with pytest.warns(ReadWarning, match="2 of 5 rows without output tokens kept"):
        w = Workload.read(write(tmp_path, content), zero="keep")
    assert w.tokens.tolist()[3:] == [51, 1]
    wrong = SAMPLES["burstgpt"].content.replace("374,44,418", "374,44,419")
    assert (
        "row 2, column 'Response tokens' is 44: it must be 'Total tokens' of its row less 'Request tokens'"
    ) in problem(write(tmp_path, wrong))


def test_our_own_rows_without_tokens_are_refused_unless_asked(tmp_path: Path) -> None:
    path = write(tmp_path, "tokens,upper\n5,6\n0,1\n")
    assert "row 3, column 'tokens' is 0" in problem(path)
    with pytest.warns(ReadWarning, match="1 of 2 rows dropped"):
        assert Workload.read(path, zero="drop").tokens.tolist() == [5]
    with pytest.warns(ReadWarning, match="kept as one token"):
        assert Workload.read(path, zero="keep").tokens.tolist() == [5, 1]
    path = write(tmp_path, "tokens,prompt_tokens\n5,5\n7,2\n")
    with pytest.warns(ReadWarning, match="1 of 2 rows dropped"):
        assert Workload.read(path, zero="drop").tokens.tolist() == [7]


def test_no_usable_row_is_an_error(tmp_path: Path) -> None:
    found = problem(write(tmp_path, HEADER + "3,0,0\n5,2,0\n"))
    assert "none of its 2 rows is usable (2 without output tokens): there must be at least one" in found
    assert "has a header and no rows" in problem(write(tmp_path, HEADER))
    assert "holds an empty list" in problem(write(tmp_path, "[]"))


def test_ties_are_kept_or_spread_inside_their_bucket(tmp_path: Path) -> None:
    path = write(tmp_path, HEADER + "0,1,1\n0,2,1\n3,3,1\n9,4,1\n9,5,1\n9,6,1\n")
    assert Workload.read(path).arrival.tolist() == [0.0, 0.0, 3.0, 9.0, 9.0, 9.0]
    with pytest.warns(ReadWarning, match=r"3 ties spread inside buckets of 3$"):
        w = Workload.read(path, ties="spread")
    assert w.arrival.tolist() == [0.0, 1.5, 3.0, 9.0, 10.0, 11.0]
    assert w.prompt_tokens.tolist() == [1, 2, 3, 4, 5, 6]
    assert "all arrive at one time" in problem(write(tmp_path, HEADER + "1,1,1\n1,2,1\n"), ties="spread")


@given(st.lists(st.integers(0, 6), min_size=2).filter(lambda times: len(set(times)) > 1))
def test_spread_ties_keep_the_order_and_leave_no_bucket(times: list[int]) -> None:
    arrival = np.array(times, dtype=float)
    spread, bucket = spread_ties(arrival)
    assert count_ties(spread) == 0
    assert ((spread >= arrival) & (spread < arrival + bucket)).all()
    order = np.argsort(arrival, kind="stable")
    assert (np.diff(spread[order]) > 0).all()


@pytest.mark.parametrize(
    "moment",
    ["374", "20231116", "2023", "18:15:46", "2023-11-16", "2023-13-16 18:15:46", "2023-11-16 25:15:46", "",
     "nan",
     "9999-11-16 18:15:46", "0001-01-01 00:00:00", "2023-11-16 18:15:46.68 PM", "yesterday, at half past"],
)  # fmt: skip
def test_what_is_no_moment_is_named(tmp_path: Path, moment: str) -> None:
    found = problem(write(tmp_path, f'{AZURE}2023-11-16 18:15:46,5,5\n"{moment}",5,5\n'))
    shown = moment if moment.isdigit() else repr(moment)
    assert f"row 3, column 'TIMESTAMP' is {shown}: it must be a date and time from 1700 to 2200" in found


def test_nanoseconds_since_1970_keep_all_their_digits(tmp_path: Path) -> None:
    rows = "".join(
        f'{{"input_toks": 1, "output_toks": 1, "arrival_time_ns": {1_700_000_000_000_000_000 + k}}}\n'
        for k in (1, 2, 4)
    )
    assert Workload.read(write(tmp_path, rows)).arrival.tolist() == [0.0, 1e-9, 3e-9]


@pytest.mark.parametrize("value", ["-1", "nan", "inf", "1e999", "", "soon"])
def test_a_foreign_time_that_is_none_is_named(tmp_path: Path, value: str) -> None:
    found = problem(write(tmp_path, f"{HEADER}0,5,5\n{value},5,5\n"))
    assert "row 3, column 'arrived_at' is " in found
    assert found.endswith("it must be a finite number >= 0")


def test_what_is_tolerated_is_said(tmp_path: Path) -> None:
    content = b"\xef\xbb\xbf\r\n" + SAMPLES["azure-2023"].content.replace("\r\n", "\r\n\r\n").encode()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        w = Workload.read(write(tmp_path, gzip.compress(content)))
    assert w.source is not None
    assert w.source.repairs == ("unzipped", "byte order mark left out", "3 blank lines passed over")
    assert len(w) == 3


REFUSED = [
    (b"", "is empty"),
    (gzip.compress(b"tokens\n" + b"5\n" * 9999)[:-20], "the gzip file is cut short or damaged"),
    (b"\x1f\x8bnonsense", "the gzip file is cut short or damaged"),
    (b"\x1f\x8b", "the gzip file is cut short or damaged"),
    (AZURE.encode("utf-16"), "holds a NUL byte"),
    ("tokens,label\n5,é\n".encode("latin-1"), "line 2 holds the byte 0xe9: it must be UTF-8 text"),
    ('{"timestamp": 1, "input_length": 2, "output_length": 3}\n{"timest', "row 2, character 2 is not JSON"),
    ('{"timestamp": 1, "timestamp": 2}\n', "column 'timestamp' is there twice"),
    ('{"input_length": 2, "output_length": 3}\n[5]\n', "row 2 is [5]: it must be an object, or a list"),
    ('{"input_length": 2, "output_length": 3}\n{}\n', "row 2, column 'input_length' is None"),
    ('{"input_length": 2, "output_length": true}\n', "row 1, column 'output_length' is True"),
    ('{"input_length": 2, "output_length": "x"}\n', "row 1, column 'output_length' is 'x'"),
    ('{"input_length": 2, "output_length": NaN}\n', "row 1, column 'output_length' is nan"),
    ('{"input_length": 2, "output_length": 1e400}\n', "row 1, column 'output_length' is inf"),
    ('{"input_length": 2, "output_length": ' + "9" * 5000 + "}\n", "a number that is too long"),
    ('{"input_length": 2, "output_length": 99999999999999999999}\n', "is 99999999999999999999: it must be"),
    ("[" * 100_000, "nested too deeply"),
    ('{"config": {}}', "unknown column 'config'"),
    ("[1, 2, 3]", "row 1 is 1: it must be an object, or a list [prompt, output]"),
    (HEADER + "1,2\n", "row 2 has 2 values ('1,2'): it must have 3"),
    (HEADER + '1,2,"3', "row 2 is not CSV (unexpected end of data): quotes must be closed"),
    (HEADER + '1,2,"' + "x\n" * 9_000_000, "row 2 is not CSV (field larger than field limit (16777216)): a"),
    (HEADER.replace(",", ";") + "1;2;3\n", "is 'arrived_at;num_prefill_tokens;num_decode_tokens', separated"),
    (HEADER + "1,99999999,9999999\n", "it must be at most 100,000,000 with the prompt's"),
    ("arrival,tokens,time_unit\n1,5,s\n2,5,steps\n", "row 3, column 'time_unit' is 'steps': it must be 's'"),
    ("arrival,tokens,time_unit\n1,5,ms\n", "column 'time_unit' is 'ms': it must be 's' or 'steps'"),
    ("tokens,prompt_chunk\n5,2\n", "a file with it must have billed_tokens too"),
    ("tokens,billed_tokens\n5,6\n", "column 'billed_tokens' is 6: it must be output tokens and a prompt"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "words"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused_in_one_line(tmp_path: Path, content: str | bytes, words: str) -> None:
    found = problem(write(tmp_path, content))
    assert words in found
    assert len(found) < 2000


def test_an_error_far_down_a_long_file_has_its_line(tmp_path: Path) -> None:
    rows = [f"{k},5,5\n" for k in range(30_000)]
    rows[20_000] = "20000,5,x\n"
    found = problem(write(tmp_path, HEADER + "\n\n" + "".join(rows)))
    assert "row 20004, column 'num_decode_tokens' is 'x'" in found


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"zero": "clip"}, "unknown zero 'clip': known: drop, keep, refuse"),
        ({"ties": "shuffle"}, "unknown ties 'shuffle'"),
        ({"format": "azur"}, "unknown format 'azur': did you mean 'azure'?"),
        ({"time_unit": "ms"}, "time_unit is 'ms': it must be 's', 'steps' or None"),
        ({"time_unit": "steps"}, "time_unit is 'steps', but "),
    ],
)
def test_an_option_that_is_none(tmp_path: Path, options: dict[str, str], words: str) -> None:
    assert words in problem(write(tmp_path, SAMPLES["vidur"].content), **options)


def test_the_unit_of_a_file_and_of_the_call_must_agree(tmp_path: Path) -> None:
    path = write(tmp_path, SAMPLES["own"].content)
    assert Workload.read(path, time_unit="s").time_unit == "s"
    assert "time_unit is 'steps', but " in problem(path, time_unit="steps")


def test_a_bad_value_is_shown_as_it_is_written(tmp_path: Path) -> None:
    for content, words in (
        (HEADER + "1,5,5\n-1,5,5\n", "column 'arrived_at' is -1: it must be a finite number"),
        (HEADER + "0.5,5,5\n1,-05,5\n", "column 'num_prefill_tokens' is -05: it must be"),
        (HEADER + "0.5,5,5\n1,5,1.50\n", "column 'num_decode_tokens' is 1.50: it must be"),
        (HEADER + f"0.5,5,{'9' * 300}\n", "column 'num_decode_tokens' is '" + "9" * 59 + "…: it must be"),
        ('{"input_length": 2, "output_length": -1}\n', "column 'output_length' is -1: it must be"),
        ('{"input_length": 2, "output_length": ' + "9" * 300 + "}\n", "is " + "9" * 60 + "…: it must be"),
    ):
        found = problem(write(tmp_path, content))
        assert words in found
        assert len(found) < 300


@pytest.mark.parametrize("digits", ["1234567890", "000000000000000001"])
def test_a_moment_has_at_most_nine_digits_of_a_second(tmp_path: Path, digits: str) -> None:
    found = problem(
        write(tmp_path, f"{AZURE}2023-11-16 18:15:46.123456789,5,5\n2023-11-16 18:15:47.{digits},5,5\n")
    )
    assert f"row 3, column 'TIMESTAMP' is '2023-11-16 18:15:47.{digits}': it must be a date and time" in found
    assert found.endswith("with at most nine digits after the point")


def test_text_that_writes_a_number_is_one_among_numbers_too(tmp_path: Path) -> None:
    w = Workload.read(write(tmp_path, '{"arrival": 1, "tokens": "3"}\n{"arrival": " 2.5 ", "tokens": 4}\n'))
    assert (w.tokens.tolist(), w.arrival.tolist()) == ([3, 4], [1.0, 2.5])
    assert "row 2, column 'tokens' is 'x': it must be a whole" in problem(
        write(tmp_path, '[{"tokens": 3}, {"tokens": "x"}]')
    )


def test_parquet_text_that_writes_numbers_is_read(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="Parquet is read by the extra fairq[parquet]")
    path = tmp_path / "trace.parquet"
    pd.DataFrame(
        {"arrived_at": ["1", "2.5"], "num_prefill_tokens": ["5", "6"], "num_decode_tokens": [1, 2]}
    ).to_parquet(path)
    assert Workload.read(path).arrival.tolist() == [0.0, 1.5]
    pd.DataFrame({"tokens": ["5", "x"]}).to_parquet(path)
    assert "row 2, column 'tokens' is 'x': it must be a whole number" in problem(path)


@pytest.mark.parametrize("label", ["a\\u0000b", "\\ud800"])
def test_a_label_that_no_file_can_hold_is_refused(tmp_path: Path, label: str) -> None:
    found = problem(write(tmp_path, f'{{"tokens": 5, "label": "{label}"}}\n'))
    assert "row 1, column 'label' is " in found
    assert found.endswith("it must be text that UTF-8 has, without NUL, of at most 100,000 characters")
    with pytest.raises(InputError, match=r"^label\[0\] is .*: it must be text that UTF-8 has"):
        Workload.from_arrays([5], label=[json.loads(f'"{label}"')])
    assert len(Workload.read(write(tmp_path, '{"tokens": 5, "label": "\\ud83d\\ude00"}\n')).frame) == 1


def test_a_long_value_is_read(tmp_path: Path) -> None:
    w = Workload.read(
        write(tmp_path, "tokens,prompt_tokens,note\n5,1," + "x" * 200_000 + "\n"),
        columns={"tokens": "tokens"},
    )
    assert w.tokens.tolist() == [5]


VTC = "req_time,prompt_len,output_len,request_latency,first_token_latency\n"


def test_requests_that_vtc_aborted_are_failures(tmp_path: Path) -> None:
    path = write(tmp_path, VTC + "0,9,3,0.5,0.1\n1,9,3,-1,-1\n2,9,3,,\n3,9,0,0.5,0.1\n4,9,2,0.75,0.25\n")
    with pytest.warns(
        ReadWarning, match=r"1 of 5 rows dropped \(no output tokens\); 2 of 5 rows dropped \(aborted\)"
    ):
        w = Workload.read(path)
    assert w.arrival.tolist() == [0.0, 4.0]
    assert w.measured["measured_ttft"].tolist() == [0.1, 0.25]
    assert w.source is not None
    assert w.source.dropped == {"no output tokens": 1, "aborted": 2}
    with pytest.warns(ReadWarning, match="2 aborted requests kept with the tokens asked for"):
        kept = Workload.read(path, zero="keep")
    assert kept.output_tokens.tolist() == [3, 3, 3, 1, 2]
    assert np.isnan(kept.measured["measured_latency"]).tolist() == [False, True, True, False, False]
    found = problem(write(tmp_path, VTC + "0,9,3,0.5,0.1\n1,9,3,-1,-1\n"), zero="refuse")
    assert "row 3, column 'first_token_latency' says that the request was aborted" in found
    found = problem(write(tmp_path, VTC + "1,9,3,-1,-1\n2,9,0,1,1\n"))
    assert "none of its 2 rows is usable (1 without output tokens, 1 aborted)" in found
    assert "is -2: it must be a finite number >= 0" in problem(write(tmp_path, VTC + "1,9,3,-2,-1\n"))
    other = write(tmp_path, "tokens,measured_ttft\n5,\n5,0.5\n")  # only VTC says so
    assert len(Workload.read(other)) == 2


def test_the_columns_of_the_file_are_named_not_ours(tmp_path: Path) -> None:
    header = "num_prefill_tokens,num_decode_tokens,num_total_tokens\n"
    assert problem(write(tmp_path, header + "5,2,9\n")).endswith(
        "column 'num_decode_tokens' is 2: it must be 'num_total_tokens' of its row less 'num_prefill_tokens'"
    )


@pytest.mark.parametrize(
    "options",
    [{"zero": "clip"}, {"ties": "x"}, {"format": "azur"}, {"time_unit": "ms"}, {"columns": {"arival": "x"}},
     {"columns": ["a"]}, {"columns": {"arrival": 3}}, {"columns": "a"}, {"columns": 3}],
)  # fmt: skip
def test_an_option_that_is_none_names_the_file(tmp_path: Path, options: dict[str, Any]) -> None:
    path = write(tmp_path, SAMPLES["vidur"].content)
    assert problem(path, **options).startswith(f"{path}: ")


def test_one_of_a_thing_is_in_the_singular(tmp_path: Path) -> None:
    path = write(tmp_path, HEADER + "\n0,1,1\n0,2,1\n3,3,1\n1,3,1\n4,4,0\n")
    with pytest.warns(ReadWarning):
        w = Workload.read(path, ties="spread")
    assert w.source is not None
    text = str(w.source)
    for words in ("1 tie spread inside buckets of 1;", "1 blank line passed over", "4 of 5 rows used"):
        assert words in text


def test_a_bucket_beyond_floats_is_an_error_of_one_line(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = problem(write(tmp_path, HEADER + "0,1,1\n1.7e308,2,1\n1.7e308,2,1\n"), ties="spread")
    assert "spread" in found
