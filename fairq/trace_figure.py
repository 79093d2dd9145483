"""A trace in four pictures: its rate over time, its gaps, its lengths, prompt against output."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import seaborn as sns
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from fairq.workload import Workload

__all__ = ["trace_figure"]

_POINTS = 20_000  # drawn of a longer trace, evenly spaced: more are not seen
_BARS = 120
_DRAWABLE = (1e-200, 1e200)  # beyond it the scales of a figure are no floats


def trace_figure(workload: Workload) -> Figure:
    """The figure; the pictures that a trace has no data for say so."""
    with sns.axes_style("whitegrid"):
        figure = Figure(figsize=(10, 7), layout="constrained")
        axes = figure.subplots(2, 2)
    unit = workload.time_unit or "unit of time"
    arrival = np.sort(workload.arrival)
    spread = len(arrival) > 1 and bool(arrival[-1] > arrival[0])
    if spread and not _DRAWABLE[0] < arrival[-1] - arrival[0] < _DRAWABLE[1]:
        for ax in axes[0]:
            _nothing(ax, f"a span of {arrival[-1] - arrival[0]:g} {unit}, which cannot be drawn")
    else:
        _rate(axes[0, 0], arrival, unit) if spread else _nothing(axes[0, 0], "all arrive at one time")
        _gaps(axes[0, 1], np.diff(arrival), unit) if spread else _nothing(axes[0, 1], "no gaps")
    split = bool(workload.prompt_tokens.any())
    _lengths(axes[1, 0], workload, split=split)
    _scatter(axes[1, 1], workload) if split else _nothing(axes[1, 1], "no split of prompt and output")
    for ax in axes.flat:
        sns.despine(ax=ax)
    return figure


def _nothing(ax: Axes, text: str) -> None:
    ax.set_axis_off()
    ax.text(0.5, 0.5, text, ha="center", va="center", transform=ax.transAxes)


def _rate(ax: Axes, arrival: NDArray[np.float64], unit: str) -> None:
    counts, edges = np.histogram(arrival, bins=min(_BARS, max(10, len(arrival) // 5)))
    ax.stairs(counts / np.diff(edges), edges, color=sns.color_palette("colorblind")[0])
    ax.axhline((len(arrival) - 1) / (arrival[-1] - arrival[0]), color="0.3", linestyle=":", label="mean")
    ax.set(title="Arrivals over time", xlabel=f"arrival ({unit})", ylabel=f"requests per {unit}")
    ax.set_ylim(bottom=0)
    ax.legend(frameon=False)


def _gaps(ax: Axes, gaps: NDArray[np.float64], unit: str) -> None:
    """How many gaps exceed a length, beside an exponential law of the same mean, which is Poisson."""
    ordered, colours = _thinned(np.sort(gaps)), sns.color_palette("colorblind")
    shown = np.linspace(0, ordered[-1], 400)
    ax.step(ordered, 1 - np.arange(len(ordered)) / len(ordered), color=colours[0], label="gaps")
    ax.plot(shown, np.exp(-shown / gaps.mean()), color="0.3", linestyle=":", label="Poisson, same rate")
    ax.set(title="Gaps between arrivals", xlabel=f"gap ({unit})", ylabel="share longer", yscale="log")
    ax.set_ylim(bottom=max(0.5 / len(gaps), 1e-7), top=1.5)
    ax.legend(frameon=False)


def _lengths(ax: Axes, workload: Workload, *, split: bool) -> None:
    """Distribution functions on a logarithmic axis."""
    prompt = workload.billed_tokens - workload.output_tokens
    parts = {"prompt": prompt, "output": workload.output_tokens} if split else {}
    parts |= {"total": workload.billed_tokens}
    for (name, values), colour in zip(parts.items(), sns.color_palette("colorblind")[1:], strict=False):
        ordered = _thinned(np.sort(values))
        ax.step(
            np.maximum(ordered, 0.5), np.arange(1, len(ordered) + 1) / len(ordered), color=colour, label=name
        )
    ax.set(title="Lengths", xlabel="tokens", ylabel="share at most so long", xscale="log")
    ax.legend(frameon=False)


def _scatter(ax: Axes, workload: Workload) -> None:
    prompt = _thinned(workload.billed_tokens - workload.output_tokens)
    output = _thinned(workload.output_tokens)
    colour = sns.color_palette("colorblind")[0]
    ax.scatter(np.maximum(prompt, 0.5), output, s=4, alpha=0.25, linewidths=0, color=colour)
    ax.set(title="Output against prompt", xlabel="prompt tokens", ylabel="output tokens")
    ax.set(xscale="log", yscale="log")


def _thinned(values: NDArray[np.float64] | NDArray[np.int64]) -> NDArray[np.float64]:
    """At most so many of the values as are worth drawing, evenly spaced, first and last among them."""
    places = np.linspace(0, len(values) - 1, min(len(values), _POINTS)).round().astype(np.int64)
    return np.asarray(values[places], dtype=np.float64)
