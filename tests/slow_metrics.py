"""The metrics of a run formed again, step by step and request by request, in plain loops.

Everything starts from the requests table: which requests a worker has in which of its steps follows
from `worker`, `start_step` and `progress` alone, the duration of a step from its batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import ceil, inf, isnan, nan
from typing import Any

import fairq


@dataclass
class Step:
    """One step of one worker: ids with the token index m that each works on, and how long it takes."""

    worker: int
    working: dict[int, int]
    duration: float

    @property
    def most(self) -> int:
        return max(self.working.values())

    @property
    def extent(self) -> int:
        return self.most - min(self.working.values())


def laws(run: fairq.Result) -> list[fairq.StepTime]:
    return [group.clock for group in run.groups for _ in range(group.count)]


def all_steps(run: fairq.Result) -> list[Step]:
    rows = [row for row in run.requests.to_dict("records") if row["worker"] >= 0]
    steps = []
    for worker, law in enumerate(laws(run)):
        own = [row for row in rows if row["worker"] == worker]
        last = max((row["start_step"] + row["progress"] for row in own), default=0)
        for k in range(last):
            working = {
                row["request"]: k - row["start_step"] + 1
                for row in own
                if row["start_step"] <= k < row["start_step"] + row["progress"]
            }
            if working:
                most = max(working.values())
                duration = law.c + law.b * len(working) + law.tau * len(working) * most
                steps.append(Step(worker, working, duration))
    return steps


def tokens_held(run: fairq.Result, request: int, done: int) -> int:
    """Prompt and output tokens that a request has processed after `done` steps."""
    work = run.workload
    steps, prompt = int(work.prompt_tokens[request]), int((work.billed_tokens - work.output_tokens)[request])
    return min(done * work.prompt_chunk, prompt) if done <= steps else prompt + done - steps


def held(run: fairq.Result, step: Step) -> int:
    return sum(tokens_held(run, request, m) for request, m in step.working.items())


def left_queue(run: fairq.Result, row: dict[str, Any]) -> float:
    if row["outcome"] == "rejected":
        return row["arrival"]
    if row["outcome"] == "abandoned":
        return row["arrival"] + run.abandon_after
    return row["start"] if row["worker"] >= 0 else inf


def left_system(run: fairq.Result, row: dict[str, Any]) -> float:
    if row["worker"] < 0:
        return left_queue(run, row)
    return row["finish"] if row["completed"] else inf


def period(run: fairq.Result) -> tuple[float, float]:
    rows = run.requests.to_dict("records")
    end = run.horizon
    if end is None:
        end = max((row["finish"] for row in rows if row["completed"]), default=nan)
    return min((row["arrival"] for row in rows), default=nan), end


def mean_number(run: fairq.Result, begin: float, end: float, left: Any) -> float:
    """Requests that have arrived and not left, averaged from `begin` to `end`, interval by interval."""
    rows = run.requests.to_dict("records")
    spans = [(row["arrival"], left(run, row)) for row in rows]
    moments = sorted({begin, end, *(t for span in spans for t in span if begin < t < end)})
    total = 0.0
    for t, later in pairwise(moments):
        total += (later - t) * sum(came <= t < gone for came, gone in spans)
    return total / (end - begin)


def quantile(values: list[float], level: float) -> float:
    known = sorted(value for value in values if not isnan(value))
    return known[max(ceil(len(known) * level - 1e-9), 1) - 1] if known else nan


def mean(values: list[float]) -> float:
    known = [value for value in values if not isnan(value)]
    return sum(known) / len(known) if known else nan


def slowdowns(run: fairq.Result) -> list[float]:
    found = []
    for row in run.requests.to_dict("records"):
        law = laws(run)[row["worker"]]
        alone = sum(law.c + law.b + law.tau * m for m in range(1, row["tokens"] + 1))
        found.append(row["latency"] / alone if row["completed"] else nan)
    return found


def ages(run: fairq.Result) -> list[float]:
    """Age at leaving the queue, or at the run's end; NaN for who had not arrived."""
    end = inf if run.horizon is None else run.horizon
    return [
        min(left_queue(run, row), end) - row["arrival"] if row["arrival"] <= end else nan
        for row in run.requests.to_dict("records")
    ]


def subsidy(run: fairq.Result, group: list[int], count: int) -> list[list[float]]:
    matrix = [[0.0] * count for _ in range(count)]
    for step in all_steps(run):
        causers = [i for i, m in step.working.items() if m == step.most]
        for payer, m in step.working.items():
            for causer in causers:
                matrix[group[payer]][group[causer]] += (step.most - m) / len(causers)
    return matrix


def costs(run: fairq.Result) -> list[float]:
    """Money that each request is charged: its own tokens, its part of c, the externality it causes."""
    charged = [0.0] * len(run.workload)
    for step in all_steps(run):
        causers = [i for i, m in step.working.items() if m == step.most]
        for request, m in step.working.items():
            charged[request] += run.cost.tau * m + run.cost.c / len(step.working)
        for causer in causers:
            paid = sum(step.most - m for m in step.working.values())
            charged[causer] += run.cost.tau * paid / len(causers)
    return charged


def verdict(run: fairq.Result, row: dict[str, Any], limits: dict[str, float]) -> str:
    """ "met", "missed" or "open", from a request's own row."""
    if row["outcome"] in ("rejected", "abandoned"):
        return "missed"
    output = int(run.workload.output_tokens[row["request"]])
    values = row | {"normalised_latency": row["latency"] / output}
    open_ = False
    for metric, limit in limits.items():
        value = values[metric]
        if isnan(value) and not row["completed"]:
            so_far = run.horizon - row["arrival"]
            if metric == "normalised_latency":
                so_far /= output
            if metric == "tpot":
                so_far = (run.horizon - row["first_token"]) / (output - 1) if output > 1 else nan
            if so_far > limit:
                return "missed"
            open_ = True
        elif value > limit:
            return "missed"
    return "open" if open_ else "met"
