"""Every code block of a page is run by a test that is named before it, or says why not and is well formed."""

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml

import dev
from service.__main__ import _parser
from service.settings import load
from tests.docs.blocks import Block, blocks
from tests.docs.pages import ROOT, pages
from tests.support.cases import with_each

SHOWING = [*pages(), ROOT / "policies" / "README.md"]
PAGES = [page for page in SHOWING if blocks(page)]
UNRUN = [
    block
    for page in PAGES
    for block in blocks(page)
    # Blocks of translated pages are those of the English ones, which run them.
    if block.mark.startswith("not run: ") and "tests/docs/test_chinese_pages.py" not in block.mark
]
SETTINGS = [block.text for page in PAGES for block in blocks(page) if block.kind == "toml"]
DEV_COMMANDS = {*dev.PROGRAMS, "check", "docs", "sbom"}
_FILE = re.compile(r"\btests(?:/\w+)+(?:\.py)?")


def fault_of(page: Path, mark: str) -> str | None:
    """Return what is wrong with the mark of a block; None if nothing is.

    A test that runs blocks names their page, or finds it by the mark.
    """
    if missing := [name for name in _FILE.findall(mark) if not (ROOT / name).exists()]:
        return f"{missing[0]} is not there"
    if mark.startswith("not run: "):
        return None if len(mark.split()) > 6 else "a reason is missing"
    if not (runner := re.fullmatch(r"run by (tests/\S+\.py)", mark)):
        return "no comment before it says which test runs it"
    text = (ROOT / runner[1]).read_text(encoding="utf-8")
    name = page.parent.name if page.stem == "README" and page.parent != ROOT else page.stem
    return None if name in text or "blocks(page)" in text else f"{runner[1]} does not name the page"


@with_each("page", PAGES)
def test_every_block_is_run_by_a_test_or_says_why_not(page: Path) -> None:
    wrong = {block.text.splitlines()[0]: fault_of(page, block.mark) for block in blocks(page)}
    assert {line: fault for line, fault in wrong.items() if fault} == {}


_READER = re.compile(r"^(?:member|show)\(\) \{\n.*?^\}\n", re.DOTALL | re.MULTILINE)
READERS = {reader for page in PAGES for block in blocks(page) for reader in _READER.findall(block.text)}
"""The helpers of pages that read members of answers."""


@with_each("reader", sorted(READERS))
@with_each(
    ("answer", "message"),
    [('{"detail": "Log in first"}', "Log in first\n"), ("", "no answer\n")],
)
def test_what_reads_an_answer_says_why_there_is_none(reader: str, answer: str, message: str) -> None:
    name, _, _ = reader.partition("(")
    words = ["bash", "-c", f"{reader}{name} id"]
    ended = subprocess.run(words, input=answer, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, "", message)


def test_no_page_reads_an_answer_in_another_way() -> None:
    assert [page.name for page in PAGES for block in blocks(page) if "member() { " in block.text] == []


def commands(block: Block) -> list[list[str]]:
    """Return the words of each command of a shell block; a quoted text may have several lines."""
    collected: list[list[str]] = []
    open_line = ""
    for line in block.text.replace("\\\n", " ").splitlines():
        try:
            words = shlex.split(open_line + line, comments=True)
        except ValueError:  # a quotation goes on
            open_line += f"{line}\n"
        else:
            collected.append(words)
            open_line = ""
    assert not open_line
    return [words for words in collected if words]


def is_ours(words: list[str], place: int) -> bool:
    """Tell whether the word at ``place`` is our program, not the name of an account or a namespace."""
    before = words[place - 1] if place else "="  # or an assignment
    is_named = words[place] == "portcullis" or words[place].endswith("/bin/portcullis")
    return is_named and ("=" in before or before in {"dev.py", "service", "--"})


def test_commands_that_are_not_run_exist_with_their_options() -> None:
    shown = [block for block in UNRUN if block.kind == "sh" and "<<" not in block.text]
    lines = [words for block in shown for words in commands(block)]
    assert {words[2] for words in lines if words[:2] == ["python3", "dev.py"]} <= DEV_COMMANDS
    ours = [words[place + 1 :] for words in lines for place in range(len(words)) if is_ours(words, place)]
    assert len(ours) > 20
    for words in ours:
        assert _parser().parse_args(words).family == words[0]  # it exits for what it does not know


def test_what_is_not_run_can_be_read() -> None:
    assert {"json", "yaml", "python"} <= {block.kind for block in UNRUN}
    for block in UNRUN:
        if block.kind == "json":
            json.loads(block.text.replace("\n", " "))
        if block.kind == "yaml":
            yaml.safe_load(block.text)
        if block.kind == "python":
            compile(block.text, "block", "exec")


@pytest.mark.parametrize("text", SETTINGS, ids=lambda text: text.splitlines()[1])
def test_the_service_takes_the_settings_that_are_shown(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("portcullis.toml").write_text(text, encoding="utf-8")
    secret = {
        "JWT_SECRET": "kX7-Qw2zPv9_LrT4mNb8sYc1HjD6gUfEoAi3ZxKlVtR",
        "SIEM_SECRET": "whsec_k7h2m9Qx4vT1bW8nR5sY3cJ6dL0fGpZa",
    }
    assert load(secret) != load(secret | {"PORTCULLIS_CONFIG": ""})  # what load does not know it refuses
