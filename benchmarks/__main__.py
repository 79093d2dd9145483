"""Speed and memory of fairq as ratios, each measured within one run.

    python -m benchmarks [--sections NAME ...] [--requests N] [--rounds R] [--memory] [--out FILE]
    python -m benchmarks --show FILE [--page]
    python -m benchmarks --smoke [--keep]

With --targets, the first two also say whether what is promised is met.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import NoReturn

from benchmarks import memory, targets
from benchmarks.contest import race
from benchmarks.keeping import Kept, machine, now, read, versions, write
from benchmarks.page import PAGE, renewed
from benchmarks.sections import SECTIONS
from benchmarks.smoke import smoke
from benchmarks.tables import contest_table, heading, memory_table, report
from fairq.errors import InputError, unknown_name
from fairq.validation import whole_number

__all__ = ["main"]

LEAST = 0.05  # seconds that a contestant runs at least in a round


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InputError(message)


def main(argv: list[str] | None = None) -> int:
    """0; 1 where a target is missed or a ratio has dropped; 2 where an argument is not allowed."""
    try:
        options = _options(argv)
        if options.smoke:
            return smoke(keep=options.keep)
        kept = _shown(options) if options.show else _measured(options)
    except InputError as error:
        sys.stderr.write(f"benchmarks: error: {error}\n")
        return 2
    if not options.targets:
        return 0
    print()
    print("\n".join(targets.table(kept)))
    return int(any(verdict.met is False for verdict in targets.verdicts(kept)))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="benchmarks", description=f"{__doc__}", allow_abbrev=False)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--sections", metavar="NAME", nargs="+", help=f"of {', '.join(SECTIONS)}")
    parser.add_argument("--requests", metavar="N", default="20000", help="that SimPy serves in a run (20000)")
    parser.add_argument("--rounds", metavar="R", default="5", help="of which the median is taken (5)")
    parser.add_argument("--memory", action="store_true", help="peak memory too, up to 10,000,000 requests")
    parser.add_argument("--out", metavar="FILE", type=Path, help="keep what was measured there, as JSON")
    parser.add_argument("--show", metavar="FILE", type=Path, help="print what was kept there")
    parser.add_argument("--page", action="store_true", help="with --show: renew the tables of the docs by it")
    parser.add_argument("--targets", action="store_true", help="then hold it to what is promised")
    parser.add_argument("--smoke", action="store_true", help="a handful of ratios against the kept ones")
    parser.add_argument("--keep", action="store_true", help="with --smoke: keep them")
    return parser


def _options(argv: list[str] | None) -> argparse.Namespace:
    options = _parser().parse_args(argv)
    for name in ("requests", "rounds"):
        text = getattr(options, name)
        number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else text
        setattr(options, name, whole_number(f"--{name}", number, at_least=1))
    for name in options.sections or ():
        if name not in SECTIONS:
            raise unknown_name("--sections", name, SECTIONS)
    if options.keep and not options.smoke:
        raise InputError("--keep is given without --smoke, whose ratios it keeps")
    if options.page and options.show is None:
        raise InputError("--page is given without --show, whose tables it takes")
    return options


def _shown(options: argparse.Namespace) -> Kept:
    kept = read(options.show)
    print("\n".join(report(kept)))
    if options.page:
        PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8"), kept), encoding="utf-8")
    return kept


def _measured(options: argparse.Namespace) -> Kept:
    """Run the sections, printing each contest as it is over."""
    settings = f"{options.requests:,} requests, {options.rounds} rounds; requests table and summary included"
    kept = Kept({"date": now(), "machine": machine(), "versions": versions(), "settings": settings})
    if options.out is not None:
        write(kept, options.out)  # that it cannot be is better known now
    print("\n".join(heading(kept)), flush=True)
    for name in options.sections or SECTIONS:
        for contest in SECTIONS[name](options.requests):
            kept.outcomes.append(race(contest, options.rounds, LEAST))
            print("\n".join(["", *contest_table(kept.outcomes[-1])]), flush=True)
    if options.memory:
        kept.peaks.extend([*memory.levels(5 * options.requests), *memory.promised()])
        print("\n".join(["", *memory_table(kept.peaks)]), flush=True)
    if options.out is not None:
        write(kept, options.out)
    return kept


if __name__ == "__main__":
    sys.exit(main())
