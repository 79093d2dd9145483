"""What the comparison with the paper comes to, in plain sentences, computed from its tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd

from analysis.comparison import Comparison
from analysis.paper import REPLICATIONS
from fairq.statistics import Interval
from fairq.wording import number_text, range_text

__all__ = ["details", "headlines"]

NAMES = {
    "profit": "profit",
    "cost": "cost",
    "cost_intrinsic": "τQ",
    "cost_time": "cT",
    "cost_externality": "τE",
    "throughput": "throughput",
    "gain": "gain over LJF",
    "mean_extent": "mean extent",
    "makespan": "makespan",
    "latency_mean": "mean completion time",
}

MEASURES = ("makespan", "cost_externality", "latency_mean")


def headlines(comparison: Comparison) -> list[str]:
    """What a reader in a hurry takes away, a sentence each."""
    return [*_benchmarks(comparison), *_isjl(comparison), *_better(comparison), *_verdicts(comparison)]


def details(comparison: Comparison) -> list[str]:
    """The figures behind the headlines: the rule, ISJL row by row, free-ride, break-even, the bound."""
    replications = comparison.study.scenario.replications
    rule = (
        f"Two means agree here if |ours - paper| ≤ 3·s·√(1/{replications} + 1/{REPLICATIONS}), "
        "s our standard deviation over replications."
    )
    return [
        rule,
        *_isjl_rows(comparison),
        *_undecided(comparison),
        *_break_even(comparison),
        *_reach(comparison),
    ]


def _compared(comparison: Comparison, policy: str) -> pd.DataFrame:
    table = comparison.table_1
    return table[(table["policy"] == policy) & table["agrees"].notna()]


def _benchmarks(comparison: Comparison) -> Iterable[str]:
    """Whether FCFS and LJF are the paper's."""
    for policy in ("fcfs", "ljf"):
        rows = _compared(comparison, policy)
        if rows.empty:
            continue
        apart = rows[rows["agrees"].eq(False)]
        if apart.empty:
            yield f"{policy.upper()}: all {len(rows)} figures of Table 1 agree with ours."
        else:
            yield f"{policy.upper()}: {_apart(apart)} of Table 1 do not agree with ours."


def _apart(rows: pd.DataFrame) -> str:
    """``throughput (ours 36.5, paper 46.99), ...``."""
    means = [number_text(row.mean, (row.ci_high - row.ci_low) / 2) for row in _rows(rows)]
    pairs = zip(_rows(rows), means, strict=True)
    return ", ".join(f"{NAMES[row.metric]} (ours {mean}, paper {row.paper:g})" for row, mean in pairs)


def _rows(table: pd.DataFrame) -> Iterator[Any]:
    """The rows of a table, its columns as attributes."""
    return iter(table.itertuples(index=False))


def _isjl(comparison: Comparison) -> Iterable[str]:
    """How many of ISJL's rows part from the paper's."""
    rows, apart = _compared(comparison, "isjl"), _isjl_apart(comparison)
    if not rows.empty:
        alphas = list(apart["alpha"].unique())
        total = rows["alpha"].nunique()
        where = f" (alpha {_listed(alphas)}): {len(apart)} of {len(rows)} figures." if alphas else "."
        yield f"ISJL: {len(alphas)} of {total} rows do not agree with Table 1 in at least one figure{where}"


def _isjl_apart(comparison: Comparison) -> pd.DataFrame:
    rows = _compared(comparison, "isjl")
    return rows[rows["agrees"].eq(False)]


def _isjl_rows(comparison: Comparison) -> Iterable[str]:
    """Where each of ISJL's rows parts from the paper's."""
    for alpha, rows in _isjl_apart(comparison).groupby("alpha"):
        yield f"ISJL at alpha {alpha:g}: apart are {_apart(rows)}."


def _signs(comparison: Comparison) -> dict[float, dict[str, int]]:
    """For each alpha on which of the three measures free-ride (−1) or ISJL (1) is lower, or neither (0)."""
    alphas = [alpha for policy, alpha in comparison.cells if policy == "isjl" and alpha is not None]
    return {
        alpha: {name: comparison.duel(name, alpha).sign for name in MEASURES}
        for alpha in alphas
        if ("free-ride", alpha) in comparison.cells
    }


