"""The stability region of every policy, searched with arrivals, and a page about it.

To see it, open stability.html in a browser: it is the page as made from results.csv, both beside this file.

``python scenarios/stability/study.py [--out DIR]`` takes the searches that are in results.csv,
makes those that are not (hours, if all), and writes stability.html, its pictures and its table into DIR
(runs/stability without one).  ``--fresh`` searches everything again.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from cells import Cell, Found, Settings, load_found, save_found
from page import write_page
from tqdm import tqdm

from fairq.errors import InputError

HERE = Path(__file__).resolve().parent


def search_all(settings: Settings, table: Path, *, fresh: bool) -> dict[Cell, Found]:
    """Every cell's result as `table` has it; each is written there as soon as it is found."""
    known = {} if fresh else load_found(table)
    cells = list(settings.cells())
    found = {cell: known[cell] for cell in cells if cell in known}
    for cell in tqdm([cell for cell in cells if cell not in found], unit="search", disable=None):
        same = found.get(replace(cell, part="region"))  # the map begins where the region's one worker is
        found[cell] = settings.search(cell) if same is None else replace(same, cell=cell, backlog=None)
        save_found(table, {cell: found[cell] for cell in cells if cell in found})
    kept = load_found(table)
    return {cell: kept[cell] for cell in cells}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the study; exit status 0, or 2 with one line on stderr for bad input."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", metavar="DIR", type=Path, default=Path("runs/stability"))
    parser.add_argument("--settings", metavar="FILE", type=Path, default=HERE / "study.toml")
    parser.add_argument("--table", metavar="FILE", type=Path, default=HERE / "results.csv")
    parser.add_argument("--fresh", action="store_true", help="search everything again")
    given = parser.parse_args(argv)
    try:
        settings = Settings.load(given.settings)
        found = search_all(settings, given.table, fresh=given.fresh)
    except (InputError, OSError) as error:
        print(f"study.py: {error}", file=sys.stderr)
        return 2
    print(write_page(settings, found, given.out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
