"""Where the recorded traces and tables lie, for the tests that use them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def data_folder() -> Path:
    """The folder of workload data: FAIRQ_DATA, or ../shared/data beside the repository.

    Skips the test where it is absent.
    """
    given = os.environ.get("FAIRQ_DATA")
    folder = Path(given) if given else Path(__file__).resolve().parents[1].parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"the workload data are not at {folder} (FAIRQ_DATA says where they are)")
    return folder
