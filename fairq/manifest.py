"""What decides a study's results, as `manifest.json` records it, and how two such records differ."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairq.errors import InputError
from fairq.loading import load, source_of
from fairq.policy import POLICIES
from fairq.textfile import require_regular

if TYPE_CHECKING:
    from fairq.scenario import Scenario

__all__ = [
    "MANIFEST",
    "causes",
    "differences",
    "manifest_of",
    "own_version",
    "read_manifest",
    "told_of",
    "versions",
]

MANIFEST = "manifest.json"
_TOLD = ("arrivals", "engine", "engines", "numba", "reading")
_LIBRARIES = ("numpy", "pandas", "scipy", "simpy")


def manifest_of(scenario: Scenario) -> dict[str, Any]:
    """What decides the results: scenario, seed, the content of the files it reads, versions.

    Raises:
        InputError: a file of the scenario that cannot be read.
    """
    return {
        "name": scenario.name,
        "seed": scenario.seed,
        "versions": versions(),
        "inputs": _digests(scenario),
        "scenario": scenario.to_dict(),
    }


def told_of(engines: Sequence[str], arrivals: Mapping[str, Any]) -> dict[str, Any]:
    """What a manifest tells beside what decides the results, ready for JSON.

    Parameters:
        engines: which ran each cell.
        arrivals: what was drawn, as `Scenario.drawn_figures` has it.

    >>> told_of(["simpy", "simpy"], {})
    {'engine': 'simpy', 'engines': ['simpy', 'simpy'], 'arrivals': {}}
    """
    ran = sorted(set(engines))
    told: dict[str, Any] = {"engine": " and ".join(ran), "engines": list(engines)}
    if "compiled" in ran:
        told["numba"] = metadata.version("numba")
    return told | {"arrivals": dict(arrivals)}


def causes(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """What decides the results of `manifest`'s study: without what it tells beside, and without the engine.

    >>> causes({"seed": 1, "engine": "simpy", "scenario": {"engine": "auto", "until": None}})
    {'seed': 1, 'scenario': {'until': None}}
    """
    kept = {name: value for name, value in manifest.items() if name not in _TOLD}
    if isinstance(scenario := kept.get("scenario"), Mapping):
        kept["scenario"] = {name: value for name, value in scenario.items() if name != "engine"}
    return kept


def own_sources(scenario: Scenario) -> dict[str, Path]:
    """The source files of the policies that are not of this package, by name."""
    names = {cell.policy for cell in scenario.cells()} - set(POLICIES)
    found = {name: source_of(load(name)) for name in sorted(names)}
    return {name: path for name, path in found.items() if path is not None}


def _digests(scenario: Scenario) -> dict[str, str]:
    """SHA-256 of the files that the scenario reads, so that a changed one is not taken for the old one."""
    digests = {}
    own = {f"policy {name!r}": (name, path) for name, path in own_sources(scenario).items()}
    for field, (given, path) in (scenario.files() | own).items():
        try:
            if path.exists():
                require_regular(path)
            with path.open("rb") as file:
                digests[given] = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise InputError(f"{field} is {str(path)!r}, which cannot be read: {error.strerror}") from None
        except InputError as error:
            raise InputError(f"{field}: {error}") from None
    return digests


def read_manifest(directory: Path) -> dict[str, Any]:
    """The record of a run directory.

    Raises:
        InputError: there is none, or it is damaged.
    """
    try:
        manifest = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{directory} is no run directory: it has no {MANIFEST}") from None
    except ValueError as error:
        raise InputError(f"{directory / MANIFEST} is damaged: {error}") from None
    if not isinstance(manifest, dict) or not {"scenario", "seed", "versions"} <= manifest.keys():
        raise InputError(f"{directory / MANIFEST} is not one of fairq's")
    return manifest


def differences(found: Any, wanted: Any, field: str = "") -> Iterator[str]:
    """The fields in which two records differ, in words, the deepest that says it.

    >>> list(differences({"pool": {"workers": 8}}, {"pool": {"workers": 1}}))
    ['pool.workers is 8 there and 1 here']
    """
    if isinstance(found, Mapping) and isinstance(wanted, Mapping):
        for name in [*wanted, *(name for name in found if name not in wanted)]:
            inner = f"{field}.{name}" if field else str(name)
            yield from differences(found.get(name), wanted.get(name), inner)
    elif found != wanted:
        yield f"{field} is {_shortened(found)} there and {_shortened(wanted)} here"


def _shortened(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


def own_version() -> str:
    """The version of fairq that is installed; from a bare source tree, ``"not installed"``.

    >>> bool(own_version())
    True
    """
    try:
        return metadata.version("fairq")
    except metadata.PackageNotFoundError:
        return "not installed"


def versions() -> dict[str, str]:
    """Versions of fairq, Python and the libraries that a result may depend on.

    >>> list(versions())
    ['fairq', 'python', 'numpy', 'pandas', 'scipy', 'simpy']
    """
    libraries = {name: metadata.version(name) for name in _LIBRARIES}
    return {"fairq": own_version(), "python": platform.python_version(), **libraries}
