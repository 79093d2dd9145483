"""Figures 5 and 6 of the paper from our runs, and Table 1 as a picture, ours beside the paper's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import seaborn as sns
from matplotlib.figure import Figure

from analysis.comparison import RIVALS, Comparison
from analysis.paper import BASELINE_C, TABLE_1, TABLE_1_COLUMNS, TABLE_2, Row
from fairq.figures import MARKERS
from fairq.statistics import Interval, mean_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["figure_5", "figure_6", "table_1_compared"]

PARTS = {"cost_intrinsic": "τQ", "cost_time": "cT", "cost_externality": "τE"}
POLICIES = ("fcfs", "ljf", *RIVALS)
COLOURS = dict(zip(POLICIES, sns.color_palette("colorblind"), strict=False))
GREY = "0.35"


def _panels(columns: int, width: float, height: float, rows: int = 1) -> tuple[Figure, list[Axes]]:
    with sns.axes_style("whitegrid"):
        figure = Figure(figsize=(width, height), layout="constrained")
        panels = list(np.ravel(figure.subplots(rows, columns)))
    for axes in panels:
        sns.despine(ax=axes)
    return figure, panels


def _label(row: Row) -> str:
    return row[0].upper() if row[1] is None else f"{row[0].upper()} {row[1]:g}"


def _shared_rows(comparison: Comparison) -> list[Row]:
    """Rows of Table 1 that the run has too."""
    return [row for row in TABLE_1 if row in comparison.cells]


def _printed(row: Row, metric: str) -> float:
    return TABLE_1[row][TABLE_1_COLUMNS.index(metric)]


def figure_5(comparison: Comparison) -> Figure:
    """Figure 5: cost decomposition, the paper's below ours, and the profit-throughput frontier of both."""
    figure, (bars, frontier) = _panels(2, 13, 6)
    _cost_bars(bars, comparison)
    _frontier(frontier, comparison)
    return figure


def _cost_bars(axes: Axes, comparison: Comparison) -> None:
    rows = _shared_rows(comparison)
    place = np.arange(len(rows), dtype=float)
    sides = (
        (-0.2, lambda row, part: comparison.mean(row, part).mean, 1.0, ""),
        (0.2, _printed, 0.45, ", paper"),
    )
    for shift, value, opacity, suffix in sides:
        base = np.zeros(len(rows))
        for (part, title), colour in zip(PARTS.items(), sns.color_palette("colorblind"), strict=False):
            width = np.array([value(row, part) for row in rows])
            axes.barh(
                place + shift,
                width,
                left=base,
                height=0.38,
                color=colour,
                alpha=opacity,
                label=title + suffix,
            )
            base += width
    axes.set_yticks(place, [_label(row) for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")
    axes.set(xlabel="cost (money)", title="Cost decomposition")
    axes.legend(fontsize=8, ncols=2)


def _frontier(axes: Axes, comparison: Comparison) -> None:
    for policy, marker in zip(POLICIES, MARKERS, strict=False):
        rows = [row for row in comparison.cells if row[0] == policy]
        across = [comparison.mean(row, "throughput") for row in rows]
        up = [comparison.mean(row, "profit") for row in rows]
        axes.errorbar(
            [value.mean for value in across],
            [value.mean for value in up],
            xerr=_reach(across),
            yerr=_reach(up),
            color=COLOURS[policy],
            marker=marker,
            elinewidth=0.6,
            linewidth=1.2,
            label=policy,
        )
    for policy, marker in zip(("fcfs", "ljf", "isjl"), MARKERS, strict=False):
        rows = [row for row in TABLE_1 if row[0] == policy]
        axes.plot(
            [_printed(row, "throughput") for row in rows],
            [_printed(row, "profit") for row in rows],
            color=COLOURS[policy],
            marker=marker,
            markerfacecolor="white",
            linestyle=":",
            label=f"{policy}, paper",
        )
    axes.set(xlabel="throughput (tokens/step)", ylabel="profit (money)", title="Profit and throughput")
    axes.legend(fontsize=8)


def _reach(values: list[Interval]) -> np.ndarray:
    return np.nan_to_num([value.half_width for value in values])


def figure_6(comparison: Comparison) -> Figure:
    """Figure 6: profit of ISJL less LJF's against the overhead c, Table 2's dotted; then free-ride's."""
    figure, panels = _panels(2, 13, 5.2)
    overhead = np.linspace(0, 0.05, 101)
    for axes, policy in zip(panels, ("isjl", "free-ride"), strict=True):
        alphas = [alpha for name, alpha in comparison.cells if name == policy and alpha is not None]
        palette = sns.color_palette("viridis", max(1, len(alphas)))
        for alpha, colour in zip(alphas, palette, strict=True):
            _difference_line(axes, comparison, (policy, alpha), overhead, colour)
            if policy == "isjl" and alpha in TABLE_2:
                saving, externality, _ = TABLE_2[alpha]
                axes.plot(overhead, overhead * saving - externality, color=colour, linestyle=":", linewidth=1)
        axes.axvline(BASELINE_C, color=GREY, linestyle="--", linewidth=1)
        axes.axhline(0, color=GREY, linewidth=0.8)
        dotted = "; dotted: the paper's Table 2" if policy == "isjl" else ""
        axes.set(xlabel="overhead c (money per step)", title=f"{policy} less LJF{dotted}")
        axes.set_ylabel("difference of profit (money)")
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, title="alpha", loc="outside right center", frameon=False)
    return figure


def _difference_line(
    axes: Axes, comparison: Comparison, row: Row, overhead: np.ndarray, colour: tuple[float, float, float]
) -> None:
    """c·(T of LJF less T) less tau·E over a grid of c, with the 95 % interval as a band."""
    columns = [comparison.paired(row, name) for name in ("busy_steps", "cost_externality")]
    saving, externality = (-column.to_numpy(dtype=float) for column in columns)
    points = [mean_interval(c * saving + externality) for c in overhead]
    axes.plot(overhead, [point.mean for point in points], color=colour, label=f"{row[1]:g}")
    axes.fill_between(
        overhead,
        [point.low for point in points],
        [point.high for point in points],
        color=colour,
        alpha=0.15,
        linewidth=0,
    )


def table_1_compared(comparison: Comparison) -> Figure:
    """Table 1 as a picture: ours with 95 % intervals, the paper's as crosses, where it has the row."""
    metrics = {
        "profit": "profit (money)",
        "throughput": "throughput (tokens/step)",
        "cost_externality": "τE (money)",
        "mean_extent": "mean extent (tokens)",
    }
    rows = list(comparison.cells)
    figure, panels = _panels(len(metrics), 15, 1.4 + 0.27 * len(rows))
    for axes, (metric, title) in zip(panels, metrics.items(), strict=True):
        values = [comparison.mean(row, metric) for row in rows]
        axes.errorbar(
            [value.mean for value in values],
            range(len(rows)),
            xerr=_reach(values),
            fmt="o",
            markersize=4,
            color=COLOURS["fcfs"],
            label="ours, 95 %",
        )
        shared = [(_printed(row, metric), place) for place, row in enumerate(rows) if row in TABLE_1]
        axes.plot(*zip(*shared, strict=True), "x", color=COLOURS["free-ride"], label="paper's Table 1")
        axes.set_yticks(
            range(len(rows)), [_label(row) for row in rows] if axes is panels[0] else [""] * len(rows)
        )
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xlabel(title)
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=2, frameon=False)
    return figure
