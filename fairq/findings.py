"""What a study found, in sentences that can be quoted; every figure comes with its interval."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fairq.cost import resolve_clock
from fairq.load import step_ratio
from fairq.overload import overload_sentences
from fairq.provenance import origin
from fairq.statistics import Interval, paired_difference
from fairq.wording import estimate_text, metric, number_text, time_unit

if TYPE_CHECKING:
    from fairq.study import Study

__all__ = ["findings", "setting"]


def setting(study: Study) -> str:
    """One sentence on what was run.

    It names workers, batch size, requests, replications, seed and clock, with x where its steps depend on
    the longest request, so that a figure quoted from the report can be traced.
    """
    scenario, unit = study.scenario, time_unit(study.scenario.clock)
    workers, runs = scenario.pool.count, scenario.replications
    arrived = study.runs.groupby("replication")["arrived"].max()
    stopped = any(over.stopped_at for over in study.overloads.values())
    clock = "a step is the unit of time" if unit == "steps" else "time in seconds"
    return (
        f"{'Up to ' if stopped else ''}{number_text(float(arrived.mean()))} requests{origin(scenario)}"
        f"{' on average' if arrived.nunique() > 1 else ''} "
        f"on {_count(workers, 'worker')} with batches of at most {scenario.pool.slots}, "
        f"{_count(runs, 'replication')} (seed {scenario.seed}), {clock}{_weight(study)}."
    )


def _weight(study: Study) -> str:
    """How much the longest request adds to a step (`fairq.load.step_ratio`); nothing where steps are equal.

    E[o] is that of the runs that completed all, or else of the first replication's requests.
    """
    scenario = study.scenario
    law = resolve_clock(scenario.step_time(), scenario.cost.cost())
    if not isinstance(scenario.pool.workers, int) or law.tau == 0 or law.c == 0:
        return ""
    whole = study.runs[(study.runs["completed"] == study.runs["arrived"]) & (study.runs["arrived"] > 0)]
    if len(whole):
        mean = float(whole["tokens"].sum() / whole["completed"].sum())
    else:
        tokens = scenario.draw(0).tokens
        if len(tokens) == 0:
            return ""
        mean = float(tokens.mean())
    name = scenario.clock if isinstance(scenario.clock, str) else f"c = {law.c:g}, tau = {law.tau:g}"
    x = step_ratio(mean, batch_size=scenario.pool.slots, clock=law)
    return f"; clock {name}: x = tau·B·E[o]/c = {x:.2g}"


def findings(study: Study) -> list[str]:
    """The sentences, most general first; extremes are named with the runner-up they beat.

    Policies with unstable replications come before all, with their backlogs, and are not ranked.
    Two policies are compared within replications, on the same workloads; where the interval
    of their difference contains 0 the sentence says that the runs do not tell them apart.
    """
    ranked = [("throughput", True), ("profit", True), ("latency_mean", False), ("latency_p99", False)]
    sentences = overload_sentences(study) + [_ranking(study, name, largest) for name, largest in ranked]
    sentences += [_externality(study), _fairness(study), _completion(study)]
    return [sentence for sentence in sentences if sentence]


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def _by_mean(study: Study, name: str) -> list[tuple[int, Interval]]:
    """Cells with a value of `name`, smallest mean first; equal ones in the scenario's order.

    A policy that did not keep up is not among them: its means are those of a run of this length alone.
    """
    values = [(cell, study.intervals[cell, name]) for cell in study.labels if cell not in study.overloads]
    return sorted((pair for pair in values if not math.isnan(pair[1].mean)), key=lambda pair: pair[1].mean)


def _ranking(study: Study, name: str, largest: bool) -> str:
    """Best, runner-up and worst of one metric."""
    order = _by_mean(study, name)
    if not order:
        return ""
    described = metric(name, time_unit(study.scenario.clock))
    title = _spoken(described.title)
    if largest:
        order.sort(key=lambda pair: -pair[1].mean)
    (best, value), (worst, least) = order[0], order[-1]
    labels = study.labels
    if len(order) == 1 or value.mean == least.mean:
        who = labels[best] if len(order) == 1 else _everyone(study)
        return f"{title} is {estimate_text(value, described.unit)} under {who}."
    adjective = "highest" if largest else "lowest"
    sentence = f"{title} is {adjective} under {labels[best]}, {estimate_text(value, described.unit)}"
    if len(order) > 2:
        sentence += f", {_margin(study, name, best, order[1][0], 'above' if largest else 'below')}"
    other = "lowest" if largest else "highest"
    return f"{sentence}; it is {other} under {labels[worst]}, {estimate_text(least, described.unit)}."


def _everyone(study: Study) -> str:
    return "every policy that kept up" if study.overloads else "every policy"


def _spoken(title: str) -> str:
    """``Latency p99`` as one says it: ``p99 latency``."""
    family, space, part = title.partition(" ")
    family = family.lower() if space and family[1:].islower() else family
    spoken = f"{part} {family}" if space else title
    return spoken[0].upper() + spoken[1:] if part == "mean" else spoken


def _margin(study: Study, name: str, best: int, other: int, side: str) -> str:
    """How far the best is from the runner-up, with the interval of the paired difference."""
    difference, label = paired_difference(study.runs, name, best, other), study.labels[other]
    unit = metric(name, time_unit(study.scenario.clock)).unit
    if difference.mean == 0:
        return f"level with {label}"
    if difference.known and not difference.sign:
        return f"which these runs do not tell apart from {label}, the next"
    if difference.mean < 0:
        difference = Interval(-difference.mean, -difference.high, -difference.low, difference.n)
    return f"{estimate_text(difference, unit)} {side} {label}, the next"


def _externality(study: Study) -> str:
    """The share of the cost that batching together adds, least and most."""
    order = _by_mean(study, "cost_externality")
    if not order:
        return ""
    (least, low), (most, high) = order[0], order[-1]
    if low.mean == high.mean:
        return f"The batching externality costs {estimate_text(low, 'money')} under {_everyone(study)}."
    return (
        "The batching externality τE, what requests pay for longer ones beside them, costs "
        f"{estimate_text(low, 'money')} under {study.labels[least]} and {estimate_text(high, 'money')} under "
        f"{study.labels[most]}."
    )


def _fairness(study: Study) -> str:
    """Which policies ran steps beyond the alpha they were given."""
    counted = [(cell, study.intervals[cell, "violations"]) for cell in study.labels]
    counted = [pair for pair in counted if not math.isnan(pair[1].mean)]
    order = sorted((pair for pair in counted if pair[1].mean > 0), key=lambda pair: pair[1].mean)
    if not order:
        return "No step of a policy with an alpha had an extent beyond it." if counted else ""
    over = ", ".join(f"{study.labels[cell]} ({number_text(value.mean)} steps)" for cell, value in order)
    return f"Steps with an extent beyond alpha, on average per replication: {over}."


def _completion(study: Study) -> str:
    """Whether everything that arrived was served, and what it means for the quantiles if not."""
    parts = ["running_end", "queued_end", "rejected", "abandoned"]
    totals = study.runs[["arrived", "completed", *parts]].sum()
    arrived, completed = int(totals["arrived"]), int(totals["completed"])
    if not arrived:
        return "No request arrived in any run."
    if arrived == completed:
        return "Every request that arrived was completed, in every run."
    running, queued, *gone = (int(totals[name]) for name in parts)
    left = f" {gone[0]:,} were rejected and {gone[1]:,} gave up;" if any(gone) else ""
    return (
        f"Over all runs {completed:,} of {arrived:,} requests were completed, {running:,} "
        f"were in service and {queued:,} queued at the end;{left} latency and TPOT are those of "
        "the completed, and so too short."
    )
