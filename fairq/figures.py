"""The figures of a report, drawn with seaborn in colours that colour-blind readers tell apart.

Nothing here needs a display: the figures are matplotlib's `Figure` objects, never pyplot's.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import seaborn as sns
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from fairq.statistics import Interval
from fairq.wording import metric, time_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fairq.study import Study

__all__ = [
    "Picture",
    "as_picture",
    "as_png",
    "cost_decomposition",
    "latency_quantiles",
    "profit_throughput",
    "study_pictures",
]

_UNDATED: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Producer": None},
    "svg": {"Date": None},
}
MARKERS = "oXsDP^v*<>"
QUANTILES = ("p50", "p90", "p95", "p99")


@dataclass(frozen=True)
class Picture:
    """A figure with what a reader who cannot see it needs.

    Attributes:
        name: file name without ending.
        title: caption.
        alt: what it shows, for the alternative text.
        figure: the figure itself.
    """

    name: str
    title: str
    alt: str
    figure: Figure


def study_pictures(study: Study) -> list[Picture]:
    """Every figure of a study's report: cost decomposition, frontier, latency quantiles."""
    bars = " Bars: 95 % intervals over replications." if study.scenario.replications > 1 else ""
    policies = ", ".join(study.labels.values())
    marked = ", ".join(study.labels[cell] for cell in study.overloads)
    bars += f" Unstable (*), no steady state: {marked}." if marked else ""
    return [
        Picture(
            "cost",
            f"Cost decomposition: C = τQ + cT + τE.{bars}",
            f"Stacked bars of τQ, cT and τE in money for {policies}; the figures are in the table Money.",
            cost_decomposition(study),
        ),
        Picture(
            "frontier",
            f"Profit against throughput; a line joins the values of alpha.{bars}",
            f"Profit in money against throughput for {policies}; the figures are in the tables.",
            profit_throughput(study),
        ),
        Picture(
            "latency",
            f"Quantiles of the latency of completed requests.{bars}",
            f"Latency quantiles {', '.join(QUANTILES)} for {policies}; the figures are in the table Latency.",
            latency_quantiles(study),
        ),
    ]


def as_png(figure: Figure, dpi: int = 110) -> bytes:
    """The figure as a PNG file whose bytes depend on nothing but the figure."""
    return as_picture(figure, "png", dpi)


def as_picture(figure: Figure, kind: str, dpi: int = 110) -> bytes:
    """The figure as a file of the `kind` png, pdf or svg; the bytes depend on nothing but the figure."""
    FigureCanvasAgg(figure)
    buffer = io.BytesIO()
    with rc_context({"svg.hashsalt": "fairq"}):
        figure.savefig(buffer, format=kind, dpi=dpi, metadata=_UNDATED[kind])
    return buffer.getvalue()


def new_axes(width: float, height: float) -> tuple[Figure, Axes]:
    """A figure of one plot in the style of all of ours; width and height in inches."""
    with sns.axes_style("whitegrid"):
        figure = Figure(figsize=(width, height), layout="constrained")
        axes = figure.add_subplot()
    sns.despine(ax=axes)
    return figure, axes


def _row_axes(study: Study) -> tuple[Figure, Axes]:
    """A plot with a row per cell, the first on top."""
    rows = len(study.labels)
    figure, axes = new_axes(8, 1.6 + 0.32 * rows)
    axes.set_yticks(
        range(rows), [f"{label}*" if study.mark(cell) else label for cell, label in study.labels.items()]
    )
    axes.set_ylim(rows - 0.4, -0.6)
    axes.grid(visible=False, axis="y")
    return figure, axes


def _column(study: Study, name: str) -> list[Interval]:
    return [study.intervals[cell, name] for cell in study.labels]


def _reach(values: list[Interval]) -> np.ndarray:
    """Lengths of the error bars, 0 where there is no interval."""
    return np.nan_to_num([value.half_width for value in values])


def cost_decomposition(study: Study) -> Figure:
    """Stacked bars of the parts of the cost, a row per cell; a bar on the total's interval."""
    figure, axes = _row_axes(study)
    rows, base = np.arange(len(study.labels)), np.zeros(len(study.labels))
    names = ["cost_intrinsic", "cost_time", "cost_externality"]
    for name, colour in zip(names, sns.color_palette("colorblind"), strict=False):
        width = np.nan_to_num([value.mean for value in _column(study, name)])
        axes.barh(rows, width, left=base, height=0.7, color=colour, label=metric(name, "s").title)
        base += width
    total = _column(study, "cost")
    axes.errorbar(
        [value.mean for value in total], rows, xerr=_reach(total), fmt="none", ecolor="black", elinewidth=1
    )
    axes.set_xlabel("cost (money)")
    figure.legend(loc="outside upper center", ncols=3, frameon=False)
    return figure


def profit_throughput(study: Study) -> Figure:
    """Profit against throughput, a colour and marker per policy, its cells joined in order of alpha."""
    figure, axes = new_axes(8, 5)
    throughput, profit = _column(study, "throughput"), _column(study, "profit")
    policies = list(dict.fromkeys(cell.policy for cell in study.cells))
    palette = sns.color_palette("colorblind", len(policies))
    for which, (policy, colour) in enumerate(zip(policies, palette, strict=True)):
        index = [place for place, cell in enumerate(study.cells) if cell.policy == policy]
        x, y = [throughput[place] for place in index], [profit[place] for place in index]
        axes.errorbar(
            [value.mean for value in x],
            [value.mean for value in y],
            xerr=_reach(x),
            yerr=_reach(y),
            color=colour,
            marker=MARKERS[which % len(MARKERS)],
            elinewidth=0.6,
            linewidth=1.2,
            label=policy,
        )
        for place, across, up in zip(index, x, y, strict=True):
            _name_alpha(axes, study.cells[place].parameters.get("alpha"), across.mean, up.mean)
    axes.set_xlabel(f"throughput ({metric('throughput', time_unit(study.scenario.clock)).unit})")
    axes.set_ylabel("profit (money)")
    figure.legend(loc="outside upper center", ncols=min(5, len(policies)), frameon=False)
    return figure


def _name_alpha(axes: Axes, alpha: float | None, x: float, y: float) -> None:
    if alpha is not None and np.isfinite([x, y]).all():
        axes.annotate(f"{alpha:g}", (x, y), xytext=(4, 4), textcoords="offset points", fontsize=7)


def latency_quantiles(study: Study) -> Figure:
    """A row per cell, a mark per quantile of latency, with its interval."""
    figure, axes = _row_axes(study)
    rows = np.arange(len(study.labels))
    palette = sns.color_palette("colorblind", len(QUANTILES))
    for quantile, colour, marker in zip(QUANTILES, palette, MARKERS, strict=False):
        values = _column(study, f"latency_{quantile}")
        axes.errorbar(
            [value.mean for value in values],
            rows,
            xerr=_reach(values),
            fmt=marker,
            color=colour,
            elinewidth=1.2,
            markersize=5,
            label=quantile,
        )
    axes.set_xlim(left=0)
    axes.set_xlabel(f"latency ({time_unit(study.scenario.clock)})")
    figure.legend(loc="outside upper center", ncols=len(QUANTILES), frameon=False)
    return figure
