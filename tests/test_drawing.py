"""The picture of a schedule: bars where the requests were, cut at their steps."""

from __future__ import annotations

import io
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairq
from fairq.drawing import lanes, plot_schedule

CLOCKS: list[Any] = ["token", fairq.StepTime(c=0.5, b=0.25, tau=0.125)]


def bars(result: Any, worker: int = 0) -> list[tuple[float, float, float, float]]:
    """(lane, begin, end, progress) of every cell drawn."""
    (cells,) = plot_schedule(result, worker=worker).collections
    corners = [path.vertices for path in cells.get_paths()]
    values = cells.get_array()
    return [
        (float(np.mean([p[:-1, 1].min(), p[:-1, 1].max()])), p[:, 0].min(), p[:, 0].max(), value)
        for p, value in zip(corners, values, strict=True)
    ]


@pytest.mark.parametrize("clock", CLOCKS, ids=["token", "own"])
@pytest.mark.parametrize("until", [None, 4.25])
def test_a_cell_is_a_step(clock: Any, until: float | None) -> None:
    workload = fairq.Workload.from_arrays(tokens=[5, 3, 4, 1, 2], arrival=[0, 0, 0.5, 1, 30])
    result = fairq.simulate(workload, "fcfs", batch_size=2, clock=clock, until=until, record="segments")
    drawn = bars(result)
    assert len(drawn) == result.summary["tokens"]
    for row in result.requests[result.requests["completed"]].itertuples():
        assert any(end == pytest.approx(row.finish) and tokens == row.tokens for _, _, end, tokens in drawn)
        assert any(begin == pytest.approx(row.start) and tokens == 1 for _, begin, _, tokens in drawn)
    latest = result.segments["end"].max()
    assert max(end for _, _, end, _ in drawn) == pytest.approx(latest)


def test_bars_of_a_lane_do_not_overlap() -> None:
    tokens = np.random.default_rng(3).integers(1, 30, 60)
    result = fairq.simulate(fairq.Workload.from_arrays(tokens), "isjl", alpha=4, batch_size=5, workers=2)
    for worker in (0, 1):
        drawn = sorted(bars(result, worker))
        assert {lane for lane, *_ in drawn} <= set(range(5))
        for (lane, _, end, _), (after, begin, _, _) in pairwise(drawn):
            assert lane != after or end <= begin + 1e-9


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 10)), min_size=1, max_size=40))
def test_lanes_are_as_many_as_are_needed(stays: list[tuple[int, int]]) -> None:
    stays.sort()
    start, tokens = (np.array(column) for column in zip(*stays, strict=True))
    together = max(int(((start <= step) & (step < start + tokens)).sum()) for step in range(41))
    lane = lanes(start, tokens)
    assert lane.max() + 1 == together


def test_ids_stand_in_the_bars_and_units_on_the_axes() -> None:
    result = fairq.simulate(fairq.Workload.from_arrays([4, 4, 2, 2]), "isjl", alpha=2, batch_size=3)
    axes = result.plot_schedule()
    assert sorted(text.get_text() for text in axes.texts) == ["0", "1", "2", "3"]
    assert (axes.get_xlabel(), axes.get_title()) == ("time (steps)", "isjl (alpha 2), worker 0")
    image = io.BytesIO()
    axes.figure.savefig(image)
    assert image.getvalue().startswith(b"\x89PNG")


def test_it_draws_on_the_axes_it_is_given() -> None:
    from matplotlib.figure import Figure

    axes = Figure().add_subplot()
    result = fairq.simulate(fairq.Workload.from_arrays([4, 2]), "fcfs", batch_size=1, clock="cost")
    assert plot_schedule(result, ax=axes) is axes
    assert axes.get_xlabel() == "time (s)"


def test_a_worker_without_work_is_an_empty_picture() -> None:
    result = fairq.simulate(fairq.Workload.from_arrays([4]), "fcfs", batch_size=1, workers=2)
    assert bars(result, worker=1) == []


@pytest.mark.parametrize("worker", [2, -1, 0.5, "a"])
def test_there_must_be_such_a_worker(worker: Any) -> None:
    result = fairq.simulate(fairq.Workload.from_arrays([4]), "fcfs", batch_size=1, workers=2)
    with pytest.raises(fairq.InputError, match=f"worker is {worker!r}: it must be a whole number"):
        plot_schedule(result, worker=worker)


def test_a_run_without_its_requests_cannot_be_drawn() -> None:
    result = fairq.simulate(fairq.Workload.from_arrays([4]), "fcfs", batch_size=1, record="summary")
    with pytest.raises(fairq.RecordError, match="requests"):
        plot_schedule(result)


def test_a_long_schedule_is_drawn_in_few_pieces() -> None:
    tokens = np.random.default_rng(4).integers(1, 3000, 300)
    result = fairq.simulate(fairq.Workload.from_arrays(tokens), "fcfs", batch_size=50)
    assert len(bars(result)) <= 45_000
