"""Run, write the requests as a trace, replay: the same requests table, bit for bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from test_formats import write
from trace_files import SAMPLES

import fairq
from fairq.streams import stream
from fairq.workload import Workload

CLOCKS = {"token": "token", "cost": "cost", "step": fairq.StepTime(c=0.02, b=1e-4, tau=2e-7)}


def drawn(seed: int, unit: str | None) -> Workload:
    """Requests with awkward times, prompts, intervals and labels."""
    generator = stream(seed, 0, "arrivals")
    count = 200
    arrival = generator.exponential(7.3, count).cumsum()
    arrival[::9] = arrival[1::9][: len(arrival[::9])] if count % 9 == 1 else arrival[::9]
    prompt, output = generator.integers(0, 300, count), generator.integers(1, 90, count)
    tokens = prompt + output
    label = [f"kind {k % 3}" for k in range(count)]
    return Workload.from_arrays(tokens, arrival, prompt, np.maximum(tokens - 5, 1), tokens + 7, label, unit)


@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize(
    ("policy", "options"), [("fcfs", {}), ("isjl", {"alpha": 60}), ("ljf-fair", {"alpha": 60})]
)
@pytest.mark.parametrize("chunk", [1, 64])
def test_a_replay_gives_the_same_table(
    tmp_path: Path, clock: str, policy: str, options: dict, chunk: int
) -> None:
    unit = "steps" if clock == "token" else "s"
    settings = {"batch_size": 8, "workers": 2, "clock": CLOCKS[clock], "cost": fairq.Cost(c=0.03, tau=1e-6)}
    first = fairq.simulate(drawn(7, unit).chunk_prompt(chunk), policy, size="upper", **settings, **options)
    first.workload.to_csv(tmp_path / "trace.csv")
    again = fairq.simulate(Workload.read(tmp_path / "trace.csv"), policy, size="upper", **settings, **options)
    pd.testing.assert_frame_equal(first.requests, again.requests, check_exact=True)
    pd.testing.assert_series_equal(first.summary, again.summary, check_exact=True)


@pytest.mark.parametrize("clock", ["token", "cost"])
@pytest.mark.parametrize("name", ["azure-2024", "mooncake", "vtc"])
def test_a_foreign_trace_replays_from_our_own_format(tmp_path: Path, clock: str, name: str) -> None:
    w = Workload.read(write(tmp_path, SAMPLES[name].content))
    w = w.in_steps(0.013) if clock == "token" else w
    first = fairq.simulate(w, "isjl", alpha=30, batch_size=2, clock=clock)
    w.to_csv(tmp_path / "own.csv")
    again = fairq.simulate(Workload.read(tmp_path / "own.csv"), "isjl", alpha=30, batch_size=2, clock=clock)
    pd.testing.assert_frame_equal(first.requests, again.requests, check_exact=True)


@pytest.mark.parametrize("clock", ["token", "cost"])
def test_the_requests_table_itself_is_a_trace(tmp_path: Path, clock: str) -> None:
    """Its arrival and tokens columns, written by pandas, are our own format."""
    first = fairq.simulate(drawn(9, None), "fcfs", batch_size=4, clock=clock)
    columns = first.requests[["arrival", "tokens"]].assign(prompt_tokens=first.workload.prompt_tokens)
    columns.to_csv(tmp_path / "trace.csv", index=False)
    again = fairq.simulate(Workload.read(tmp_path / "trace.csv"), "fcfs", batch_size=4, clock=clock)
    pd.testing.assert_frame_equal(first.requests, again.requests, check_exact=True)
