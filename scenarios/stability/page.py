"""The page of the study: sentences, pictures, tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import jinja2
import seaborn as sns
from cells import Cell, Found, Settings, save_found
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sentences import Crossing, crossing, curve, headlines, interval, leaders, pooling, turn

from fairq import PRESETS
from fairq.figures import MARKERS, Picture, as_png
from fairq.policy import POLICIES
from fairq.report import environment, image_entry
from fairq.rundir import written_whole

__all__ = ["pictures", "write_page"]

GREY = "0.35"
PAGE = "stability.html"


def write_page(settings: Settings, found: Mapping[Cell, Found], out: Path) -> Path:
    """Write page, pictures and table into `out`, whole or not at all; return the page's path."""
    drawn = [(picture, as_png(picture.figure)) for picture in pictures(found)]
    ours = environment()
    ours.globals["interval"] = interval
    loader = jinja2.ChoiceLoader(
        [jinja2.FileSystemLoader(Path(__file__).parent), *filter(None, [ours.loader])]
    )
    html = (
        ours.overlay(loader=loader)
        .get_template("page.html.j2")
        .render(
            title="How much load each policy keeps up with",
            sentences=headlines(found),
            pooling=pooling(found),
            figures=[image_entry(picture, image, f"{picture.name}.png") for picture, image in drawn],
            settings=settings,
            region=_region_rows(found),
            workers=sorted({cell.workers for cell in found if cell.part == "region"}),
            map=_map_rows(found),
            most=_most_row(found),
            xs=_xs(found),
            policies=[POLICIES[name] for name in dict.fromkeys(cell.policy for cell in found)],
            open_ended=sum(one.open for one in found.values()),
            searches=len(found),
            presets=PRESETS.values(),
        )
    )
    with written_whole(out, replace=True) as fresh:
        for picture, image in drawn:
            (fresh / f"{picture.name}.png").write_bytes(image)
        save_found(fresh / "stability.csv", dict(found))
        (fresh / PAGE).write_text(html, encoding="utf-8", newline="\n")
    return out / PAGE


def _labels(found: Mapping[Cell, Found], part: str) -> list[str]:
    return list(dict.fromkeys(cell.label for cell in found if cell.part == part))


def _xs(found: Mapping[Cell, Found]) -> list[float]:
    return sorted({cell.x for cell in found if cell.part == "map"})


def _region_rows(found: Mapping[Cell, Found]) -> list[tuple[str, str, list[Found]]]:
    rows = []
    for label in _labels(found, "region"):
        mine = sorted(
            (one for cell, one in found.items() if cell.part == "region" and cell.label == label),
            key=lambda one: one.cell.workers,
        )
        backlog = next((f"{one.backlog:.3f}" for one in mine if one.backlog is not None), "")
        rows.append((label, backlog, mine))
    return rows


def _map_rows(found: Mapping[Cell, Found]) -> list[tuple[str, list[Found | None]]]:
    rows = []
    for label in _labels(found, "map"):
        by_x = {one.cell.x: one for one in curve(found, label)}
        rows.append((label, [by_x.get(x) for x in _xs(found)]))
    return rows


def _most_row(found: Mapping[Cell, Found]) -> list[str]:
    """Who may carry most at each x."""
    most = leaders(found)
    return [" or ".join(one.cell.label for one in most.get(x, [])) for x in _xs(found)]


def pictures(found: Mapping[Cell, Found]) -> list[Picture]:
    """The region by policy and pool, and the map over x."""
    return [
        Picture(
            "region",
            "Largest stable load on the token clock: bars are the intervals of the search, by number of "
            "workers. Hollow squares: the load at which a backlog is worked off.",
            "Intervals of the largest stable load for each policy and pool; the figures are in the table.",
            region_picture(found),
        ),
        Picture(
            "map",
            "Largest stable token rate, over B tokens per c of time, and the same relative to first come "
            "first served, against x = tau·B·E[o]/c. Bands: intervals of the search. Dashed: where another "
            "policy takes the lead, and where ISJL overtakes first come first served; grey: between what is "
            "sure. Dotted: x of the presets.",
            "Largest stable token rate of each policy against x; the figures are in the table.",
            map_picture(found),
        ),
    ]


