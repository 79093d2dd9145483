"""Where the handed cases lie: small instances with their exact schedules, one JSON object a line."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

Case = dict[str, Any]


def cases_folder() -> Path:
    """The folder that the environment variable FAIRQ_CASES names, else shared/cases beside the repository."""
    named = os.environ.get("FAIRQ_CASES")
    return Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "cases"


def read_cases(name: str) -> list[Case]:
    """All rows of the file `name`; the calling test is skipped, with the reason, where the file is absent."""
    path = cases_folder() / name
    if not path.is_file():
        pytest.skip(f"no handed cases at {path}: set FAIRQ_CASES to their folder")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
