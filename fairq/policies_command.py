"""`fairq policies`: every policy that a scenario may name, or one of them tried on small runs."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from time import monotonic
from typing import Any

from fairq.errors import InputError
from fairq.loading import offered
from fairq.policy import POLICIES, PolicyInfo, policy_info
from fairq.settings import override
from fairq.validation import whole_number

__all__ = ["OPTIONS", "add_to"]

OPTIONS = ("--json", "--check", "--set", "--runs")


def add_to(commands: Any) -> None:
    """Add the command to the parser's `commands`."""
    text = "List the policies by name; with --check, try one on small runs. Status 1: it broke a rule."
    policies = commands.add_parser(
        "policies", help="list the policies, or try one", description=text, allow_abbrev=False
    )
    policies.add_argument("--json", action="store_true", help="as JSON")
    policies.add_argument(
        "--check", metavar="POLICY", help="try this policy, a name or module:Class, on small runs"
    )
    policies.add_argument(
        "--set",
        metavar="OPTION=VALUE",
        action="append",
        default=[],
        help="an option of the policy to check, as window=4; may be given again",
    )
    policies.add_argument(
        "--runs", metavar="N", default="200", help="on so many runs, a whole number >= 1 (default: 200)"
    )
    policies.set_defaults(act=_policies)


def _policies(arguments: argparse.Namespace) -> int:
    if arguments.check is not None:
        return _check(arguments)
    if arguments.set:
        raise InputError("--set is for an option of the policy that --check names")
    infos = [*POLICIES.values(), *map(_offered, offered())]
    if arguments.json:
        print(json.dumps([asdict(info) for info in infos], indent=2, ensure_ascii=False))
        return 0
    width = max(len(info.name) for info in infos)
    for info in infos:
        traits = ["needs alpha" if info.needs_alpha else "alpha optional"]
        traits += ["keeps every step within alpha"] if info.guarded else []
        traits += [f"options: {', '.join(info.options)}"] if info.options else []
        print(f"{info.name:<{width}}  {info.summary} ({info.source})\n{'':<{width}}  {'; '.join(traits)}")
    return 0


def _offered(name: str) -> PolicyInfo:
    """A policy of another package; one that cannot be loaded is listed with the reason."""
    try:
        return policy_info(name)
    except InputError as error:
        return PolicyInfo(name, str(error), "own", needs_alpha=False, guarded=False, options=())


def _told(runs: int) -> Callable[[int], None]:
    """Writes on stderr how far the suite is, a few times a second."""
    last = -1.0

    def tell(done: int) -> None:
        nonlocal last
        if monotonic() - last > 0.2:
            last = monotonic()
            print(end=f"\r{done} of {runs} runs", file=sys.stderr, flush=True)

    return tell


def _check(arguments: argparse.Namespace) -> int:
    from fairq.conformance import check_conformance

    digits = arguments.runs
    runs = whole_number(
        "--runs",
        int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 7 else digits,
        at_least=1,
    )
    options: dict[str, Any] = {}
    override(options, arguments.set)
    shows = sys.stderr.isatty()
    try:
        verdict = check_conformance(
            arguments.check, options, runs=runs, on_run=_told(runs) if shows else None
        )
    finally:
        if shows:
            print(end="\r\x1b[K", file=sys.stderr, flush=True)
    print(json.dumps(verdict.to_dict(), indent=2) if arguments.json else verdict)
    return 0 if verdict.passed else 1
