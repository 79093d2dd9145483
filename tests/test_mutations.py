"""Damaged traces: each is read, with what was mended said, or refused in one line; no traceback, no hang."""

from __future__ import annotations

import gzip
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from trace_files import SAMPLES

from fairq import InputError, ReadWarning
from fairq.workload import Workload

Random = np.random.Generator
HUGE = [
    b"1e999",
    b"9" * 400,
    b"9" * 5000,
    b"-1",
    b"nan",
    b"inf",
    b"",
    b"0x10",
    b"1_000",
    b"1e-320",
    b"\xef\xbc\x95",
]
SEPARATORS = [b";", b"\t", b"|", b" ", b",,"]
ENCODINGS = ["utf-16", "utf-16-le", "utf-32", "utf-8-sig", "latin-1", "cp1252", "cp037"]


def _lines(data: bytes) -> list[bytes]:
    return data.split(b"\n")


def _at(random: Random, data: bytes) -> int:
    return int(random.integers(len(data) + 1))


def _pick(random: Random, entries: list[bytes]) -> bytes:
    return entries[int(random.integers(len(entries)))]


def cut(random: Random, data: bytes) -> bytes:
    return data[: _at(random, data)]


def cut_gzip(random: Random, data: bytes) -> bytes:
    packed = gzip.compress(data)
    return packed[: _at(random, packed)]


def damage_gzip(random: Random, data: bytes) -> bytes:
    packed = bytearray(gzip.compress(data))
    packed[int(random.integers(len(packed)))] ^= 1 << int(random.integers(8))
    return bytes(packed)


def swap_columns(random: Random, data: bytes) -> bytes:
    lines = _lines(data)
    cells = lines[0].split(b",")
    random.shuffle(cells)
    return b"\n".join([b",".join(cells), *lines[1:]])


def separate_otherwise(random: Random, data: bytes) -> bytes:
    return data.replace(b",", _pick(random, SEPARATORS), int(random.choice([-1, 1, 3])))


def encode_otherwise(random: Random, data: bytes) -> bytes:
    return (data.decode() + "é").encode(ENCODINGS[int(random.integers(len(ENCODINGS)))], "replace")


def put_huge(random: Random, data: bytes) -> bytes:
    """In the place of a run of digits."""
    places = [k for k in range(len(data)) if data[k : k + 1].isdigit() and not data[k - 1 : k].isdigit()]
    if not places:
        return data
    start = places[int(random.integers(len(places)))]
    end = start
    while data[end : end + 1].isdigit():
        end += 1
    return data[:start] + _pick(random, HUGE) + data[end:]


def put_mark(random: Random, data: bytes) -> bytes:
    where = 0 if random.random() < 0.7 else _at(random, data)
    return data[:where] + b"\xef\xbb\xbf" + data[where:]


def end_lines_otherwise(random: Random, data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n").replace(b"\n", _pick(random, [b"\r\n", b"\r", b"\n\r", b"\r\r\n"]))


def put_blank_lines(random: Random, data: bytes) -> bytes:
    lines = _lines(data)
    for _ in range(int(random.integers(1, 5))):
        lines.insert(int(random.integers(len(lines) + 1)), _pick(random, [b"", b"  ", b"\t", b",", b"\r"]))
    return b"\n".join(lines)


def double_header(random: Random, data: bytes) -> bytes:
    lines = _lines(data)
    if random.random() < 0.5:
        return b"\n".join([lines[0], *lines])
    return b"\n".join([lines[0] + b"," + lines[0].split(b",")[0], *lines[1:]])


def make_ragged(random: Random, data: bytes) -> bytes:
    lines = _lines(data)
    index = int(random.integers(len(lines)))
    shorter = lines[index].rpartition(b",")[0]
    lines[index] = shorter if random.random() < 0.5 else lines[index] + b",7"
    return b"\n".join(lines)


def shuffle_rows(random: Random, data: bytes) -> bytes:
    lines = _lines(data)
    rest = lines[1:]
    random.shuffle(rest)
    return b"\n".join([lines[0], *rest])


def put_noise(random: Random, data: bytes) -> bytes:
    where = _at(random, data)
    return data[:where] + random.bytes(int(random.integers(1, 6))) + data[where:]


def put_quotes(random: Random, data: bytes) -> bytes:
    where = _at(random, data)
    return data[:where] + _pick(random, [b'"', b'""', b"'", b"[", b"{", b"}", b"\\"]) + data[where:]


def leave_out(random: Random, data: bytes) -> bytes:
    start = _at(random, data)
    return data[:start] + data[start + int(random.integers(1, 40)) :]


def put_zeros(random: Random, data: bytes) -> bytes:
    return data.replace(_pick(random, [b"44", b"109", b"16"]), b"0", 1)


MUTATIONS: list[Callable[[Random, bytes], bytes]] = [
    cut, cut_gzip, damage_gzip, swap_columns, separate_otherwise, encode_otherwise, put_huge, put_mark,
    end_lines_otherwise, put_blank_lines, double_header, make_ragged, shuffle_rows, put_noise, put_quotes,
    leave_out, put_zeros,
]  # fmt: skip


def mutated(random: Random) -> tuple[str, bytes]:
    """A sample with one or two mutations; its name and theirs, and its bytes."""
    name = sorted(SAMPLES)[int(random.integers(len(SAMPLES)))]
    data, names = SAMPLES[name].content.encode(), [name]
    for _ in range(int(random.integers(1, 3))):
        mutate = MUTATIONS[int(random.integers(len(MUTATIONS)))]
        try:
            data = mutate(random, data)
        except UnicodeDecodeError:
            continue  # what is no text any more cannot be encoded otherwise
        names.append(mutate.__name__)
    return " ".join(names), data


def outcome(path: Path, what: str) -> str:
    """``"read"`` or ``"refused"``; anything else is a failure that names the mutations."""
    begin = time.perf_counter()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            w = Workload.read(path)
    except InputError as error:
        text = str(error)
        assert "\n" not in text.strip(), f"{what}: more than one line: {text!r}"
        assert "\r" not in text, f"{what}: more than one line: {text!r}"
        assert path.name in text, f"{what}: no file named: {text!r}"
        assert len(text) < 6000, f"{what}: {len(text)} characters"
        return "refused"
    finally:
        assert time.perf_counter() - begin < 20, f"{what}: hangs"
    assert len(w) > 0, f"{what}: nothing was read, silently"
    assert all(issubclass(warning.category, ReadWarning) for warning in caught), (
        f"{what}: {caught[0].message}"
    )
    source = w.source
    assert source is not None
    assert bool(source.changes()) == bool(caught), f"{what}: a change was not said"
    assert source.rows - source.used == sum(source.dropped.values()), f"{what}: rows are missing"
    assert (w.tokens >= 1).all(), what
    assert (w.output_tokens >= 1).all(), what
    assert np.isfinite(w.arrival).all(), what
    return "read"


def run(folder: Path, seeds: range) -> Counter[str]:
    path, counts = folder / "mutated", Counter[str]()
    for seed in seeds:
        what, data = mutated(np.random.default_rng(seed))
        path.write_bytes(data)
        counts[outcome(path, f"seed {seed}, {what}")] += 1
    return counts


def test_two_thousand_damaged_traces(tmp_path: Path) -> None:
    counts = run(tmp_path, range(2_000))
    assert counts["read"] > 200
    assert counts["refused"] > 200


@pytest.mark.slow
def test_twenty_thousand_damaged_traces(tmp_path: Path) -> None:
    counts = run(tmp_path, range(2_000, 22_000))
    assert counts.total() == 20_000
    assert counts["read"] > 2_000
