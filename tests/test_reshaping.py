"""What is made of a workload: rates, windows, samples, chunks of prompt; and our own file format."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairq
from fairq.errors import InputError
from fairq.reshaping import arrival_rate, billed_after
from fairq.scenario import Scenario
from fairq.streams import open_uniforms, stream
from fairq.workload import Workload

COLUMNS = ("arrival", "tokens", "prompt_tokens", "lower", "upper", "label", "billed_tokens")


def same(one: Workload, other: Workload) -> None:
    for name in COLUMNS:
        left, right = getattr(one, name), getattr(other, name)
        assert left.dtype == right.dtype
        np.testing.assert_array_equal(left, right)
    assert (one.time_unit, one.prompt_chunk) == (other.time_unit, other.prompt_chunk)
    assert set(one.measured) == set(other.measured)
    for name, values in one.measured.items():
        np.testing.assert_array_equal(values, other.measured[name])


@pytest.fixture
def trace() -> Workload:
    return Workload.from_arrays(
        [10, 20, 30, 40], [2.0, 3.0, 3.0, 6.0], [4, 0, 25, 39], label=["a", "b", "a", "c"], time_unit="s"
    )


def test_a_rate_is_one_over_the_mean_gap(trace: Workload) -> None:
    assert arrival_rate(trace) == 0.75
    faster = trace.at_rate(3)
    assert faster.arrival.tolist() == [0.5, 0.75, 0.75, 1.5]
    assert arrival_rate(faster) == 3
    assert faster.time_unit is None  # so that either clock takes it
    assert faster.tokens.tolist() == trace.tokens.tolist()
    for workload in (trace.as_backlog(), Workload.from_arrays([5]), Workload.empty()):
        with pytest.raises(InputError, match="all its requests arrive at one time"):
            workload.at_rate(3)
    for rate in (0, -1, float("nan"), "3"):
        with pytest.raises(InputError, match=r"^rate is "):
            trace.at_rate(rate)


def test_seconds_on_the_token_clock_need_one_of_three_ways_out(trace: Workload) -> None:
    with pytest.raises(InputError, match=r"clock is 'token': .*'cost'.*in_steps\(.*at_rate\("):
        fairq.simulate(trace, "fcfs", batch_size=2)
    fairq.simulate(trace, "fcfs", batch_size=2, clock="cost").check()
    for workload in (trace.in_steps(0.5), trace.at_rate(0.01), trace.as_backlog()):
        fairq.simulate(workload, "fcfs", batch_size=2).check()
    steps = trace.in_steps(0.5)
    assert (steps.arrival.tolist(), steps.time_unit) == ([4.0, 6.0, 6.0, 12.0], "steps")
    with pytest.raises(InputError, match="in steps already"):
        steps.in_steps(2)
    with pytest.raises(InputError, match=r"^step_seconds is 0: "):
        trace.in_steps(0)


def test_a_window_counts_from_its_start(trace: Workload) -> None:
    part = trace.window(2.5, 6.0)
    assert part.arrival.tolist() == [0.5, 0.5]
    assert part.label.tolist() == ["b", "a"]
    assert part.time_unit == "s"
    for start, end, words in [
        (2, 2, "end is 2.0: it must be above start"),
        (-1, 2, "start is -1: it must be a finite number >= 0"),
        (7, 9, "it must meet those from 2.0 to 6.0"),
    ]:
        with pytest.raises(InputError, match=words):
            trace.window(start, end)


def test_lengths_are_drawn_whole_rows_at_a_time(trace: Workload) -> None:
    sample = trace.lengths(open_uniforms(stream(1, 0, "lengths"), 2000))
    assert (sample.arrival == 0).all()
    assert sample.time_unit is None
    rows = set(zip(trace.tokens.tolist(), trace.prompt_tokens.tolist(), trace.label.tolist(), strict=True))
    drawn = list(
        zip(sample.tokens.tolist(), sample.prompt_tokens.tolist(), sample.label.tolist(), strict=True)
    )
    assert set(drawn) == rows
    assert all(abs(drawn.count(row) - 500) < 5 * (2000 * 0.25 * 0.75) ** 0.5 for row in rows)
    assert trace.lengths(np.array([1e-18, 1 - 1e-16])).tokens.tolist() == [10, 40]


@pytest.mark.parametrize(
    ("uniforms", "words"),
    [
        ([0.5, 1.0], r"uniforms\[1\] is 1\.0: it must be from 0 to below 1"),
        ([-0.5], r"uniforms\[0\] is -0\.5: it must be a finite number >= 0"),
        ([float("nan")], r"uniforms\[0\] is nan"),
        (["x"], r"uniforms\[0\] is 'x'"),
        (0.5, r"uniforms is 0\.5: it must be a list"),
    ],
)
def test_lengths_are_drawn_by_a_list_too_and_by_nothing_else(trace: Workload, uniforms, words: str) -> None:
    assert trace.lengths([0.0, 0.3, 0.99]).tokens.tolist() == [10, 20, 40]
    assert len(trace.lengths([])) == 0
    with pytest.raises(InputError, match=words):
        trace.lengths(uniforms)
    with pytest.raises(InputError, match="the workload is empty"):
        Workload.empty().lengths([0.5])


def test_times_stay_finite_and_apart(trace: Workload) -> None:
    for change, words in (
        (lambda: trace.at_rate(1e-320), r"^rate is 1e-320: a factor of inf makes times of up to 6 infinite"),
        (lambda: trace.in_steps(1e-320), r"^step_seconds is 1e-320: .* infinite: they must stay finite$"),
        (lambda: trace.in_steps(1e-308), r"^step_seconds is 1e-308: .* infinite"),
        (lambda: Workload.from_arrays([5, 5], [0, 1e-300]).in_steps(1e300), "all the same"),
        (lambda: Workload.from_arrays([5, 5], [0, 5e-324]).at_rate(1), "has no finite rate"),
    ):
        with pytest.raises(InputError, match=words):
            change()
    assert np.isfinite(trace.at_rate(1e-300).arrival).all()


def test_what_was_made_of_a_trace_is_said_by_its_source(tmp_path: Path, trace: Workload) -> None:
    trace.to_csv(tmp_path / "trace.csv")
    w = Workload.read(tmp_path / "trace.csv")
    made = w.window(2.5, 7).at_rate(2).chunk_prompt(2)
    assert w.source is not None
    assert made.source is not None
    assert w.source.made == ()
    assert made.source.made == (
        "window from 2.5 to 7: 3 of 4 requests",
        "times multiplied by 0.333333",
        "prompts in chunks of 2 tokens",
    )
    for text in made.source.made:
        assert text in str(made.source)
    drawn = w.bootstrap(stream(1, 0, "arrivals"), 2.0)
    assert drawn.source is not None
    assert drawn.source.made == (f"resampled in 2 pieces of 2: {len(drawn)} for 4 requests",)
    backlog = w.lengths([0.5]).source
    assert backlog is not None
    assert backlog.made == ("1 request drawn from 4", "all at time 0, a backlog")
    assert "times counted in steps of 0.5 s" in str(w.in_steps(0.5).source)


def test_a_bootstrap_is_in_order_whatever_the_rounding() -> None:
    for seed in range(300):
        random = np.random.default_rng(seed)
        arrival = np.sort(random.random(40)) * 10 ** random.uniform(-3, 6)
        w = Workload.from_arrays(np.ones(40, dtype=int), arrival)
        sample = w.bootstrap(stream(seed, 0, "arrivals"), float(np.ptp(arrival)) / random.integers(1, 60))
        assert (np.diff(sample.arrival) >= 0).all()
        assert len(sample) == 0 or sample.arrival[-1] <= arrival[-1] * (1 + 1e-15)
    shuffled = Workload.from_arrays([1, 2, 3], [9.0, 0.0, 4.0]).bootstrap(stream(1, 0, "arrivals"), 9.0)
    assert shuffled.tokens.tolist() == [2, 3, 1]
    assert shuffled.arrival.tolist() == [0.0, 4.0, 9.0]


def test_a_bootstrap_of_too_many_pieces_is_refused(trace: Workload) -> None:
    for block in (1e-9, 5e-324):
        with pytest.raises(
            InputError, match=rf"^block is {block!r}: it must be at least 4e-06, the span of the"
        ):
            trace.bootstrap(stream(1, 0, "arrivals"), block)


@pytest.mark.parametrize("size", [0, 1e300, 1e308, 99999999999999999999, 10**9, 2.5])
def test_a_chunk_is_bounded_and_what_is_written_reads_back(
    tmp_path: Path, trace: Workload, size: float
) -> None:
    with pytest.raises(InputError, match=r"^size is .*: it must be a whole number >= 1 and <= 100000000$"):
        trace.chunk_prompt(size)  # type: ignore[arg-type]
    largest = trace.chunk_prompt(100_000_000)
    largest.to_csv(tmp_path / "own.csv")
    same(Workload.read(tmp_path / "own.csv"), largest)
    with pytest.raises(InputError, match=r"workload\.prompt_chunk is .*: it must be"):
        Scenario.load("table1", [f"workload.prompt_chunk={size!r}"])


def test_the_bootstrap_keeps_pieces_whole() -> None:
    arrival = np.repeat(np.arange(60) * 10.0, 3) + np.tile([0.0, 0.0, 2.5], 60)
    w = Workload.from_arrays(1 + np.arange(180), arrival, time_unit="s")
    sample = w.bootstrap(stream(5, 0, "arrivals"), 59.25)
    assert (np.diff(sample.arrival) >= 0).all()
    assert sample.arrival.max() <= 592.5 + 1e-9
    assert len(set(sample.tokens.tolist())) < 180  # some pieces come twice, others never
    starts = np.flatnonzero(np.diff(sample.tokens) != 1)
    assert len(starts) <= 10  # inside a piece, requests follow each other as they did
    again = w.bootstrap(stream(5, 0, "arrivals"), 59.25)
    assert again.arrival.tolist() == sample.arrival.tolist()
    assert w.bootstrap(stream(5, 1, "arrivals"), 59.25).tokens.tolist() != sample.tokens.tolist()
    counts = [len(w.bootstrap(stream(5, k, "arrivals"), 59.25)) for k in range(200)]
    assert abs(np.mean(counts) - 180) < 4 * np.std(counts) / 200**0.5 + 1e-9
    for block, words in [(0, "block is 0: "), (1000, "at most the span of the arrivals, 592.5")]:
        with pytest.raises(InputError, match=words):
            w.bootstrap(stream(5, 0, "arrivals"), block)


def test_whole_span_as_one_piece_is_the_trace_itself(trace: Workload) -> None:
    same(trace.bootstrap(stream(1, 0, "arrivals"), 4.0), trace)


@given(
    st.lists(st.tuples(st.integers(0, 5000), st.integers(1, 50), st.integers(0, 9)), min_size=1),
    st.integers(1, 700),
)
def test_chunks_change_the_steps_and_not_the_bill(rows: list[tuple[int, int, int]], size: int) -> None:
    prompt, output, slack = (np.array(column) for column in zip(*rows, strict=True))
    tokens = prompt + output
    w = Workload.from_arrays(
        tokens, prompt_tokens=prompt, lower=np.maximum(tokens - slack, 1), upper=tokens + slack
    )
    chunked = w.chunk_prompt(size)
    assert chunked.prompt_tokens.tolist() == [-(-int(p) // size) for p in prompt]
    assert chunked.output_tokens.tolist() == output.tolist()
    assert chunked.billed_tokens.tolist() == tokens.tolist()
    assert (chunked.upper - chunked.tokens).tolist() == slack.tolist()
    assert (chunked.lower <= chunked.tokens).all()
    assert (chunked.lower >= 1).all()
    assert chunked.prompt_chunk == size
    assert billed_after(chunked, chunked.tokens).tolist() == tokens.tolist()
    assert billed_after(chunked, np.zeros_like(tokens)).tolist() == [0] * len(tokens)
    every = [billed_after(chunked, np.minimum(k, chunked.tokens)) for k in range(20)]
    assert (np.diff(every, axis=0) >= 0).all()
    assert (np.diff(every, axis=0) <= size).all()


def test_chunk_one_is_the_workload_itself_and_chunks_are_cut_once(trace: Workload) -> None:
    assert trace.chunk_prompt(1) is trace
    with pytest.raises(InputError, match="in chunks of 8 already"):
        trace.chunk_prompt(8).chunk_prompt(4)
    for size in (0, -1, 1.5, "8"):
        with pytest.raises(InputError, match=r"^size is "):
            trace.chunk_prompt(size)


def test_a_result_says_which_chunk_was_used_and_bills_the_whole_prompt() -> None:
    w = Workload.from_arrays([1003, 503], prompt_tokens=[1000, 500])
    cost = fairq.Cost(price=0.5)
    plain = fairq.simulate(w, "fcfs", batch_size=2, cost=cost)
    chunked = fairq.simulate(w.chunk_prompt(512), "fcfs", batch_size=2, cost=cost)
    assert (plain.prompt_chunk, chunked.prompt_chunk) == (1, 512)
    assert chunked.summary.attrs["prompt_chunk"] == 512
    assert "as in the paper's model: TTFT is not a real machine's" in plain.prompt_model
    assert "512 tokens a step" in chunked.prompt_model
    assert chunked.requests["tokens"].tolist() == [5, 4]
    assert chunked.summary["tokens"] == 9  # steps of the engine, which Theorem 5.1 counts
    assert chunked.summary["revenue"] == plain.summary["revenue"] == 0.5 * 1506
    assert chunked.summary["throughput"] == 1506 / 5
    assert chunked.requests["first_token"].tolist() == [3.0, 2.0]
    chunked.check()
    early = fairq.simulate(w.chunk_prompt(512), "fcfs", batch_size=2, until=2.0)
    assert early.summary["throughput"] == (1000 + 501) / 2
    assert early.summary["tokens"] == 4


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
request = st.tuples(
    st.floats(0, 1e12),
    st.integers(0, 10_000),
    st.integers(1, 500),
    st.integers(0, 3),
    st.integers(0, 3),
    texts,
)


@given(st.lists(request, min_size=1), st.sampled_from(["s", "steps", None]), st.sampled_from([1, 1, 7]))
def test_our_own_format_reads_back_bit_for_bit(tmp_path_factory, rows, unit, chunk) -> None:
    arrival, prompt, output, below, above, label = zip(*rows, strict=True)
    tokens = np.array(prompt) + np.array(output)
    w = Workload.from_arrays(
        tokens, arrival, prompt, np.maximum(tokens - below, 1), tokens + above, label, unit
    ).chunk_prompt(chunk)
    path = tmp_path_factory.mktemp("own") / "trace.csv"
    w.to_csv(path)
    again = Workload.read(path)
    same(w, again)
    assert again.source is not None
    assert again.source.changes() == []


def test_measured_columns_travel_too(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(
        "req_time,prompt_len,output_len,request_latency,first_token_latency\n1,2,3,0.1,\n2,2,3,,0.3\n"
    )
    with pytest.warns(fairq.ReadWarning, match="1 aborted request kept with the tokens asked for"):
        w = Workload.read(path, format="vtc", zero="keep")
    assert w.measured["measured_ttft"].tolist()[1] == 0.3
    w.to_csv(tmp_path / "own.csv")
    same(w, Workload.read(tmp_path / "own.csv"))
    assert w.subset(np.array([False, True])).measured["measured_latency"].tolist() != [0.1]
    path.write_text("tokens,measured_latency\n5,-1\n")
    with pytest.raises(
        InputError, match=r"row 2, column 'measured_latency' is -1: it must be a finite number"
    ):
        Workload.read(path)


def test_a_frame_written_by_pandas_reads_back(tmp_path: Path, trace: Workload) -> None:
    trace.frame.to_csv(tmp_path / "frame.csv", index=False)
    same(Workload.read(tmp_path / "frame.csv", time_unit="s"), trace)


def test_what_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the workload is empty"):
        Workload.empty().to_csv(tmp_path / "x.csv")
    for label in ("a\0b", "\ud800", "x" * 100_001):
        with pytest.raises(InputError, match=r"^label\[1\] is "):
            Workload.from_arrays([5, 5], label=["", label])
    with pytest.raises(InputError, match="cannot be written: "):
        Workload.from_arrays([5]).to_csv(tmp_path)


def test_a_workload_read_from_a_file_can_be_pickled(tmp_path: Path, trace: Workload) -> None:
    import pickle

    trace.to_csv(tmp_path / "x.csv")
    w = Workload.read(tmp_path / "x.csv")
    again = pickle.loads(pickle.dumps(w))  # noqa: S301 - our own bytes
    same(again, w)
    assert again.source == w.source
