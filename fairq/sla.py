"""Service level agreements: which requests keep theirs, which do not, and which nobody can tell yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairq.errors import unknown_name
from fairq.latencies import METRICS, latency_columns
from fairq.outcomes import ended_as
from fairq.workload import Workload

__all__ = ["Verdicts", "judge"]

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, slots=True)
class Verdicts:
    """What became of each request's SLA; an entry per request.

    A request is in at most one of the three; one without an SLA, or that has not arrived, is in none.

    Attributes:
        met: it keeps every limit; a metric that is not defined keeps its limit.
        missed: it breaks one, was rejected or gave up, or is unfinished and already too old.
        censored: unfinished, with an age that is still within every limit that is open.
        undefined: of `met`, those of which a limited metric is not defined.
    """

    met: Flags
    missed: Flags
    censored: Flags
    undefined: Flags

    def counts(self, at: NDArray[np.int64] | slice, time: float) -> dict[str, float]:
        """attainment, goodput (per unit of `time`), sla_censored and sla_undefined of some requests."""
        met, missed = int(self.met[at].sum()), int(self.missed[at].sum())
        censored = int(self.censored[at].sum())
        has_sla = met + missed + censored > 0
        return {
            "attainment": met / (met + missed) if met + missed else np.nan,
            "goodput": met / time if has_sla and time > 0 else np.nan,
            "sla_censored": censored,
            "sla_undefined": int(self.undefined[at].sum()),
        }


def judge(
    requests: pd.DataFrame,
    workload: Workload,
    index: NDArray[np.int64],
    limits: list[Mapping[str, float] | None],
    until: float | None,
) -> Verdicts:
    """Hold each request against the limits of its class.

    Parameters:
        requests, workload: the requests table of a run, with its `outcome`, and what it served.
        index: the class of each request.
        limits: of each class, the largest value allowed of each limited metric (`fairq.latencies.METRICS`),
            in the clock's unit; None or empty: the class has no SLA.
        until: when the run stopped; None served everything.

    An unfinished request has met the limit of a metric that it already has (wait once started, TTFT once
    its first token is out).  Of a metric that it does not have yet it has missed the limit if what has
    passed by `until` is over it: its age for wait, TTFT and latency, its age per output token for the
    normalised latency, the time since its first token per further output token for TPOT.

    Raises:
        InputError: a limit on a metric that does not exist.
    """
    count = len(requests)
    broken, open_, undefined = (np.zeros(count, dtype=np.bool_) for _ in range(3))
    done = requests["completed"].to_numpy()
    values = latency_columns(requests, workload)
    for metric, limit in _limit_columns(index, limits).items():
        unknown = np.isnan(values[metric]) & ~np.isnan(limit)
        over = values[metric] > limit
        if until is not None:
            over |= unknown & (_so_far(metric, requests, workload, until) > limit)
        broken |= over
        open_ |= unknown & ~done & ~over
        undefined |= unknown & done
    has_sla = np.array([bool(limit) for limit in limits], dtype=np.bool_)[index]
    has_sla &= ~ended_as(requests, "unreleased")
    refused = ended_as(requests, "rejected", "abandoned")
    missed = has_sla & (broken | refused)
    censored = has_sla & ~missed & open_
    met = has_sla & ~missed & ~censored
    return Verdicts(met, missed, censored, met & undefined)


def _limit_columns(index: NDArray[np.int64], limits: list[Mapping[str, float] | None]) -> dict[str, Floats]:
    """The limit that holds for each request, by metric; NaN where there is none."""
    named: dict[str, Floats] = {}
    for k, given in enumerate(limits):
        for metric, limit in (given or {}).items():
            if metric not in METRICS:
                raise unknown_name("metric", metric, METRICS, of="an SLA")
            named.setdefault(metric, np.full(len(limits), np.nan))[k] = limit
    return {metric: by_class[index] for metric, by_class in named.items()}


def _so_far(metric: str, requests: pd.DataFrame, workload: Workload, until: float) -> Floats:
    """What has passed of a metric by `until`, for requests that do not have it yet; NaN if nothing has."""
    age: Floats = until - requests["arrival"].to_numpy()
    if metric == "normalised_latency":
        return age / workload.output_tokens
    if metric == "tpot":
        gaps = (workload.output_tokens - 1).astype(np.float64)
        gaps[gaps == 0] = np.nan
        since: Floats = (until - requests["first_token"].to_numpy()) / gaps
        return since
    return age
