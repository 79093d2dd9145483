"""A scenario's settings before they mean anything: the TOML file, the gallery, overrides."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Any

from fairq.errors import InputError, unknown_name
from fairq.textfile import as_path, read_text

__all__ = ["find_scenario", "gallery", "override", "read_toml"]

_TOML_PLACE = re.compile(r" ?\(at (line (?P<line>\d+), column (?P<column>\d+)|end of document)\)$")


def gallery() -> dict[str, Path]:
    """The scenarios that come with fairq, by name.

    >>> "table1" in gallery()
    True
    """
    package = Path(__file__).resolve().parent
    packaged = package / "gallery"
    folder = packaged if packaged.is_dir() else package.parent / "scenarios"
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def find_scenario(path_or_name: str | PathLike[str]) -> Path:
    """The file of a scenario: a path as it is, a bare name without a suffix from the gallery.

    Raises:
        InputError: no path at all, or a bare name that the gallery does not have.
    """
    path = as_path(path_or_name)
    bare = isinstance(path_or_name, str) and len(path.parts) == 1 and not path.suffix
    if not bare:
        return path
    known = gallery()
    if path.name not in known:
        raise unknown_name("scenario", path.name, known)
    return known[path.name]


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file.

    Raises:
        InputError: the file cannot be read, is empty, or is not TOML (the message has the line).
    """
    text = read_text(path)
    if not text.strip():
        raise InputError(f"{path} is empty: it must be a scenario in TOML")
    try:
        return tomllib.loads(text)
    except ValueError as error:  # tomllib's own, or a whole number of too many digits
        message, place = str(error), _TOML_PLACE.search(str(error))
        if place is None:
            raise InputError(f"{path} is not TOML: {message}") from None
        line = place["line"] or str(len(text.splitlines()))
        column = f", column {place['column']}" if place["column"] else ""
        raise InputError(f"{path}: line {line}{column} is not TOML: {message[: place.start()]}") from None
    except RecursionError:
        raise InputError(f"{path} is not TOML that can be read: its arrays are nested too deeply") from None


def override(settings: dict[str, Any], assignments: Iterable[str]) -> dict[str, str]:
    """Carry out ``field=value`` assignments in `settings`, in their order.

    A field is dotted, an entry of a list is its number (``policies.0.alpha``), tables that are
    not there are made.  A value is read as TOML, and as text if it is none.

    Returns:
        the assignment that set each dotted field, so that an error can name it.

    Raises:
        InputError: an assignment without field, ``=`` or value, or a field below something
            that is not a table or list.

    >>> settings = {"pool": {"workers": 1}}
    >>> _ = override(settings, ["pool.workers=8", "workload.arrivals.path=trace.csv"])
    >>> settings
    {'pool': {'workers': 8}, 'workload': {'arrivals': {'path': 'trace.csv'}}}
    """
    made = {}
    for assignment in assignments:
        field, sign, text = (part.strip() for part in str(assignment).partition("="))
        keys = [key.strip() for key in field.split(".")]
        if not (sign and text and all(keys)):
            raise InputError(f"--set {assignment!r}: it must be FIELD=VALUE, as in pool.workers=8")
        _assign(settings, keys, _value(text), assignment)
        made[".".join(keys)] = assignment
    return made


def _assign(settings: dict[str, Any], keys: list[str], value: Any, assignment: str) -> None:
    here: Any = settings
    for depth, key in enumerate(keys):
        last = depth == len(keys) - 1
        if isinstance(here, dict):
            if last:
                here[key] = value
            else:
                here = here.setdefault(key, {})
        elif isinstance(here, list):
            index = _index(here, key, ".".join(keys[:depth]), assignment)
            if last:
                here[index] = value
            else:
                here = here[index]
        else:
            above = ".".join(keys[:depth])
            raise InputError(f"--set {assignment!r}: {above} is {here!r}, which has no field {key!r}")


def _index(entries: list[Any], key: str, field: str, assignment: str) -> int:
    if not (key.isascii() and key.isdigit() and len(key) < 10 and int(key) < len(entries)):
        raise InputError(
            f"--set {assignment!r}: {key!r} is no entry of {field}: it must be a number from 0 to "
            f"{len(entries) - 1}"
        )
    return int(key)


def _value(text: str) -> Any:
    try:
        parsed = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    return parsed["value"] if list(parsed) == ["value"] else text
