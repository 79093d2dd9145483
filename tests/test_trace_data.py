"""The recorded traces are read with the counts, means, spans and CVs that their own page states."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from fixtures_data import data_folder

import fairq
from fairq.description import describe
from fairq.workload import Workload

AZURE = "azure/AzureLLMInferenceTrace_conv.csv"
SPLITWISE = "vidur/splitwise_conv.csv"
ARXIV = "vidur/arxiv_summarization_stats_llama2_tokenizer_filtered_v2.csv"
SHAREGPT = "etalon/sharegpt_8k_filtered_stats_llama2_tokenizer.csv"
BWB = "etalon/bwb_stats_llama2_tokenizer_filtered_v2.csv"
BURST = "burstgpt/BurstGPT_1.first400.csv"
MOONCAKE = "mooncake/conversation_trace.first4000.jsonl"
VTC = "vtc/FCFS_all_results_real.jsonl"

LENGTHS = {
    (AZURE, "prompt"): (19366, 1154.70, 1020, 4142, 14050, 1229487.5),
    (AZURE, "output"): (19366, 211.13, 129, 601, 1000, 26526.8),
    (AZURE, "total"): (19366, 1365.82, 1412, 4259, 14089, 1215433.6),
    (SPLITWISE, "total"): (19366, 1365.82, 1412, 4259, 14089, 1215433.6),
    (ARXIV, "prompt"): (28257, 2588.08, 2730, 3934, 4054, 892549.7),
    (ARXIV, "output"): (28257, 291.43, 167, 3272, 4056, 281468.3),
    (ARXIV, "total"): (28257, 2879.51, 2992, 4077, 4096, 709779.1),
    (SHAREGPT, "prompt"): (30731, 2340.03, 1730, 7434, 8141, 4363303.3),
    (SHAREGPT, "output"): (30731, 438.71, 415, 998, 1024, 70564.6),
    (SHAREGPT, "total"): (30731, 2778.74, 2202, 7863, 8149, 4479153.8),
    (BWB, "prompt"): (33768, 1067.18, 1037, 1800, 3504, 73728.3),
    (BWB, "output"): (33768, 1612.83, 1601, 2533, 2858, 143462.9),
    (BWB, "total"): (33768, 2680.01, 2640, 4064, 4096, 378606.4),
    (BURST, "total"): (383, 832.38, 650, 2743.6, 3217, 462761.5),
    (MOONCAKE, "prompt"): (4000, 13312.34, 7874, 94410.6, 123192, 298678510.7),
    (MOONCAKE, "output"): (4000, 347.08, 358, 1157.1, 2000, 64044.4),
    (MOONCAKE, "total"): (4000, 13659.42, 8221, 94418, 124741, 299574285.7),
    (VTC, "prompt"): (1500, 136.27, 40, 902.3, 1021, 42577.6),
    (VTC, "output"): (1500, 256.20, 211, 785, 977, 42873.3),
    (VTC, "total"): (1500, 392.46, 348.5, 1299, 1657, 96300.4),
}
"""n, mean, median, p99, max, variance: the data's own table, whose quantiles are interpolated."""

ARRIVALS = {
    AZURE: (3501.722, 0.180827, 1.0942, 5.5301, 4.315, 0),
    SPLITWISE: (3501.722, 0.180827, 1.0942, 5.5301, 4.315, 0),
    BURST: (37269.000, 97.562827, 4.4696, 0.0102, 6651.0, 4),
    MOONCAKE: (1301.999, 0.325581, 2.8664, 3.0714, 3.001, 3565),
    VTC: (600.000, 0.400267, 1.1047, 2.4983, 4.539, 0),
}
"""Span, mean gap, CV, rate, largest gap, zero gaps; none is out of order."""


def read(name: str) -> Workload:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fairq.ReadWarning)
        return Workload.read(data_folder() / name)


@pytest.mark.parametrize(("name", "part"), LENGTHS)
def test_lengths(name: str, part: str) -> None:
    n, mean, median, p99, largest, variance = LENGTHS[name, part]
    w = read(name)
    values = {"prompt": w.prompt_tokens, "output": w.output_tokens, "total": w.tokens}[part]
    assert len(w) == n
    assert values.mean() == pytest.approx(mean, abs=0.005)
    assert np.median(values) == median or abs(np.median(values) - median) <= 10  # an average of two there
    assert np.quantile(values, 0.99) == pytest.approx(p99, abs=1)
    assert values.max() == largest
    assert values.var(ddof=1) == pytest.approx(variance, abs=0.06)


