"""A directory is written whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairq.rundir import written_whole


def write(
    directory: Path, text: str, *, replace: bool = False, fail: type[BaseException] | None = None
) -> None:
    with written_whole(directory, replace=replace) as fresh:
        (fresh / "a.txt").write_text(text, encoding="utf-8")
        if fail:
            raise fail


def test_it_appears_under_its_name_only_when_done(tmp_path: Path) -> None:
    with written_whole(tmp_path / "deep" / "run") as fresh:
        assert not (tmp_path / "deep" / "run").exists()
        assert fresh.parent == tmp_path / "deep"
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["run"]


@pytest.mark.parametrize("error", [ValueError, OSError, KeyboardInterrupt])
def test_a_failure_leaves_nothing_not_even_parents(tmp_path: Path, error: type[BaseException]) -> None:
    with pytest.raises(error):
        write(tmp_path / "x" / "y" / "run", "text", fail=error)
    assert list(tmp_path.iterdir()) == []


def test_a_failure_leaves_the_old_one_as_it_was(tmp_path: Path) -> None:
    write(tmp_path / "run", "old")
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "run", "new", replace=True, fail=KeyboardInterrupt)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert (tmp_path / "run" / "a.txt").read_text(encoding="utf-8") == "old"


def test_replacing_leaves_nothing_of_the_old_one(tmp_path: Path) -> None:
    write(tmp_path / "run", "old")
    (tmp_path / "run" / "b.txt").touch()
    write(tmp_path / "run", "new", replace=True)
    assert [path.name for path in tmp_path.rglob("*")] == ["run", "a.txt"]
    assert (tmp_path / "run" / "a.txt").read_text(encoding="utf-8") == "new"


def test_what_appeared_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    def meanwhile() -> None:
        with written_whole(tmp_path / "run"):
            (tmp_path / "run").mkdir()
            (tmp_path / "run" / "precious").touch()

    with pytest.raises(OSError, match="not empty"):
        meanwhile()
    assert [path.name for path in tmp_path.rglob("*")] == ["run", "precious"]


def test_an_empty_directory_may_be_used(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    write(tmp_path / "run", "text")
    assert (tmp_path / "run" / "a.txt").exists()
