"""What a run of the suite measured, kept as JSON: seconds by round, so that any ratio can be taken later."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks.contest import Outcome, Timing
from benchmarks.memory import Peak
from fairq.errors import InputError

__all__ = ["Kept", "machine", "now", "read", "versions", "write"]

_LIBRARIES = ("fairq", "numpy", "pandas", "scipy", "simpy", "numba", "ciw")
_CPU = Path("/proc/cpuinfo")


@dataclass(frozen=True)
class Kept:
    """A run of the suite.

    Attributes:
        made: date, machine, versions and settings, as text by name.
        outcomes: of the contests.
        peaks: of memory.
    """

    made: dict[str, str]
    outcomes: list[Outcome] = field(default_factory=list)
    peaks: list[Peak] = field(default_factory=list)

    def outcome(self, name: str) -> Outcome | None:
        """That of one contest; None where it was not held."""
        return next((outcome for outcome in self.outcomes if outcome.name == name), None)


def now() -> str:
    """The date in UTC.

    >>> len(now())
    10
    """
    return datetime.now(tz=UTC).date().isoformat()


def machine() -> str:
    """Processor, cores and system, as far as the system tells."""
    model = platform.processor() or platform.machine()
    if _CPU.exists():
        names = [line for line in _CPU.read_text().splitlines() if line.startswith("model name")]
        model = names[0].partition(":")[2].strip() if names else model
    return f"{model}, {platform.machine()}, {os.cpu_count()} cores, {platform.system()}"


def versions() -> str:
    """Python and the libraries that matter, those that are there."""
    found = [f"Python {platform.python_version()}"]
    for name in _LIBRARIES:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            found.append(f"no {name}")
    return ", ".join(found)


def write(kept: Kept, path: Path) -> None:
    """Keep it, a contestant a line.

    Raises:
        InputError: the file cannot be written.
    """
    parts = [f'"made": {json.dumps(kept.made)}']
    parts.append(_lines("contests", (_head(outcome) for outcome in kept.outcomes)))
    rows = ({"contest": outcome.name, **_row(each)} for outcome in kept.outcomes for each in outcome.timings)
    parts.append(_lines("timings", rows))
    parts.append(_lines("memory", map(asdict, kept.peaks)))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"--out is {str(path)!r}, which cannot be written: {error.strerror}") from None


def read(path: Path) -> Kept:
    """What `write` kept.

    Raises:
        InputError: no such file, or another kind of file.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        outcomes = [_outcome(head, data["timings"]) for head in data["contests"]]
        return Kept(data["made"], outcomes, [Peak(**row) for row in data["memory"]])
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{str(path)!r} is no kept run of the benchmarks") from None


def _lines(name: str, rows: Iterable[dict[str, Any]]) -> str:
    inner = ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in rows)
    return f'"{name}": [\n{inner}\n]' if inner else f'"{name}": []'


def _head(outcome: Outcome) -> dict[str, Any]:
    return {
        "name": outcome.name,
        "grows": outcome.grows,
        "skipped": dict(outcome.skipped),
        "facts": dict(outcome.facts),
    }


def _row(timing: Timing) -> dict[str, Any]:
    return asdict(timing) | {"seconds": [float(f"{seconds:.5g}") for seconds in timing.seconds]}


def _outcome(head: dict[str, Any], rows: list[dict[str, Any]]) -> Outcome:
    own = [row for row in rows if row["contest"] == head["name"]]
    timings = [Timing(r["name"], r["requests"], r["size"], tuple(r["seconds"])) for r in own]
    return Outcome(head["name"], tuple(timings), head["skipped"], head["grows"], head["facts"])