@pytest.mark.parametrize("name", ARRIVALS)
def test_arrivals(name: str) -> None:
    span, gap, cv, rate, largest, ties = ARRIVALS[name]
    found = describe(read(name))["arrivals"]
    assert found["span"] == pytest.approx(span, abs=5e-4)
    assert found["mean_gap"] == pytest.approx(gap, abs=5e-7)
    assert found["cv"] == pytest.approx(cv, abs=5e-5)
    assert found["rate"] == pytest.approx(rate, abs=5e-5)
    assert found["largest_gap"] == pytest.approx(largest, abs=6e-4)
    assert (found["ties"], found["out_of_order"]) == (ties, 0)


def test_every_trace_is_read_without_repairs_but_for_the_failed_rows_of_burstgpt() -> None:
    for name in (AZURE, SPLITWISE, ARXIV, SHAREGPT, BWB, MOONCAKE, VTC):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            w = Workload.read(data_folder() / name)
        assert w.source is not None
        assert w.source.changes() == []
    with pytest.warns(fairq.ReadWarning, match="17 of 400 rows dropped"):
        Workload.read(data_folder() / BURST)
    with pytest.warns(fairq.ReadWarning, match="17 of 400 rows without output tokens kept as one token"):
        kept = Workload.read(data_folder() / BURST, zero="keep")
    assert len(kept) == 400
    found = describe(kept)["arrivals"]
    assert (found["mean_gap"], found["cv"]) == pytest.approx((93.406015, 4.5669), abs=5e-5)


def test_two_formats_of_one_trace_give_the_same_workload() -> None:
    azure, splitwise = read(AZURE), read(SPLITWISE)
    for name in ("arrival", "tokens", "prompt_tokens", "lower", "upper", "label", "billed_tokens"):
        np.testing.assert_array_equal(getattr(azure, name), getattr(splitwise, name))
    assert azure.time_unit == splitwise.time_unit == "s"


def test_what_the_vtc_service_measured_is_kept() -> None:
    w = read(VTC)
    assert w.measured["measured_ttft"].mean() == pytest.approx(46.8, abs=0.05)
    assert (w.arrival + w.measured["measured_latency"]).max() == pytest.approx(757.7, abs=0.05)
    counts = sorted(np.unique(w.label, return_counts=True)[1].tolist(), reverse=True)
    assert (len(counts), counts[:4], counts[-2:]) == (27, [296, 262, 199, 120], [2, 1])


def test_a_spread_mooncake_trace_has_no_ties_and_keeps_its_groups() -> None:
    w = read(MOONCAKE)
    with pytest.warns(fairq.ReadWarning, match=r"3,565 ties spread inside buckets of 2\.999"):
        spread = Workload.read(data_folder() / MOONCAKE, ties="spread")
    assert len(np.unique(w.arrival)) == 435
    assert (np.diff(spread.arrival) > 0).all()
    assert (spread.arrival - w.arrival).max() < 2.999
    assert spread.tokens.tolist() == w.tokens.tolist()


@pytest.mark.parametrize("name", [AZURE, ARXIV, BURST, MOONCAKE, VTC])
def test_each_reads_back_from_our_own_format(tmp_path: Path, name: str) -> None:
    w = read(name)
    w.to_csv(tmp_path / "trace.csv")
    again = Workload.read(tmp_path / "trace.csv")
    assert again.time_unit == w.time_unit
    for column, values in w.frame.items():
        np.testing.assert_array_equal(again.frame[str(column)], values)


PROGRAM = """
import json, pathlib, re, resource, sys, time, fairq
w = fairq.Workload.read(sys.argv[1]).as_backlog()
begin = time.process_time()
run = fairq.simulate(w, "isjl", alpha=150, batch_size=32, clock="token")
seconds = time.process_time() - begin
status = pathlib.Path("/proc/self/status")  # getrusage would tell of the process that started this one
peak = int(re.search(r"VmHWM:\\s+(\\d+)", status.read_text())[1]) if status.exists() else None
peak = peak or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([seconds, peak, int(run.summary["completed"]), float(run.summary["makespan"])]))
"""


def test_the_azure_backlog_through_isjl_takes_under_two_seconds_and_300_mb() -> None:
    """In a process of its own, whose memory is nobody else's; seconds are those of the processor."""
    path = str(data_folder() / AZURE)
    command = [sys.executable, "-c", PROGRAM, path]
    runs = [json.loads(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(2)]
    seconds, kilobytes = min(run[0] for run in runs), min(run[1] for run in runs)
    assert seconds < 2
    assert kilobytes * 1024 < 300e6
    completed, makespan = runs[0][2:]
    assert completed == 19_366
    assert makespan >= read(AZURE).tokens.sum() / 32
