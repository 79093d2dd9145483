"""The command `fairq`: run a scenario, describe a trace, list or try policies, print a scenario's schema.

Exit status: 0 done; 1 a run failed, or a policy or a run broke a rule; 2 bad input or output that cannot
be written, one line on stderr and nothing written; 130 interrupted.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn, TextIO

from fairq import policies_command, trace_command
from fairq.errors import EngineWarning, FairqError, InputError, ReadWarning, unknown_name
from fairq.manifest import own_version
from fairq.validation import whole_number

__all__ = ["main"]

OK, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
COMMANDS = ("run", "policies", "schema", "trace")
OPTIONS: dict[str | None, tuple[str, ...]] = {
    None: ("--version",),
    "run": ("--out", "--jobs", "--force", "--set"),
    "policies": policies_command.OPTIONS,
    "schema": (),
    "trace": trace_command.OPTIONS,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (the process's own without one) and return its exit status.

    >>> main(["--version"]) == 0
    fairq ...
    True
    """
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")  # a terminal without ± and τ is no reason to stop
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _warn
            status = _dispatch(sys.argv[1:] if argv is None else list(argv))
        if sys.stdout is not None:
            sys.stdout.flush()
    except InputError as error:
        return _complain(error, BAD_INPUT)
    except FairqError as error:
        return _complain(error, FAILED)
    except BrokenPipeError:
        _drop_stdout()
        return OK  # whoever read the answer has read enough
    except OSError as error:
        _drop_stdout()
        place = f": {error.filename}" if error.filename else ""
        return _complain(InputError(f"{error.strerror or error}{place}"), BAD_INPUT)
    except KeyboardInterrupt:
        return _complain(FairqError("interrupted; nothing was written"), INTERRUPTED)
    return status


def _complain(error: Exception, status: int) -> int:
    """One line on stderr, whatever the error says."""
    notes = " ".join(getattr(error, "__notes__", []))
    text = " ".join(f"{error} {notes}".split())
    with suppress(OSError, AttributeError):  # no stderr, nobody to tell
        sys.stderr.write(f"fairq: error: {text}\n")
        sys.stderr.flush()
    return status


def _warn(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """One line on stderr for a warning of ours; any other warning in Python's own form."""
    text = warnings.formatwarning(message, category, filename, lineno, line)
    if issubclass(category, (ReadWarning, EngineWarning)):
        text = f"fairq: warning: {' '.join(str(message).split())}\n"
    with suppress(OSError, AttributeError):
        (file or sys.stderr).write(text)


def _drop_stdout() -> None:
    """Let the interpreter's own last flush go nowhere instead of failing again."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are `InputError`, as all others of ours."""

    def error(self, message: str) -> NoReturn:
        raise InputError(message)


def _dispatch(argv: list[str]) -> int:
    if argv and not argv[0].startswith("-") and argv[0] not in COMMANDS:
        raise unknown_name("command", argv[0], COMMANDS)
    parser = _parser()
    try:
        arguments, rest = parser.parse_known_args(argv)
    except SystemExit as done:  # help was printed
        return int(done.code or 0)
    if arguments.version:
        print(f"fairq {own_version()}")
        return OK
    if rest:
        raise _unknown_argument(rest[0], arguments.command)
    if arguments.command is None:
        raise InputError(f"no command given: it must be one of {', '.join(COMMANDS)} (see fairq --help)")
    return int(arguments.act(arguments))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="fairq", description=f"{__doc__}", allow_abbrev=False)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--version", action="store_true", help="print the version and stop")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    _add_run(commands)
    policies_command.add_to(commands)
    schema = commands.add_parser(
        "schema", help="print the JSON Schema of a scenario file", allow_abbrev=False
    )
    schema.set_defaults(act=_schema)
    trace_command.add_to(commands)
    return parser


def _add_run(commands: argparse._SubParsersAction[_Parser]) -> None:
    text = "Simulate a scenario and write a run directory: manifest, tables, report, figures."
    run = commands.add_parser("run", help="simulate a scenario", description=text, allow_abbrev=False)
    run.add_argument(
        "scenario", metavar="SCENARIO", help="a TOML file, or the name of one that comes with fairq"
    )
    run.add_argument(
        "--out", metavar="DIR", type=Path, help="run directory (default: runs/NAME, the scenario's)"
    )
    run.add_argument("--jobs", metavar="N", default="1", help="processes, a whole number >= 1 (default: 1)")
    run.add_argument("--force", action="store_true", help="run again and replace the run directory there")
    run.add_argument(
        "--set",
        metavar="FIELD=VALUE",
        action="append",
        default=[],
        help="change a field of the scenario, as pool.workers=8; may be given again",
    )
    run.set_defaults(act=_run)


def _unknown_argument(text: str, command: str | None) -> InputError:
    """The error for an argument that no one takes."""
    place = "fairq" if command is None else f"fairq {command}"
    if not text.startswith("-"):
        hint = " (--columns takes OURS=THEIRS,OURS=THEIRS)" if command == "trace" else ""
        return InputError(f"{place} takes no further argument {text!r}{hint}")
    return unknown_name("option", text.partition("=")[0], [*OPTIONS[command], "--help"], of=place)


def _run(arguments: argparse.Namespace) -> int:
    from fairq.report import text_table
    from fairq.scenario import Scenario
    from fairq.study import run_study

    jobs = arguments.jobs
    jobs = whole_number(
        "--jobs", int(jobs) if jobs.isascii() and jobs.isdigit() and len(jobs) < 10 else jobs, at_least=1
    )
    scenario = Scenario.load(arguments.scenario, overrides=arguments.set)
    out = Path("runs", scenario.name) if arguments.out is None else arguments.out
    study = run_study(scenario, out, jobs=jobs, force=arguments.force)
    print(text_table(study))
    print()
    if study.reused:
        print("The run was there already: same scenario, seed and versions; nothing was simulated.")
    for text in study.readings:
        print(f"Read: {text}")
    print(f"Engine: {study.engines_text}")
    print(f"Report: {study.report}")
    return OK


def _schema(arguments: argparse.Namespace) -> int:  # noqa: ARG001  every command is called alike
    from fairq.scenario import Scenario

    print(json.dumps(Scenario.json_schema(), indent=2, ensure_ascii=False))
    return OK


if __name__ == "__main__":
    sys.exit(main())
