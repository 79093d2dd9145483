"""Every format is known by its columns, whatever holds them, and may be named or mapped instead."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from trace_files import ARRIVAL, OUTPUT, PROMPT, SAMPLES

from fairq.errors import InputError
from fairq.formats import FORMATS
from fairq.workload import Workload


def write(folder: Path, content: str | bytes, name: str = "trace") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def problem(path: Path, **options) -> str:
    with pytest.raises(InputError) as caught:
        Workload.read(path, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_there_is_a_sample_of_every_format() -> None:
    recognised = {layout.name for layout in FORMATS.values() if layout.sniffed}
    assert {sample.format for sample in SAMPLES.values()} == recognised | {"csv"}


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("zipped", [False, True])
def test_a_format_is_recognised_and_read(tmp_path: Path, name: str, zipped: bool) -> None:
    sample = SAMPLES[name]
    content = gzip.compress(sample.content.encode()) if zipped else sample.content
    w = Workload.read(write(tmp_path, content))
    assert w.prompt_tokens.tolist() == PROMPT
    assert w.output_tokens.tolist() == OUTPUT
    assert w.tokens.tolist() == w.lower.tolist() == w.upper.tolist() == w.billed_tokens.tolist()
    assert w.arrival.tolist() == (sample.arrival or [0.0, 0.0, 0.0])
    assert w.time_unit == ("s" if sample.arrival else None)
    assert w.label.tolist() == sample.label
    assert set(w.measured) == set(sample.measured)
    for column, values in sample.measured.items():
        np.testing.assert_array_equal(w.measured[column], values)
        np.testing.assert_array_equal(w.frame[column], values)
    assert w.source is not None
    assert w.source.format == sample.format
    assert w.source.rows == w.source.used == 3
    assert w.source.repairs == (("unzipped",) if zipped else ())
    assert sample.format in str(w.source)


@pytest.mark.parametrize("name", [name for name in SAMPLES if SAMPLES[name].format != "csv"])
def test_the_mapping_used_is_said(tmp_path: Path, name: str) -> None:
    w = Workload.read(write(tmp_path, SAMPLES[name].content))
    layout = FORMATS[SAMPLES[name].format]
    assert w.source is not None
    assert layout.columns.items() <= w.source.mapping.items()
    assert json.dumps(w.source.to_dict())


def test_the_same_columns_are_known_in_another_file_type(tmp_path: Path) -> None:
    lines = "".join(
        json.dumps({"TIMESTAMP": f"2024-01-01 00:00:0{t}", "ContextTokens": p, "GeneratedTokens": o}) + "\n"
        for t, p, o in zip((0, 1, 4), PROMPT, OUTPUT, strict=True)
    )
    w = Workload.read(write(tmp_path, lines))
    assert w.arrival.tolist() == [0.0, 1.0, 4.0]
    assert w.source is not None
    assert w.source.format == "azure"


@pytest.mark.parametrize("kind", ["text", "timestamp", "zone"])
def test_parquet(tmp_path: Path, kind: str) -> None:
    pytest.importorskip("pyarrow", reason="Parquet is read by the extra fairq[parquet]")
    moments = pd.to_datetime([f"2024-01-01 00:00:0{t}" for t in ("0", "0.5", "2")], format="ISO8601")
    stamps = {"text": moments.astype(str), "timestamp": moments, "zone": moments.tz_localize("Asia/Tokyo")}
    path = tmp_path / "trace.parquet"
    table = {"TIMESTAMP": stamps[kind], "ContextTokens": PROMPT, "GeneratedTokens": OUTPUT}
    pd.DataFrame(table).to_parquet(path)
    w = Workload.read(path)
    assert w.arrival.tolist() == ARRIVAL
    assert w.prompt_tokens.tolist() == PROMPT
    table["GeneratedTokens"] = [44, None, 16]
    pd.DataFrame(table).to_parquet(path)
    assert "row 2, column 'GeneratedTokens' is nan: it must be a whole number" in problem(path)
    path.write_bytes(path.read_bytes()[:-30])
    assert "is not a Parquet file that can be read: " in problem(path)


def test_parquet_without_pyarrow_says_what_to_install(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    found = problem(write(tmp_path, b"PAR1 whatever PAR1"))
    assert found.endswith("not installed: install it with pip install 'fairq[parquet]'")


def test_a_format_that_is_named_overrides_the_columns(tmp_path: Path) -> None:
    content = SAMPLES["mooncake"].content
    assert Workload.read(write(tmp_path, content), format="mooncake-seconds").arrival.tolist() == [
        0.0, 500.0, 2000.0,
    ]  # fmt: skip
    assert "column 'TIMESTAMP' is missing: the format 'azure' wants TIMESTAMP, ContextTokens" in problem(
        write(tmp_path, content), format="azure"
    )


def test_a_column_map_goes_over_a_formats_own_columns(tmp_path: Path) -> None:
    content = SAMPLES["azure-2023"].content.replace("TIMESTAMP", "when")
    w = Workload.read(write(tmp_path, content), format="azure", columns={"arrival": "when"})
    assert w.arrival.tolist() == ARRIVAL
    content = SAMPLES["azure-multimodal"].content
    w = Workload.read(write(tmp_path, content), format="azure", columns={"label": "NumImages"})
    assert w.label.tolist() == ["1", "0", "2"]


def test_a_column_map_alone_takes_times_as_they_are(tmp_path: Path) -> None:
    path = write(tmp_path, SAMPLES["burstgpt"].content)
    names = {"arrival": "Timestamp", "prompt_tokens": "Request tokens", "output_tokens": "Response tokens"}
    w = Workload.read(path, columns=names)
    assert w.arrival.tolist() == [5.0, 5.5, 7.0]
    assert w.time_unit is None


def test_an_unknown_header_names_the_formats_tried_and_their_columns(tmp_path: Path) -> None:
    found = problem(write(tmp_path, "when,in,out\n1,2,3\n"))
    assert "trace: row 1, unknown columns 'when', 'in', 'out': they must be those of a known format" in found
    for layout in FORMATS.values():
        if layout.sniffed and layout.name != "pairs":
            assert f"{layout.name}: {layout.wanted}" in found
    assert "csv: tokens, or prompt_tokens, output_tokens" in found


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("0,27.4,3.1,Gamma,0.1,0.35\n", "is that of a ServeGen client, which is statistics and not requests"),
        ("0,0.0,0.0,,0.0,0.0\n", "is that of a ServeGen client"),
        ('[{"id": "x", "conversations": []}]', "column 'conversations': it must hold token counts"),
        ('{"session_id": 1, "sub_requests": []}\n', "column 'sub_requests': sessions"),
        ("[[128, 0.25], [256, 1.0]]", "row 1, column 'output' is 0.25: it must be a whole number"),
    ],
)
def test_what_is_known_to_be_no_list_of_requests(tmp_path: Path, content: str, words: str) -> None:
    assert words in problem(write(tmp_path, content))


def test_mooncake_times_with_fractions_are_doubted_aloud(tmp_path: Path) -> None:
    content = SAMPLES["mooncake"].content.replace("3500", "3000.5")
    with pytest.warns(UserWarning, match="have fractions: if they are seconds, format = 'mooncake-seconds'"):
        Workload.read(write(tmp_path, content))
