"""How policies, numbers, intervals and units are put in words, the same in every output."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fairq.statistics import Interval

__all__ = [
    "Metric",
    "cell_label",
    "estimate_text",
    "interval_text",
    "metric",
    "number_text",
    "range_text",
    "time_unit",
]

_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Metric:
    """A name of the summary with its title for people and its unit."""

    name: str
    title: str
    unit: str


_TITLES = {
    "arrived": ("Requests arrived", "requests"),
    "completed_share": ("Completed", "% of arrived"),
    "makespan": ("Makespan", "{time}"),
    "throughput": ("Throughput", "tokens/{one}"),
    "utilisation": ("Slots used", "share"),
    "cost": ("Cost", "money"),
    "cost_intrinsic": ("τQ", "money"),
    "cost_time": ("cT", "money"),
    "cost_externality": ("τE", "money"),
    "cost_workers": ("Workers", "money"),
    "revenue": ("Revenue", "money"),
    "profit": ("Profit", "money"),
    "mean_extent": ("Mean extent", "tokens"),
    "max_extent": ("Largest extent", "tokens"),
    "violations": ("Steps over alpha", "steps"),
    "jain_slowdown": ("Jain index of slowdown", "1 is even"),
    "mean_queue": ("Queue, mean", "requests"),
    "oldest_age": ("Oldest age", "{time}"),
    "kv_peak": ("KV peak", "tokens"),
    "kv_mean": ("KV mean", "tokens"),
    "attainment": ("SLA met", "share"),
    "goodput": ("Goodput", "requests/{one}"),
    "sla_censored": ("SLA open", "requests"),
    "profit_per_million": ("Profit per million", "money/M tokens"),
}
_TIMES = {
    "latency": ("Latency", "{time}"),
    "wait": ("Wait", "{time}"),
    "ttft": ("TTFT", "{time}"),
    "tpot": ("TPOT", "{time}/token"),
}


def time_unit(clock: Any) -> str:
    """The unit of time of a run: steps on the token clock, seconds on every other.

    >>> time_unit("token"), time_unit("cost")
    ('steps', 's')
    """
    return "steps" if clock == "token" else "s"


def metric(name: str, unit: str) -> Metric:
    """Title and unit of a summary name, where time is counted in `unit` (``"steps"`` or ``"s"``).

    >>> metric("throughput", "steps").unit, metric("ttft_p99", "s").title
    ('tokens/step', 'TTFT p99')
    """
    words = {"time": unit, "one": "step" if unit == "steps" else unit}
    title, template = _TITLES.get(name, ("", ""))
    if not title:
        family, _, part = name.rpartition("_")
        title, template = _TIMES[family]
        title = f"{title} {part}"
    return Metric(name, title, template.format(**words))


def cell_label(policy: str, parameters: Mapping[str, Any]) -> str:
    """A cell's name for people.

    >>> cell_label("isjl", {"alpha": 50.0, "pack_order": "descending"})
    'isjl (alpha 50, pack_order descending)'
    """
    given = [f"{name} {_value_text(value)}" for name, value in parameters.items()]
    return f"{policy} ({', '.join(given)})" if given else policy


def _value_text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def number_text(value: float, half_width: float = math.nan) -> str:
    """A number with the digits it deserves: two of its half-width, or four of its own.

    >>> number_text(2541.7), number_text(2541.7, 27.3), number_text(0.0123456, 0.00021), number_text(3e-9)
    ('2,542', '2,542', '0.01235', '3.000e-09')
    """
    if not math.isfinite(value):
        return "n/a" if math.isnan(value) else str(value)
    known = half_width > _ROUNDING * abs(value)
    if value and max(abs(value), half_width if known else 0.0) < 1e-4:
        return f"{value:.3e}"
    scale = half_width if known else (abs(value) * 1e-2 if value else 1.0)
    decimals = min(8, max(0, 1 - math.floor(math.log10(scale))))
    if not known and float(value).is_integer():
        decimals = 0
    return f"{round(value, decimals) + 0.0:,.{decimals}f}"  # + 0.0: no minus before a rounded zero


def range_text(interval: Interval) -> str:
    """An interval's ends, ``2,515 to 2,569``; empty where there is none, or no spread.

    >>> range_text(Interval(2542.0, 2515.0, 2569.0, 20)), range_text(Interval(1.0, math.nan, math.nan, 1))
    ('2,515 to 2,569', '')
    """
    width = interval.half_width
    if not _spreads(interval):
        return ""
    return f"{number_text(interval.low, width)} to {number_text(interval.high, width)}"


def interval_text(interval: Interval) -> str:
    """An estimate with half its interval's length, ``2,542 ± 27``; the number alone without one.

    >>> interval_text(Interval(2542.0, 2515.0, 2569.0, 20))
    '2,542 ± 27'
    """
    width = interval.half_width
    text = number_text(interval.mean, width)
    return f"{text} ± {number_text(width, width)}" if _spreads(interval) else text


def estimate_text(interval: Interval, unit: str) -> str:
    """An estimate in a sentence, with its unit and the ends of its interval if it has one.

    >>> estimate_text(Interval(41.2345, 40.9, 41.6, 5), "tokens/step")
    '41.23 tokens/step (95 %: 40.90 to 41.60)'
    """
    text, ends = f"{number_text(interval.mean, interval.half_width)} {unit}", range_text(interval)
    return f"{text} (95 %: {ends})" if ends else text


def _spreads(interval: Interval) -> bool:
    """Whether there is an interval, and more to it than the rounding of a mean."""
    return interval.half_width > _ROUNDING * abs(interval.mean)
