"""A scenario's trace: rate, window, bootstrap, format, failed rows, ties; its lengths alone; chunks."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_formats import write
from trace_files import OUTPUT, PROMPT, SAMPLES

from fairq import ReadWarning
from fairq.errors import InputError
from fairq.manifest import manifest_of
from fairq.scenario import Scenario


def scenario(path: Path, *fields: str, pool: bool = False) -> Scenario:
    """Of one trace, as arrivals, or as a pool of lengths for 50 requests at time 0."""
    if pool:
        table = f"workload={{ requests = 50, tokens = {{ kind = 'trace', path = '{path}' }} }}"
    else:
        table = f"workload={{ arrivals = {{ kind = 'trace', path = '{path}' }} }}"
    return Scenario.load("table1", [table, "replications=1", *fields])


@pytest.fixture
def many(tmp_path: Path) -> Path:
    rows = "".join(f"{k // 2 * 0.5},{k + 1},1\n" for k in range(400))
    return write(tmp_path, "arrived_at,num_prefill_tokens,num_decode_tokens\n" + rows, "many.csv")


def test_a_trace_needs_no_column_map(tmp_path: Path) -> None:
    w = scenario(write(tmp_path, SAMPLES["azure-2024"].content)).draw(0)
    assert w.prompt_tokens.tolist() == PROMPT
    assert w.time_unit == "s"


def test_window_and_rate(many: Path) -> None:
    w = scenario(many, "workload.arrivals.window=[10, 20]", "workload.arrivals.rate=8").draw(0)
    assert len(w) == 40
    assert w.arrival[0] == 0
    assert w.arrival[-1] == pytest.approx(39 / 8)
    assert w.time_unit is None


def test_the_bootstrap_differs_by_replication_and_scales_by_the_traces_own_rate(many: Path) -> None:
    drawn = scenario(many, "workload.arrivals.bootstrap=10.0")
    assert drawn.draw(0).tokens.tolist() == drawn.draw(0).tokens.tolist()
    assert drawn.draw(0).tokens.tolist() != drawn.draw(1).tokens.tolist()
    faster = scenario(many, "workload.arrivals.bootstrap=10.0", "workload.arrivals.rate=8.0").draw(0)
    factor = (399 / 99.5) / 8.0
    assert faster.arrival.tolist() == pytest.approx((drawn.draw(0).arrival * factor).tolist())


def test_rows_without_tokens_ties_and_the_format(tmp_path: Path) -> None:
    content = SAMPLES["mooncake"].content.replace("3500", "3000").replace("109", "0")
    path = write(tmp_path, content)
    with pytest.warns(ReadWarning, match="1 of 3 rows dropped"):
        assert len(scenario(path).draw(0)) == 2
    kept = scenario(path, "workload.arrivals.zero=keep", "workload.arrivals.ties=spread")
    with pytest.warns(ReadWarning, match="kept as one token"):
        assert kept.draw(0).arrival.tolist() == [0.0, 1.0, 2.0]
    with pytest.raises(InputError, match="row 2, column 'output_length' is 0"):
        scenario(path, "workload.arrivals.zero=refuse").draw(0)
    slow = scenario(path, "workload.arrivals.format=mooncake-seconds", "workload.arrivals.zero=keep")
    with pytest.warns(ReadWarning, match="kept as one token"):
        assert slow.draw(0).arrival.tolist() == [0.0, 0.0, 2000.0]


def test_a_trace_is_read_once_and_again_when_it_changes(tmp_path: Path) -> None:
    path = write(tmp_path, "arrival,tokens\n0,5\n")
    drawn = scenario(path)
    assert drawn.draw(0).tokens is drawn.draw(1).tokens
    write(tmp_path, "arrival,tokens\n0,5\n0,66\n")
    assert drawn.draw(0).tokens.tolist() == [5, 66]


def test_lengths_from_a_trace_apart_from_its_times(tmp_path: Path) -> None:
    drawn = scenario(write(tmp_path, SAMPLES["vidur"].content), pool=True)
    w = drawn.draw(0)
    assert len(w) == 50
    assert (w.arrival == 0).all()
    assert set(zip(w.prompt_tokens.tolist(), w.output_tokens.tolist(), strict=True)) == set(
        zip(PROMPT, OUTPUT, strict=True)
    )
    assert w.tokens.tolist() == drawn.draw(0).tokens.tolist()
    assert w.tokens.tolist() != drawn.draw(1).tokens.tolist()


def test_prompts_in_chunks(tmp_path: Path) -> None:
    w = scenario(write(tmp_path, SAMPLES["vidur"].content), "workload.prompt_chunk=100").draw(0)
    assert w.prompt_tokens.tolist() == [4, 0, 1]
    assert w.billed_tokens.tolist() == [p + o for p, o in zip(PROMPT, OUTPUT, strict=True)]
    plain = Scenario.load("table1")
    chunked = Scenario.load("table1", ["workload.prompt_chunk=100"])
    assert chunked.draw(0).tokens.tolist() == plain.draw(0).tokens.tolist()  # no split, no prompt


def test_a_manifest_has_a_digest_of_every_file_read(tmp_path: Path) -> None:
    path = write(tmp_path, SAMPLES["vidur"].content)
    assert list(manifest_of(scenario(path, pool=True))["inputs"]) == [str(path)]
    assert list(manifest_of(scenario(path))["inputs"]) == [str(path)]
    with pytest.raises(InputError, match=r"^workload\.tokens\.path is 'gone\.csv', which cannot be read: "):
        manifest_of(scenario(Path("gone.csv"), pool=True))


@pytest.mark.parametrize(
    ("field", "words"),
    [
        (
            "workload.arrivals.format=azur",
            "workload.arrivals.format: unknown format 'azur': did you mean 'azure'?",
        ),
        ("workload.arrivals.rate=0", "workload.arrivals.rate is 0: it must be a finite number > 0"),
        ("workload.arrivals.rate=-1", "workload.arrivals.rate is -1: it must be a finite number > 0"),
        ("workload.arrivals.bootstrap=x", "workload.arrivals.bootstrap is 'x': it must be a finite number"),
        (
            "workload.arrivals.window=[5, 5]",
            "workload.arrivals.window is [5, 5]: it must be [start, end], two",
        ),
        ("workload.arrivals.window=[5]", "workload.arrivals.window is [5]: it must be [start, end]"),
        ("workload.arrivals.window=[-1, 5]", "two finite numbers with 0 <= start < end"),
        (
            "workload.arrivals.zero=clip",
            "workload.arrivals.zero is 'clip': it must be 'drop', 'keep' or 'refuse'",
        ),
        ("workload.arrivals.ties=clip", "workload.arrivals.ties is 'clip': it must be 'keep' or 'spread'"),
        ("workload.arrivals.windw=[1, 2]", "did you mean 'window'?"),
        ("workload.prompt_chunk=0", "workload.prompt_chunk is 0: it must be a whole number >= 1"),
        ("workload.arrivals.kind=servgen", "'sinusoid', 'trace' or 'servegen'"),
    ],
)
def test_a_bad_field_is_named(many: Path, field: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        scenario(many, field)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("field", "words"),
    [
        (
            "workload.arrivals.window=[500, 600]",
            "workload.arrivals: the window from 500.0 to 600.0 has no arrivals",
        ),
        (
            "workload.arrivals.bootstrap=500.0",
            "workload.arrivals: block is 500.0: it must be at most the span",
        ),
    ],
)
def test_what_does_not_fit_the_trace_is_named_when_it_is_drawn(many: Path, field: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        scenario(many, field).draw(0)
    assert words in str(caught.value)
    with pytest.raises(
        InputError, match=r"workload\.tokens\.path is 'gone.csv': it must be a file that exists"
    ):
        scenario(Path("gone.csv"), pool=True).draw(0)
