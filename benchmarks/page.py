"""The tables of docs/performance.md, which are those of a kept run.

A block of text there is known by its first words, and holds what the suite prints under them.
"""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks import targets
from benchmarks.keeping import Kept
from benchmarks.tables import contest_table, heading, memory_table

__all__ = ["PAGE", "blocks", "renewed"]

PAGE = Path(__file__).resolve().parent.parent / "docs" / "performance.md"
_BLOCK = re.compile(r"^```text\n(.*?)^```", re.DOTALL | re.MULTILINE)


def blocks(kept: Kept) -> dict[str, str]:
    """Text by its first words; contests of one kind (oracle, growth) are one block."""
    tables = ["\n".join(contest_table(outcome)) for outcome in kept.outcomes]
    tables += ["\n".join(heading(kept)), "\n".join(targets.table(kept))]
    tables += ["\n".join(memory_table(kept.peaks))] if kept.peaks else []
    found: dict[str, str] = {}
    for text in tables:
        found[_key(text)] = found.get(_key(text), "") + text + "\n"
    return found


def renewed(page: str, kept: Kept) -> str:
    r"""The page with its tables as in `kept`; a table that was not measured stays as it is.

    >>> print(renewed("As follows.\n```text\ndate: 1999\n```", Kept({"date": "2026"})))
    As follows.
    ```text
    date: 2026
    ```
    """
    known = blocks(kept)
    return _BLOCK.sub(lambda found: f"```text\n{known.get(_key(found[1]), found[1])}```", page)


def _key(text: str) -> str:
    """The first two words; of a heading, whose second word is the date, one."""
    words = text.split()[:2]
    return words[0] if words[0] == "date:" else " ".join(words)
