"""Where temporary files of the tests are."""

from __future__ import annotations

import fcntl
import os
import tempfile
from pathlib import Path

import pytest

from tests.support import scratch


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that stands for that in memory, and has enough room."""
    monkeypatch.setattr(scratch, "_MEMORY", tmp_path)
    monkeypatch.setattr(scratch, "_NEEDED", 1)
    monkeypatch.setattr(tempfile, "tempdir", tempfile.gettempdir())
    return tmp_path


def test_temporary_files_go_to_memory_for_all_processes_of_a_run(memory: Path) -> None:
    environ: dict[str, str] = {}
    scratch.keep_in_memory(environ)
    (folder,) = memory.iterdir()
    assert environ == {"TMPDIR": str(folder)}
    scratch.keep_in_memory(environ)  # as a process that the first one starts
    assert [*memory.iterdir()] == [folder]


@pytest.mark.parametrize(("given", "needed"), [({"TMPDIR": "/tmp"}, 1), ({}, 2**62)])
def test_a_place_that_is_named_stays_and_so_does_the_usual_one_where_memory_is_short(
    given: dict[str, str], needed: int, memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scratch, "_NEEDED", needed)
    environ = given.copy()
    scratch.keep_in_memory(environ)
    assert environ == given
    assert [*memory.iterdir()] == []


def test_a_run_removes_what_a_killed_one_has_left_and_nothing_of_one_that_goes_on(memory: Path) -> None:
    killed, running, other = (memory / name for name in ("pct-1", "pct-2", "other"))
    for folder in (killed, running, other):
        (folder / "files").mkdir(parents=True)
    lock = os.open(running, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    scratch.keep_in_memory({})
    os.close(lock)
    assert {running, other} < {*memory.iterdir()}
    assert not killed.exists()
