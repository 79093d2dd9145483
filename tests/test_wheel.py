"""What is installed: the package and the gallery of scenarios, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path, PurePosixPath
from zipfile import ZipFile

import pytest

SOURCE = Path(os.environ.get("FAIRQ_SOURCE", Path(__file__).parents[1])).resolve()
"""The clone to build from: this one, unless the tests run beside an installed wheel, away from the source."""


def files_of(folder: str) -> list[PurePosixPath]:
    """What git knows under `folder`, or would know at the next `git add`."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", folder],
        check=True,
        cwd=SOURCE,
        capture_output=True,
        text=True,
    ).stdout
    return [PurePosixPath(name) for name in listing.split("\0") if name and (SOURCE / name).exists()]


@pytest.fixture(scope="module")
def wheel_files(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    folder = tmp_path_factory.mktemp("wheel")
    command = [
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        str(folder),
        str(SOURCE),
    ]
    subprocess.run(command, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    (wheel,) = folder.glob("*.whl")
    return set(ZipFile(wheel).namelist())


def test_the_wheel_holds_exactly_what_it_should(wheel_files: set[str]) -> None:
    version = tomllib.loads((SOURCE / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    package = {str(path) for path in files_of("fairq")}
    gallery = {
        str("fairq/gallery" / path.relative_to("scenarios"))
        for path in files_of("scenarios")
        if path.suffix in {".toml", ".py", ".csv", ".html", ".j2"}  # and what studies keep
    }
    about = ["METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"]
    assert {"fairq/__init__.py", "fairq/py.typed"} <= package
    assert {"fairq/gallery/table1.toml", "fairq/gallery/replay.toml"} <= gallery
    assert wheel_files == package | gallery | {f"fairq-{version}.dist-info/{name}" for name in about}


@pytest.mark.parametrize("folder", ["analysis", "tests", "benchmarks", "docs", "scenarios"])
def test_other_folders_stay_out(wheel_files: set[str], folder: str) -> None:
    assert files_of(folder)
    assert not [name for name in wheel_files if name.startswith(f"{folder}/")]
