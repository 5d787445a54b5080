"""Tests in several processes that are forked once the tests have been collected."""

import os
import subprocess
import sys
from pathlib import Path

from tests.support.running import ROOT

_FILES = {
    "test_first.py": """
import os, pytest

@pytest.fixture(scope="session")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    yield folder
    assert not (folder / "broken").exists(), "at the end of the session"

def test_passes(made):
    print("unread")

def test_fails(made):
    print("printed before")
    assert os.getpid() == 0

def test_leaves_something(made):
    (made / "broken").touch()
""",
    "test_second.py": """
import os, pytest

def test_begins():
    pass

def test_ends_its_process():
    os._exit(7)

def test_goes_on():
    pass
""",
    "test_third.py": """
import pytest

def test_is_skipped():
    pytest.skip("no reason")

@pytest.mark.xfail
def test_expected():
    assert False
""",
}


def run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    for name, text in _FILES.items():
        (folder / name).write_text(text, "utf-8")
    words = ["-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:xdist.looponfail", "-c", os.devnull]
    plugins = ["-p", "tests.support.parallel", "--rootdir", str(folder)]
    return subprocess.run(
        [sys.executable, "-P", "-m", "pytest", *words, *plugins, *options, str(folder)],
        env={"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"], "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_each_outcome_is_reported_and_what_a_crash_interrupts_goes_on(tmp_path: Path) -> None:
    ended = run(tmp_path, "-n", "2")

    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert "2 failed, 4 passed, 1 skipped, 1 xfailed, 1 error" in ended.stdout.splitlines()[-1]
    assert "printed before" in ended.stdout
    assert "unread" not in ended.stdout
    assert "test_second.py::test_ends_its_process" in ended.stdout
    assert "ended in this test, with status 7" in ended.stdout
    assert "AssertionError: at the end of the session" in ended.stdout
    assert ended.stderr == ""


def test_a_run_ends_at_the_first_failure_if_it_is_told_so(tmp_path: Path) -> None:
    ended = run(tmp_path, "-n", "2", "-x", "--deselect", "test_second.py::test_ends_its_process")

    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert "stopping after 1 failures" in ended.stdout
    assert ended.stderr == ""
