"""The documentation is true: its code blocks run, its commands succeed, its links lead somewhere."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from sybil import Document, Example
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser
from sybil.parsers.markdown.lexers import RawFencedCodeBlockLexer

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
TRACE = "arrived_at,num_prefill_tokens,num_decode_tokens\n0.0,374,44\n0.5,396,109\n0.9,879,55\n1.25,91,16\n"
"""What a document may replay as trace.csv: the columns of the recorded traces."""

FAIRQ = [sys.executable, "-c", "import sys; from fairq.cli import main; sys.exit(main())"]
SET_UP = {"make", "git", "pip", "python", ".venv/bin/pre-commit"}
"""Commands that make an environment; continuous integration runs them, a test cannot."""

SHOWN = {"text", "csv", "json"}
"""Languages of blocks that show what something looks like; nothing in them could run."""


def run_commands(example: Example) -> None:
    """Run each line that starts with fairq; refuse one that is neither that nor a known command of set-up."""
    for line in example.parsed.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if not words or words[0] in SET_UP:
            continue
        assert words[0] == "fairq", (
            f"{example.path}, line {example.line}: nothing checks the command {line!r}"
        )
        done = subprocess.run(
            [*FAIRQ, *words[1:]], check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL
        )
        expected = re.search(r"# exit status (\d)", line)
        status = int(expected[1]) if expected else 0
        assert done.returncode == status, f"{line}\n{done.stdout}\n{done.stderr}"


def read_toml(example: Example) -> None:
    """A piece of a scenario must at least be TOML."""
    tomllib.loads(example.parsed)


PARSERS = [
    PythonCodeBlockParser(),
    CodeBlockParser("shell", run_commands),
    CodeBlockParser("toml", read_toml),
]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_code_blocks_run(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "trace.csv").write_text(TRACE)
    monkeypatch.chdir(tmp_path)
    document = Document.parse(str(path), *PARSERS)
    document.namespace["__name__"] = "__main__"
    for example in document.examples():
        example.evaluate()


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_no_code_block_is_left_out(path: Path) -> None:
    document = Document(path.read_text(encoding="utf-8"), str(path))
    info_line = re.compile(r"(?P<language>[^\n]*)\n")
    known = {"python", "shell", "toml"} | SHOWN
    for region in RawFencedCodeBlockLexer(info_line)(document):
        language = region.lexemes["language"]
        assert language in known, f"{path.name}: nothing checks a block in {language!r}"


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    targets = re.findall(r"\]\(([^)#\s]+)", text)
    broken = [target for target in targets if "://" not in target and not (path.parent / target).exists()]
    assert not broken


def test_the_documents_hold_code() -> None:
    assert len(list(Document.parse(str(ROOT / "README.md"), *PARSERS).examples())) >= 2


def test_a_failing_command_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.md").write_text("```shell\nfairq run no-such-scenario\n```\n")
    (example,) = Document.parse("bad.md", *PARSERS).examples()
    with pytest.raises(AssertionError, match="no-such-scenario"):
        example.evaluate()
