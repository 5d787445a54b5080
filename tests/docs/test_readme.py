"""README.md tells the truth: its tour runs, and its commands exist."""

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dev
from service.__main__ import main
from tests.docs.blocks import END, Step, check, is_like, parsed, script, steps
from tests.docs.pages import ROOT, between
from tests.support.ports import free_port

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
PATIENCE = 180  # seconds; the tour takes six


def commands(text: str) -> list[list[str]]:
    """Return the words of each command of the sh blocks of ``text``, without comments."""
    joined = "\n".join(block.text for block in parsed(text) if block.kind == "sh")
    return [
        words
        for line in joined.replace("\\\n", " ").splitlines()
        if (words := shlex.split(line, comments=True))
    ]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout whose packages are installed, so that nothing is fetched, with a python3 that fits them."""
    root = tmp_path / "checkout"
    for folder in (root / ".venv" / "bin", tmp_path / "bin", tmp_path / "tmp", tmp_path / "home"):
        folder.mkdir(parents=True)
    for name in ("dev.py", "pyproject.toml", "uv.lock"):
        (root / name).write_bytes((ROOT / name).read_bytes())
    for name in ("service", "policies", "model.conf"):
        (root / name).symlink_to(ROOT / name)
    for python in (root / ".venv" / "bin" / "python", tmp_path / "bin" / "python3"):
        python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
        python.chmod(0o755)
    (root / ".venv" / ".synced").write_text(f"{dev.PLAIN} {dev.fingerprint()}")
    return root


def outputs(checkout: Path, tour: list[Step]) -> list[str]:
    """Run the steps one after another in one shell; return what each wrote to standard output."""
    place = checkout.parent
    (place / "tour.sh").write_text(script(tour).replace("8080", str(free_port())))
    variables = {
        "PATH": f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(place / "home"),
        "TMPDIR": str(place / "tmp"),
    }
    with (place / "out").open("wb") as out, (place / "err").open("wb") as err:
        shell = subprocess.Popen(
            ["bash", "-e", str(place / "tour.sh")],
            cwd=checkout,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        try:
            status = shell.wait(PATIENCE)
        finally:
            end_session(shell.pid)
    assert status == 0, (place / "out").read_text() + (place / "err").read_text()
    return (place / "out").read_text().split(f"{END}\n")[:-1]


def end_session(leader: int) -> None:
    """Kill what a failed tour left in the shell's process group; embedded stores follow by themselves."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        return  # nothing is left, as it should be


@pytest.mark.stores  # starts them by commands of its own
def test_the_tour_runs_and_answers_as_it_is_shown(checkout: Path) -> None:
    tour = steps(parsed(between(TEXT, "tour")))
    assert len(tour) >= 6
    for step, output in zip(tour, outputs(checkout, tour), strict=True):
        check(step, output)
    assert list((checkout.parent / "tmp").iterdir()) == []


def test_the_first_screen_shows_the_console_and_a_decision_explained_before_the_two_commands() -> None:
    before = TEXT.partition("```sh")[0]
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", before)
    assert len(pictures) == 2
    assert all((ROOT / picture).is_file() for picture in pictures)
    assert "docs/guides/console/explain.webp" in pictures


def test_the_two_commands_come_first() -> None:
    assert commands(TEXT)[:2] == [["python3", "dev.py", "run"], ["python3", "dev.py", "test"]]


def test_every_command_of_dev_py_that_is_named_exists() -> None:
    named = {words[2] for words in commands(TEXT) if words[:2] == ["python3", "dev.py"]}
    expected = {"run", "test", "bench", "check", "docs", "portcullis", "release"}
    assert expected == named == {*dev.PROGRAMS, "check", "docs"}


@pytest.mark.parametrize(
    "arguments",
    [words[words.index("portcullis") + 1 :] for words in commands(TEXT) if "portcullis" in words],
    ids=" ".join,
)
def test_every_command_of_portcullis_that_is_named_exists(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--help"])
    assert ended.value.code == 0
    assert "usage: portcullis" in capsys.readouterr().out


OTHERS: list[Any] = [
    {"a": ["xyz", True]},
    {"a": ["xz", 1]},
    {"a": ["xyz", 1, 2]},
    {"a": ["xyz", 1], "b": 0},
    [],
]


def test_likeness_is_exact_but_for_what_is_left_open() -> None:
    assert is_like({"a": ["x…z", 1]}, {"a": ["xyz", 1]})
    assert not any(is_like({"a": ["x…z", 1]}, other) for other in OTHERS)
