"""The tables of a study's report: which metrics are their columns, and how to read them."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CLASS_SECTIONS", "SECTIONS", "Section"]


@dataclass(frozen=True)
class Section:
    """A table of the report: its title, a note on how to read it, and the metrics that are its columns."""

    title: str
    note: str
    metrics: tuple[str, ...]


def _quantiles(name: str) -> tuple[str, ...]:
    return tuple(f"{name}_{part}" for part in ("mean", "p50", "p90", "p95", "p99"))


SECTIONS = (
    Section(
        "Service",
        "Makespan is the last completion less the first arrival; throughput is tokens processed per unit of "
        "it. Mean latency is the mean completion time where all requests are there from the beginning.",
        ("throughput", "makespan", "latency_mean", "utilisation", "completed_share"),
    ),
    Section(
        "Money",
        "Cost = τQ + cT + τE: what the tokens cost alone, what the steps cost, and what requests pay for "
        "longer ones in their batch. Profit is revenue less cost and workers.",
        ("cost_intrinsic", "cost_time", "cost_externality", "cost", "cost_workers", "revenue", "profit"),
    ),
    Section(
        "Fairness",
        "The extent of a step is the largest progress in the batch less the smallest; "
        "the mean is over busy steps. Jain's index compares the slowdowns of short and long requests.",
        ("mean_extent", "max_extent", "violations", "jain_slowdown"),
    ),
    Section(
        "Queue and memory",
        "Requests queued, averaged over the run; the longest that anybody waited; KV tokens held by one "
        "worker, at most and on average; a machine whose memory holds fewer could not run this.",
        ("mean_queue", "oldest_age", "kv_peak", "kv_mean"),
    ),
    Section("Wait", "From arrival to the first step.", _quantiles("wait")),
    Section("TTFT", "Time to first token: from arrival to the first output token.", _quantiles("ttft")),
    Section(
        "TPOT",
        "Time per output token after the first; one-token outputs have none and are left out.",
        _quantiles("tpot"),
    ),
    Section("Latency", "From arrival to completion, of the requests completed.", _quantiles("latency")),
)
"""The tables with a row per policy."""

CLASS_SECTIONS = (
    Section(
        "Classes: service",
        "By class of request, and all together. SLA met: share of the requests with an SLA of which it is "
        "known; open: unfinished at the end, so that nobody can tell; goodput: met per unit of time.",
        ("arrived", "completed_share", "attainment", "goodput", "sla_censored", "throughput"),
    ),
    Section(
        "Classes: money",
        "Revenue at the class's own price; a request pays for what it causes, its externality included. "
        "Per million: of billed tokens of the completed.",
        ("revenue", "cost", "cost_workers", "profit", "profit_per_million"),
    ),
    Section("Classes: latency", "Of the requests of a class that were completed.", _quantiles("latency")),
    Section("Classes: TTFT", "Of the requests of a class that had a first token.", _quantiles("ttft")),
)
"""The tables with a row per policy and class; every other column of classes.csv is there alone."""