def _better(comparison: Comparison) -> Iterable[str]:
    """Where free-ride beats ISJL on makespan, externality and mean completion at once."""
    better = [alpha for alpha, signs in _signs(comparison).items() if set(signs.values()) == {-1}]
    if better:
        yield (
            "free-ride, our variant, beats ISJL on makespan, externality and mean completion time together "
            f"at alpha {_listed(better)} (each paired 95 % interval lies below 0), which is not the paper's "
            "conclusion."
        )


def _undecided(comparison: Comparison) -> Iterable[str]:
    """The alphas at which neither of the two is better on all three."""
    for alpha, signs in _signs(comparison).items():
        if set(signs.values()) != {-1}:
            yield f"At alpha {alpha:g}, {_mixed(comparison, alpha, signs)}."


def _mixed(comparison: Comparison, alpha: float, signs: dict[str, int]) -> str:
    words = {-1: "free-ride is lower in", 1: "ISJL is lower in", 0: "the runs do not tell them apart in"}
    parts = []
    for sign, phrase in words.items():
        names = [name for name in signs if signs[name] == sign]
        if names:
            parts.append(f"{phrase} {' and '.join(_duel_text(comparison, name, alpha) for name in names)}")
    return "; ".join(parts)


def _duel_text(comparison: Comparison, metric: str, alpha: float) -> str:
    difference = comparison.duel(metric, alpha)
    size = abs(difference.mean)
    unit = "money" if metric.startswith("cost") else "steps"
    return f"{NAMES[metric]} (by {number_text(size, difference.half_width)} {unit})"


def _break_even(comparison: Comparison) -> Iterable[str]:
    """From which overhead per step each fair policy earns more than LJF."""
    for policy, rows in comparison.table_2.groupby("policy", sort=False):
        never = list(rows.loc[rows["break_even"].isna(), "alpha"])
        paid = rows[rows["break_even"].notna()]
        if never:
            alphas = _listed(never)
            yield f"{policy} saves no steps over LJF on average at alpha {alphas}: there no c makes it pay."
        if not paid.empty:
            texts = ", ".join(_threshold(row) for row in _rows(paid))
            yield f"{policy} earns more than LJF once c, in money per step, exceeds {texts}."


def _threshold(row: Any) -> str:
    interval = Interval(row.break_even, row.break_even_low, row.break_even_high, 2)
    text = number_text(interval.mean, interval.half_width)
    ends = f"95 %: {range_text(interval)}" if interval.known else "no interval: the saving is not told from 0"
    return f"{text} at alpha {row.alpha:g} ({ends})"


def _verdicts(comparison: Comparison) -> Iterable[str]:
    """Table 2's savings by verdict, in one sentence."""
    groups = comparison.reach.groupby("verdict", sort=False)["alpha"]
    texts = [f"{verdict} at alpha {_listed(list(alphas))}" for verdict, alphas in groups]
    listed = "; ".join(texts)
    yield f"By the lower bound on the makespan, the savings that Table 2 reports for ISJL are {listed}."


def _reach(comparison: Comparison) -> Iterable[str]:
    """Which of Table 2's savings the cohort bound rules out."""
    yield (
        "LJF's makespan less the lower bound is the most that any contiguous schedule within alpha can save "
        f"(whether one saves as much is another matter). Table 2's savings are means of {REPLICATIONS} "
        f"replications, so they are held against the mean room of groups of {REPLICATIONS}, drawn by lot "
        f"from {comparison.draws:,} replications beyond the study's own."
    )
    for row in _rows(comparison.reach):
        share = f"{100 * row.groups:.3g} % of groups have" if row.groups else "not one of the groups has"
        mean, largest = map(number_text, (row.room_mean, row.group_largest))
        yield (
            f"Alpha {row.alpha:g}: {row.verdict}. Table 2 reports {row.reported:g} steps saved; there is "
            f"room for {mean} on average and {largest} in the group with most; {share} room for as much."
        )


def _listed(alphas: list[float]) -> str:
    return ", ".join(f"{alpha:g}" for alpha in alphas)
