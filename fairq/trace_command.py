"""`fairq trace FILE`: a trace described in a page, as text or JSON, and in a picture."""

from __future__ import annotations

import argparse
import json
import re
import warnings
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairq.errors import InputError, ReadWarning

if TYPE_CHECKING:
    from fairq.workload import Workload

__all__ = ["OPTIONS", "add_to"]

_PAIRS = re.compile(r",(?=[^,=]+=)")
_PICTURES = (".png", ".pdf", ".svg")

OPTIONS = ("--json", "--plot", "--format", "--columns", "--zero", "--ties")


def add_to(commands: Any) -> None:
    """Add the command to the parser's `commands`."""
    text = "Describe a trace: what was read and left out, arrivals, lengths, the laws that come nearest."
    trace = commands.add_parser("trace", help="describe a trace", description=text, allow_abbrev=False)
    trace.add_argument("file", metavar="FILE", help="CSV, JSON lines, JSON or Parquet, gzipped or not")
    trace.add_argument("--json", action="store_true", help="as JSON, one object")
    trace.add_argument(
        "--plot", metavar="PICTURE", type=Path, help="write a picture to this file: .png, .pdf or .svg"
    )
    trace.add_argument("--format", metavar="NAME", help="the format, where the columns do not tell")
    trace.add_argument(
        "--columns",
        metavar="OURS=THEIRS[,...]",
        action="append",
        default=[],
        help="which column of the file is which, as arrival=arrived_at,tokens=n; may be given again",
    )
    trace.add_argument("--zero", metavar="WHAT", help="rows without output tokens: drop, keep (as 1), refuse")
    trace.add_argument("--ties", metavar="WHAT", default="keep", help="equal arrivals: keep, spread")
    trace.set_defaults(act=_trace)


def _trace(arguments: argparse.Namespace) -> int:
    from fairq.servegen_windows import is_client

    if arguments.plot is not None:
        _check_picture(arguments.plot, Path(arguments.file))
    if is_client(arguments.file):
        return _client(arguments)
    from fairq.description import describe
    from fairq.wording_traces import description_text

    workload = _read(arguments)
    description = describe(workload)
    print(json.dumps(description, indent=2) if arguments.json else description_text(description))
    if arguments.plot is not None:
        _plot(workload, arguments.plot, told=not arguments.json)
    return 0


def _read(arguments: argparse.Namespace) -> Workload:
    """The trace; what a warning would say is part of the description."""
    from fairq.workload import Workload

    columns = _columns(arguments.columns)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReadWarning)
        return Workload.read(
            arguments.file, arguments.format, columns, zero=arguments.zero, ties=arguments.ties
        )


def _columns(texts: list[str]) -> dict[str, str] | None:
    columns: dict[str, str] = {}
    for text in texts:
        for pair in _PAIRS.split(text):
            ours, sign, theirs = (part.strip() for part in pair.partition("="))
            if not (sign and ours and theirs):
                raise InputError(f"--columns is {text!r}: it must be OURS=THEIRS, as arrival=arrived_at")
            if columns.setdefault(ours, theirs) != theirs:
                raise InputError(
                    f"--columns gives {ours} twice, {columns[ours]!r} and {theirs!r}: it must be given once"
                )
    return columns or None


def _check_picture(path: Path, trace: Path) -> None:
    """Refuse a picture that matplotlib would not write, or that would take the trace's place."""
    if path.suffix.lower() not in _PICTURES:
        raise InputError(f"--plot is {str(path)!r}: its name must end in {', '.join(_PICTURES)}")
    same = False
    with suppress(OSError, ValueError):  # one of them is not there
        same = path.samefile(trace)
    if same:
        raise InputError(f"--plot is {str(path)!r}, the trace itself: it must be another file")


def _plot(workload: Workload, path: Path, *, told: bool) -> None:
    from fairq.figures import as_picture
    from fairq.trace_figure import trace_figure

    image = as_picture(trace_figure(workload), path.suffix.lower().removeprefix("."))
    path.write_bytes(image)
    if told:
        print(f"\nPicture: {path}")


def _client(arguments: argparse.Namespace) -> int:
    from fairq.servegen import describe_client, read_client
    from fairq.wording_traces import client_text

    given = [f"--{name}" for name in ("plot", "format", "zero") if getattr(arguments, name) is not None]
    given += ["--columns"] if arguments.columns else []
    if given:
        raise InputError(f"{given[0]} is given, but {arguments.file} is a ServeGen client: leave it out")
    description = describe_client(read_client(arguments.file))
    print(json.dumps(description, indent=2) if arguments.json else client_text(description))
    return 0