def region_picture(found: Mapping[Cell, Found]) -> Figure:
    """A row a policy, an interval a pool."""
    labels = _labels(found, "region")
    sizes = sorted({cell.workers for cell in found if cell.part == "region"})
    with sns.axes_style("whitegrid"):
        figure = Figure(figsize=(9, 1.2 + 0.5 * len(labels)), layout="constrained")
        axes = figure.add_subplot()
    for k, (size, colour) in enumerate(zip(sizes, sns.color_palette("colorblind"), strict=False)):
        shift = 0.22 * (k - (len(sizes) - 1) / 2)
        for row, label in enumerate(labels):
            one = next(
                one
                for cell, one in found.items()
                if cell.part == "region" and cell.label == label and cell.workers == size
            )
            axes.plot(
                [one.rate_low, one.rate_high], [row + shift] * 2, color=colour, linewidth=4,
                solid_capstyle="butt", label=f"G = {size}" if row == 0 else None,
            )  # fmt: skip
            if one.backlog is not None:
                axes.plot(
                    one.backlog, row, "s", color=GREY, markerfacecolor="none",
                    label="backlog" if row == len(labels) - 1 else None,
                )  # fmt: skip
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.set_xlim(0, 1.03)
    axes.set_xlabel("load: tokens arriving per step, over B·G")
    handles, names = axes.get_legend_handles_labels()
    order = sorted(range(len(names)), key=lambda k: names[k] == "backlog")
    axes.legend([handles[k] for k in order], [names[k] for k in order], loc="lower left", fontsize=8)
    sns.despine(ax=axes)
    return figure


def map_picture(found: Mapping[Cell, Found]) -> Figure:
    """Capacity against x, and its ratio to that of first come first served."""
    with sns.axes_style("whitegrid"):
        figure = Figure(figsize=(12, 6), layout="constrained")
        left, right = figure.subplots(1, 2)
    first = {one.cell.x: one for one in curve(found, "fcfs")}
    lines = [curve(found, label) for label in _labels(found, "map")]
    for mine, colour, marker in zip(lines, sns.color_palette("colorblind"), MARKERS, strict=False):
        xs = [one.cell.x for one in mine]
        low, high = [one.rate_low for one in mine], [one.rate_high for one in mine]
        left.plot(xs, [one.middle for one in mine], color=colour, marker=marker, label=mine[0].cell.label)
        left.fill_between(xs, low, high, color=colour, alpha=0.2)
        right.plot(xs, [one.middle / first[x].middle for x, one in zip(xs, mine, strict=True)], color=colour,
                   marker=marker)  # fmt: skip
    left.set(ylabel="largest stable token rate, over B per c")
    right.set(ylabel="the same over that of fcfs")
    for axes in (left, right):
        _mark(axes, _crossings(found), _xs(found))
    left.legend(fontsize=8)
    return figure


def _crossings(found: Mapping[Cell, Found]) -> list[Crossing]:
    """Where the lead changes, and where ISJL at alpha = 100 overtakes first come first served."""
    places = [turn(found)]
    if isjl := curve(found, "isjl 100"):
        places.append(crossing(curve(found, "fcfs"), isjl))
    return [place for place in dict.fromkeys(places) if place is not None]


def _mark(axes: Axes, places: list[Crossing], xs: list[float]) -> None:
    axes.set(xlabel="x = tau·B·E[o]/c", xscale="symlog")
    axes.set_xscale("symlog", linthresh=0.5)
    axes.set_xticks(xs, [f"{x:g}" for x in xs])
    axes.set_ylim(bottom=0)
    for place in places:
        axes.axvspan(place.after or 0.0, place.by, color=GREY, alpha=0.1, linewidth=0)
        _line(axes, place.about, f"{place.other} overtakes", "--")
    for preset in PRESETS.values():
        if preset.x <= xs[-1]:
            _line(axes, preset.x, preset.name, ":")
    sns.despine(ax=axes)


def _line(axes: Axes, x: float, text: str, style: str) -> None:
    """An upright line, named above the axes, where no curve is."""
    axes.axvline(x, color=GREY, linestyle=style, linewidth=1)
    axes.text(
        x, 1.01, f"{text} ({x:.2g})", rotation=40, rotation_mode="anchor", fontsize=8, color=GREY,
        transform=axes.get_xaxis_transform(),
    )  # fmt: skip
