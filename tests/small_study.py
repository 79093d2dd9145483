"""A scenario that runs in a moment, for the tests of studies, reports and the command."""

from __future__ import annotations

from pathlib import Path

SMALL = """
name = "small"
seed = 7
replications = 3
[workload]
requests = 30
tokens = { dist = "randint", low = 1, high = 21 }
[pool]
workers = 2
batch_size = 3
[[policies]]
name = "fcfs"
[[policies]]
name = "ljf"
[[policies]]
name = "isjl"
alpha = [2, 6.5]
pack_order = "descending"
"""


def small_scenario(folder: Path, text: str = SMALL) -> Path:
    """The scenario's file, written into `folder`."""
    path = folder / "small.toml"
    path.write_text(text, encoding="utf-8")
    return path
