"""Writing a directory whole or not at all: under a temporary name, renamed at the end."""

from __future__ import annotations

import errno
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["written_whole"]


@contextmanager
def written_whole(directory: Path, *, replace: bool = False) -> Iterator[Path]:
    r"""A fresh directory beside `directory`, which takes its name when the block ends well.

    When the block raises, or is interrupted, the fresh directory goes, with the parents
    that were made for it, and what stood under the name stays as it was.

    Parameters:
        directory: the final place; it must not exist, or be empty, unless `replace`.
        replace: put the new directory in the place of the old one, which is then deleted.

    Raises:
        OSError: a directory that cannot be written, or that something appeared in meanwhile.

    >>> import tempfile
    >>> home = Path(tempfile.mkdtemp())
    >>> with written_whole(home / "study") as fresh:
    ...     _ = (fresh / "runs.csv").write_text("cell\n")
    >>> [path.name for path in home.rglob("*")]
    ['study', 'runs.csv']
    """
    try:
        directory = directory.resolve()  # the place a link points to
    except RuntimeError:  # links that lead in a circle
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(directory)) from None
    made = _make_parents(directory.parent)
    fresh = _sibling(directory)
    try:
        _make(fresh, directory)
        yield fresh
        _take_place(fresh, directory, replace)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        with suppress(OSError):  # somebody else may have put something there
            for parent in reversed(made):
                parent.rmdir()
        raise


def _make(fresh: Path, directory: Path) -> None:
    """Make the fresh directory; an error names the place that was asked for, not the one beside it."""
    try:
        fresh.mkdir()
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(directory)) from None


def _sibling(directory: Path) -> Path:
    """A hidden name beside `directory` that nobody else uses."""
    return directory.with_name(f".{directory.name}.{uuid.uuid4().hex[:12]}.part")


def _make_parents(parent: Path) -> list[Path]:
    """Make `parent` and what is missing above it; return what was made, outermost first."""
    missing = [folder for folder in (parent, *parent.parents) if not folder.exists()][::-1]
    parent.mkdir(parents=True, exist_ok=True)
    return missing


def _take_place(fresh: Path, directory: Path, replace: bool) -> None:
    """Rename `fresh` to `directory`; an old one steps aside first and is deleted last."""
    if not (replace and directory.exists()):
        if directory.is_dir():
            directory.rmdir()  # refuses unless empty, and Windows cannot rename onto a directory
        fresh.rename(directory)
        return
    old = _sibling(directory)
    directory.rename(old)
    try:
        fresh.rename(directory)
    except BaseException:
        old.rename(directory)
        raise
    shutil.rmtree(old, ignore_errors=True)
