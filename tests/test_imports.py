"""What `import fairq` costs and offers."""

from __future__ import annotations

import subprocess
import sys

import pytest

import fairq

HEAVY = ["jinja2", "joblib", "matplotlib", "pydantic", "scipy.stats", "seaborn", "tqdm"]
"""Needed only to draw, to report or to read a scenario: each costs tenths of a second to import."""


def test_import_is_light() -> None:
    program = "import sys, fairq; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert not set(done.stdout.split()) & set(HEAVY)


@pytest.mark.parametrize("name", fairq.__all__)
def test_public_names_exist_and_say_what_they_are(name: str) -> None:
    assert getattr(fairq, name).__doc__


def test_public_surface_is_small_and_in_order() -> None:
    assert len(set(fairq.__all__)) == len(fairq.__all__) <= 40
    assert set(fairq.__all__) <= set(dir(fairq))


def test_theory_never_imports_the_engine() -> None:
    program = "import sys, fairq.theory; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    before = subprocess.run(
        [sys.executable, "-c", program.replace(", fairq.theory", ", fairq")],
        check=True,
        capture_output=True,
        text=True,
    )
    added = set(done.stdout.split()) - set(before.stdout.split())
    assert {name for name in added if name.startswith("fairq")} <= {"fairq.theory", "fairq.theory.bounds"}
