"""Tables 1 and 2 and Figures 5 and 6 of the paper beside a finished run of the scenario ``table1``.

``python -m analysis.paper_tables RUN_DIR [--out DIR]`` writes text, CSV, PNG and one page, `paper.html`,
into `DIR` (``RUN_DIR/paper`` without one), and prints the tables.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import jinja2
from matplotlib.figure import Figure

from analysis.comparison import Comparison
from analysis.paper import Row
from analysis.pictures import figure_5, figure_6, table_1_compared
from analysis.sentences import details, headlines
from fairq.errors import InputError
from fairq.figures import Picture, as_png
from fairq.report import aligned, environment, image_entry
from fairq.rundir import written_whole
from fairq.statistics import Interval
from fairq.study import load_study
from fairq.wording import interval_text, number_text

__all__ = ["main", "write_comparison"]

HEADS = {
    "profit": ("Profit", "money"),
    "cost": ("Cost", "money"),
    "cost_intrinsic": ("τQ", "money"),
    "cost_time": ("cT", "money"),
    "cost_externality": ("τE", "money"),
    "throughput": ("Throughput", "tokens/step"),
    "gain": ("Gain vs. LJF", "%"),
    "mean_extent": ("Avg. extent", "tokens"),
    "latency_mean": ("Mean completion", "steps"),
    "makespan": ("Makespan", "steps"),
    "bound": ("Bound on it", "steps"),
}
HEADS_2 = (
    ("Policy", ""),
    ("Saving vs. LJF", "steps"),
    ("Most any can save", "steps"),
    ("τE", "money"),
    ("Break-even c", "money/step"),
)
PICTURES: dict[str, tuple[Callable[[Comparison], Figure], str, str]] = {
    "table1": (
        table_1_compared,
        "Table 1: ours with 95 % intervals, the paper's as crosses.",
        "Profit, throughput, externality cost and mean extent per policy, ours and the paper's.",
    ),
    "figure5": (
        figure_5,
        "Figure 5: cost decomposition and profit against throughput, ours and the paper's (pale, dotted).",
        "Stacked cost bars and the profit-throughput frontier; the figures are those of Table 1.",
    ),
    "figure6": (
        figure_6,
        "Figure 6: profit less LJF's as the overhead c varies; the dashed line is the baseline c = 0.0005.",
        "Lines of profit difference against c, one per alpha, for ISJL and free-ride; figures in Table 2.",
    ),
}
OWN = "paper.html"


def write_comparison(comparison: Comparison, out: Path) -> Path:
    """Write every table and figure into the directory `out`, whole or not at all; return the page's path.

    Raises:
        InputError: `out` is there and holds something else.
        OSError: `out` cannot be written.
    """
    if out.exists() and not (out / OWN).is_file():
        raise InputError(
            f"{out} is there and holds no {OWN}: nothing in it is overwritten, name another --out"
        )
    with written_whole(out, replace=True) as fresh:
        comparison.table_1.to_csv(fresh / "table1.csv", index=False, lineterminator="\n")
        comparison.table_2.to_csv(fresh / "table2.csv", index=False, lineterminator="\n")
        comparison.reach.to_csv(fresh / "reach.csv", index=False, lineterminator="\n")
        (fresh / "table1.txt").write_text(table_1_text(comparison), encoding="utf-8", newline="\n")
        (fresh / "table2.txt").write_text(table_2_text(comparison), encoding="utf-8", newline="\n")
        pictures = []
        for name, (draw, title, alt) in PICTURES.items():
            picture = Picture(name, title, alt, draw(comparison))
            pictures.append((picture, as_png(picture.figure)))
            (fresh / f"{name}.png").write_bytes(pictures[-1][1])
        (fresh / OWN).write_text(_page(comparison, pictures), encoding="utf-8", newline="\n")
    return out / OWN


def _page(comparison: Comparison, pictures: list[tuple[Picture, bytes]]) -> str:
    ours = environment()
    folder = jinja2.FileSystemLoader(Path(__file__).with_name("templates"))
    template = ours.overlay(loader=jinja2.ChoiceLoader([folder, *filter(None, [ours.loader])])).get_template(
        OWN
    )
    return template.render(
        title="The paper's Tables 1 and 2, and ours",
        headlines=headlines(comparison),
        details=details(comparison),
        heads_1=[("Policy", ""), *HEADS.values(), ("Agree", "")],
        rows_1=list(_rows_1(comparison)),
        heads_2=HEADS_2,
        rows_2=list(_rows_2(comparison)),
        figures=[image_entry(picture, image, f"{picture.name}.png") for picture, image in pictures],
        run=comparison.study.directory.name,
    )


def _name(row: Row) -> str:
    return row[0].upper() if row[1] is None else f"{row[0].upper()} ({row[1]:g})"


def _rows_1(comparison: Comparison) -> list[tuple[str, list[tuple[str, str, bool]], str]]:
    """For each cell its name, (ours, paper's, whether they are apart) per column, and how many agree."""
    rows, table = [], comparison.table_1
    for row in comparison.cells:
        here = table[
            (table["policy"] == row[0])
            & (table["alpha"].isna() if row[1] is None else table["alpha"] == row[1])
        ]
        figures = []
        for found in here.to_dict("records"):
            ours = interval_text(Interval(found["mean"], found["ci_low"], found["ci_high"], found["n"]))
            paper = "" if math.isnan(found["paper"]) else f"{found['paper']:.2f}"
            figures.append((ours, paper, found["agrees"] is False))
        known = [verdict for verdict in here["agrees"] if verdict is not None]
        agree = f"{sum(known)} of {len(known)}" if known else ""
        rows.append((_name(row), figures, agree))
    return rows


def _rows_2(comparison: Comparison) -> list[tuple[str, list[tuple[str, str]]]]:
    """For each fair cell its name and (ours, paper's) per column of Table 2, the room beside the saving."""
    rows = []
    for record in comparison.table_2.to_dict("records"):
        saving, externality, break_even = (
            Interval(record[name], record[f"{name}_low"], record[f"{name}_high"], 2)
            for name in ("saving", "cost_externality", "break_even")
        )
        paper = [
            "" if math.isnan(record[f"{name}_paper"]) else f"{record[f'{name}_paper']:g}" for name in _TABLE_2
        ]
        least = "none" if math.isnan(break_even.mean) else interval_text(break_even)
        room = f"{number_text(record['room_mean'])} (largest {number_text(record['room_largest'])})"
        figures = [
            (interval_text(saving), paper[0]),
            (room, ""),
            (interval_text(externality), paper[1]),
            (least, paper[2]),
        ]
        rows.append((_name((record["policy"], record["alpha"])), figures))
    return rows


_TABLE_2 = ("saving", "cost_externality", "break_even")


def table_1_text(comparison: Comparison) -> str:
    """Table 1 as text: ours, and below each row the paper's, with ≠ where they do not agree."""
    lines = [
        ["Policy", *(title for title, _ in HEADS.values()), "Agree"],
        ["", *(unit for _, unit in HEADS.values()), ""],
    ]
    for name, figures, agree in _rows_1(comparison):
        lines.append([name, *(ours for ours, _, _ in figures), agree])
        if any(paper for _, paper, _ in figures):
            lines.append(["  paper", *(f"{'≠ ' if apart else ''}{paper}" for _, paper, apart in figures), ""])
    note = "Ours ± half the 95 % interval; the paper's below; ≠ where they do not agree.\n"
    return f"Table 1\n\n{aligned(lines)}\n\n{note}"


def table_2_text(comparison: Comparison) -> str:
    """Table 2 as text, with the room that the bound leaves, and the sentences on all of it."""
    lines = [[title for title, _ in HEADS_2], [unit for _, unit in HEADS_2]]
    for name, figures in _rows_2(comparison):
        lines.append([name, *(ours for ours, _ in figures)])
        if any(paper for _, paper in figures):
            lines.append(["  paper", *(paper for _, paper in figures)])
    return (
        f"Table 2\n\n{aligned(lines)}\n\n" + "\n".join([*headlines(comparison), *details(comparison)]) + "\n"
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; exit status 0, or 2 with one line on stderr for bad input."""
    parser = argparse.ArgumentParser(prog="python -m analysis.paper_tables", description=__doc__)
    parser.add_argument("run", metavar="RUN_DIR", type=Path, help="a finished run of the scenario table1")
    parser.add_argument("--out", metavar="DIR", type=Path, help="where to write (default: RUN_DIR/paper)")
    parser.add_argument(
        "--draws", type=int, default=1000, help="further replications for the room that the bound leaves"
    )
    arguments = parser.parse_args(argv)
    try:
        comparison = Comparison(load_study(arguments.run), draws=arguments.draws)
        page = write_comparison(comparison, arguments.out or arguments.run / "paper")
        print(table_1_text(comparison))
        print("\n".join(headlines(comparison)))
        print(f"\nPage: {page}")
    except (InputError, OSError) as error:
        print(f"analysis.paper_tables: error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
