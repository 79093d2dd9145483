"""The description of a trace as a page of text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairq.errors import one_line
from fairq.report import aligned
from fairq.source import amount, counted

__all__ = ["client_text", "description_text"]

_SHOWN = ("p1", "p10", "p50", "p90", "p95", "p99")


def description_text(description: Mapping[str, Any]) -> str:
    """The page for what `fairq.description.describe` found."""
    unit = description["time_unit"] or "of time"
    parts = [_source(description["source"])] if description["source"] else []
    arrivals = description["arrivals"]
    count = counted(description["requests"], "request")
    parts.append(f"{count}, all at one time" if arrivals is None else _arrivals(arrivals, count, unit))
    if arrivals and arrivals["dispersion"]:
        parts.append(_dispersion(arrivals["dispersion"], unit))
    parts.append(_lengths(description["lengths"], description["correlation"]))
    if description["labels"]:
        shares = ", ".join(f"{one_line(name) or '(none)'} {n:,}" for name, n in description["labels"].items())
        parts.append(f"Labels: {shares}")
    return "\n\n".join(parts)


def _source(source: Mapping[str, Any]) -> str:
    lines = [f"{one_line(source['file'])}, read as {source['format']}"]
    lines += [f"  {ours} = {theirs!r}" for ours, theirs in source["mapping"].items()]
    lines += [f"  {source['times']}", f"  {source['used']:,} of {counted(source['rows'], 'row')} used"]
    lines += [f"  {counted(count, 'row')} dropped: {reason}" for reason, count in source["dropped"].items()]
    if source["kept"]:
        lines.append(f"  {counted(source['kept'], 'row')} without output tokens kept as one token")
    if source["out_of_order"]:
        lines.append(f"  {counted(source['out_of_order'], 'row')} out of order, sorted by arrival")
    texts = (*source["notices"], *source["repairs"], *source["made"])
    return "\n".join([*lines, *(f"  {one_line(text)}" for text in texts)])


def _arrivals(arrivals: Mapping[str, Any], count: str, unit: str) -> str:
    cv = "not defined" if arrivals["cv"] is None else f"{arrivals['cv']:.4f}"
    rate = "not defined" if arrivals["rate"] is None else f"{arrivals['rate']:.6g}"
    rows = [
        ("span", f"{_time(arrivals['span'])} {unit}"),
        ("rate", f"{rate} per {'unit ' if unit == 'of time' else ''}{unit}"),
        ("mean gap", f"{arrivals['mean_gap']:.6g} {unit}"),
        ("CV of gaps", f"{cv} (1: Poisson)"),
        ("largest gap", f"{_time(arrivals['largest_gap'])} {unit}"),
        ("ties", f"{arrivals['ties']:,}"),
        ("out of order", f"{arrivals['out_of_order']:,}"),
    ]
    return "\n".join([f"Arrivals: {count}", *(f"  {name:<13} {text}" for name, text in rows)])


def _time(value: float) -> str:
    """Thousandths, unless the number is so large or small that they say nothing."""
    return f"{value:,.3f}" if value == 0 or 1e-3 <= value < 1e15 else f"{value:g}"


def _dispersion(figures: list[dict[str, Any]], unit: str) -> str:
    rows = [["window", "windows", "mean", "variance/mean", "least", "most"]]
    rows += [
        [
            f"{figure['window']:g} {unit}",
            f"{figure['windows']:,}",
            f"{figure['mean']:.4g}",
            f"{figure['index']:.3f}",
            str(figure["least"]),
            str(figure["most"]),
        ]
        for figure in figures
    ]
    head = "Arrivals counted by window (whole windows; variance/mean is 1 for a Poisson process)"
    return f"{head}\n{aligned(rows)}"


def _lengths(lengths: Mapping[str, Any], correlation: float | None) -> str:
    rows = [["tokens", "mean", "variance", "min", *_SHOWN, "max"]]
    for name, figures in lengths.items():
        variance = "-" if figures["variance"] is None else f"{figures['variance']:.1f}"
        quantiles = [str(figures["quantiles"][p]) for p in _SHOWN]
        rows.append(
            [name, f"{figures['mean']:.2f}", variance, str(figures["min"]), *quantiles, str(figures["max"])]
        )
    lines = [aligned(rows)]
    if correlation is not None:
        lines.append(f"Correlation of prompt and output: {correlation:.3f}")
    for name, figures in lengths.items():
        if figures["fit"] is not None:
            lines.append(f"Nearest law, {name}: {_law(figures['fit'])}")
    return "\n".join(lines)


def _law(fit: Mapping[str, Any]) -> str:
    """As a scenario writes it, with its distance."""
    parameters = [f"{name} = {value:.6g}" for name, value in fit.items() if name not in ("dist", "distance")]
    inside = ", ".join([f'dist = "{fit["dist"]}"', *parameters])
    return f"{{ {inside} }}, largest difference of the distribution functions {fit['distance']:.3f}"


def client_text(description: Mapping[str, Any]) -> str:
    """The page for what `fairq.servegen.describe_client` found."""
    rows = [
        ("windows", f"{description['windows']:,}, {description['active']:,} of them active"),
        ("time", f"from {amount(description['start'])} s to {amount(description['end'])} s"),
        ("mean rate when active", f"{description['mean_rate_active']:.2f} per s"),
        ("mean rate", f"{description['mean_rate']:.2f} per s, idle time included"),
        ("largest rate", f"{description['largest_rate']:.2f} per s"),
        ("CV of gaps", f"{description['cv']:.2f}, weighted by rate"),
        ("mean input", _mean(description["mean_input"])),
        ("mean output", _mean(description["mean_output"])),
        ("families", ", ".join(f"{name} {n:,}" for name, n in description["families"].items())),
        ("fit off by over 10 %", f"{description['fit_misses_rate']:,} windows, whose rate is kept"),
    ]
    head = f"{one_line(description['file'])}: a ServeGen client, a law of requests and not requests"
    return "\n".join([head, *(f"  {name:<22} {text}" for name, text in rows)])


def _mean(tokens: float | None) -> str:
    return "not known: every length table is empty" if tokens is None else f"{tokens:.1f} tokens"
