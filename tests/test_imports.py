"""What `import fairq` costs and offers."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import fairq

HEAVY = [
    "jinja2", "joblib", "llvmlite", "matplotlib", "numba", "pydantic", "scipy.stats", "seaborn", "tqdm",
]  # fmt: skip
"""Needed only to draw, report, read a scenario or compile: each costs tenths of a second to import."""

MODULES = "print(*sys.modules, file=sys.stderr)"
RUN = "fairq.simulate(fairq.Workload.from_arrays([3, 1]), 'fcfs', batch_size=2, engine='auto')"
COMMAND = "from fairq.cli import main; main(sys.argv[1:])"


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        ("", []),
        (RUN, []),  # what is small is not worth loading a compiler
        (COMMAND, ["--help"]),
        (COMMAND, ["run", "--help"]),
        (COMMAND, ["--version"]),
        (COMMAND, ["policies"]),
    ],
    ids=["import", "simulate", "help", "run help", "version", "policies"],
)
def test_what_is_heavy_is_left_alone(program: str, arguments: list[str]) -> None:
    command = [sys.executable, "-c", f"import sys, fairq\n{program}\n{MODULES}", *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "fairq.simulate" in done.stderr.split()
    assert not set(done.stderr.split()) & set(HEAVY)


@pytest.mark.parametrize("name", fairq.__all__)
def test_public_names_exist_and_say_what_they_are(name: str) -> None:
    assert getattr(fairq, name).__doc__


def test_public_surface_is_small_and_in_order() -> None:
    assert len(set(fairq.__all__)) == len(fairq.__all__) <= 40
    assert set(fairq.__all__) <= set(dir(fairq))


def imported_modules(path: Path) -> set[str]:
    """The modules that a source file names in its imports, wherever in it they stand."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(f"{'.' * node.level}{node.module or ''}")
    return found


def test_theory_never_imports_the_engine() -> None:
    sources = list((Path(fairq.__file__).parent / "theory").glob("*.py"))
    named = set().union(*(imported_modules(path) for path in sources))
    ours = {name for name in named if name.startswith(("fairq", "."))}
    assert "fairq.theory.bounds" in ours
    own = {name for name in ours if name.startswith("fairq.theory.")}
    assert ours - own <= {"fairq.errors", "fairq.validation", "fairq.workload"}
