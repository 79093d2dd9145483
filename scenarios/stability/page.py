"""The page of the study: sentences, pictures, tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import jinja2
import seaborn as sns
from cells import Cell, Found, Settings, save_found
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sentences import crossing, curve, headlines, interval

from fairq import PRESETS
from fairq.figures import MARKERS, Picture, as_png
from fairq.report import environment, image_entry
from fairq.rundir import written_whole

__all__ = ["pictures", "write_page"]

GREY = "0.35"
PAGE = "stability.html"


def write_page(settings: Settings, found: Mapping[Cell, Found], out: Path) -> Path:
    """Write page, pictures and table into `out`, whole or not at all; return the page's path."""
    drawn = [(picture, as_png(picture.figure)) for picture in pictures(found)]
    ours = environment()
    loader = jinja2.ChoiceLoader(
        [jinja2.FileSystemLoader(Path(__file__).parent), *filter(None, [ours.loader])]
    )
    html = (
        ours.overlay(loader=loader)
        .get_template("page.html")
        .render(
            title="How much load each policy keeps up with",
            sentences=headlines(found),
            figures=[image_entry(picture, image, f"{picture.name}.png") for picture, image in drawn],
            settings=settings,
            region=_region_rows(found),
            workers=sorted({cell.workers for cell in found if cell.part == "region"}),
            map=_map_rows(found),
            xs=sorted({cell.x for cell in found if cell.part == "map"}),
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


def _region_rows(found: Mapping[Cell, Found]) -> list[tuple[str, str, list[str]]]:
    rows = []
    for label in _labels(found, "region"):
        mine = sorted(
            (one for cell, one in found.items() if cell.part == "region" and cell.label == label),
            key=lambda one: one.cell.workers,
        )
        backlog = next((f"{one.backlog:.3f}" for one in mine if one.backlog is not None), "")
        rows.append((label, backlog, [interval(one) for one in mine]))
    return rows


def _map_rows(found: Mapping[Cell, Found]) -> list[tuple[str, list[str]]]:
    return [(label, [interval(one) for one in curve(found, label)]) for label in _labels(found, "map")]


def pictures(found: Mapping[Cell, Found]) -> list[Picture]:
    """The region by policy and pool, and the map over x."""
    return [
        Picture(
            "region",
            "Largest stable load on the token clock, as a share of the slots: bars are the intervals of the "
            "search, by number of workers. Hollow squares: share of the slots filled on a backlog.",
            "Intervals of the largest stable load for each policy and pool; the figures are in the table.",
            region_picture(found),
        ),
        Picture(
            "map",
            "Largest stable token rate, per B tokens and c of time, and the same relative to first come "
            "first served, against x = tau·B·E[o]/c. Bands: intervals of the search. Dashed: where ISJL 100 "
            "overtakes; dotted: x of the presets.",
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
                [one.slots_low, one.slots_high], [row + shift] * 2, color=colour, linewidth=4,
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
    labels = _labels(found, "map")
    with sns.axes_style("whitegrid"):
        figure = Figure(figsize=(12, 5), layout="constrained")
        left, right = figure.subplots(1, 2)
    first = curve(found, "fcfs")
    styles = zip(labels, sns.color_palette("colorblind"), MARKERS, strict=False)
    for label, colour, marker in styles:
        mine = curve(found, label)
        xs = [one.cell.x for one in mine]
        left.plot(xs, [one.middle for one in mine], color=colour, marker=marker, label=label)
        left.fill_between(
            xs, [one.slots_low for one in mine], [one.slots_high for one in mine], color=colour, alpha=0.2
        )
        ratios = [one.middle / base.middle for one, base in zip(mine, first, strict=True)]
        right.plot(xs, ratios, color=colour, marker=marker)
    left.set(ylabel="largest stable token rate, per B per c")
    right.set(ylabel="the same over that of fcfs")
    place = crossing(first, curve(found, "isjl 100")) if "isjl 100" in labels else None
    for axes in (left, right):
        _mark(axes, place, max(one.cell.x for one in first))
    left.legend(fontsize=8)
    return figure


def _mark(axes: Axes, place: Sequence[float] | None, largest: float) -> None:
    axes.set(xlabel="x = tau·B·E[o]/c", xscale="symlog")
    axes.set_xscale("symlog", linthresh=0.5)
    axes.set_xticks(
        [0, 0.1, 0.2, 0.3, 0.4, 0.6, 1, 2, 3], ["0", "0.1", "0.2", "0.3", "0.4", "0.6", "1", "2", "3"]
    )
    axes.set_ylim(bottom=0)
    if place is not None:
        axes.axvspan(place[0], place[2], color=GREY, alpha=0.1, linewidth=0)
        axes.axvline(place[1], color=GREY, linestyle="--", linewidth=1)
    for preset in PRESETS.values():
        if preset.x <= largest:
            axes.axvline(preset.x, color=GREY, linestyle=":", linewidth=1)
            axes.text(
                preset.x, 0.01, preset.name, rotation=90, fontsize=7, color=GREY, va="bottom", ha="right",
                transform=axes.get_xaxis_transform(),
            )  # fmt: skip
    sns.despine(ax=axes)
