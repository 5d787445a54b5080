"""Processes are found by where they work, and a freeze misses none of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from service.embedded.processes import at_work_in, freeze_all, has_stopped, send
from tests.support.waiting import eventually, freeze

MANY = 5
# Makes children without a pause, each of which lives for a moment and computes.
PARENT = """
import os, time
def child():
    end = time.monotonic() + 0.02
    while time.monotonic() < end:
        pass
    os._exit(0)
children = 0
while True:
    if children == 3:
        os.wait()
        children -= 1
    os.fork() or child()
    children += 1
"""


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process at work in ``tmp_path`` that has a child at any time."""
    process = subprocess.Popen([sys.executable, "-c", PARENT], cwd=tmp_path, start_new_session=True)
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def name_of(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()


def test_a_freeze_returns_when_all_have_stopped_also_children_made_meanwhile(
    busy: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    name = name_of(busy.pid)
    for _ in range(MANY):
        assert eventually(lambda: len(at_work_in(tmp_path, name)) > 1)
        freeze_all(tmp_path, name)
        frozen = at_work_in(tmp_path, name)
        assert [pid for pid in frozen if not has_stopped(pid)] == []
        assert at_work_in(tmp_path, name) == frozen
        send(frozen, signal.SIGCONT)


def test_a_process_counts_as_stopped_once_it_is_and_no_longer(busy: subprocess.Popen[bytes]) -> None:
    assert not has_stopped(busy.pid)
    freeze(busy.pid)
    assert has_stopped(busy.pid)
    os.kill(busy.pid, signal.SIGCONT)
    assert eventually(lambda: not has_stopped(busy.pid))


def test_a_process_that_has_ended_counts_as_stopped(busy: subprocess.Popen[bytes]) -> None:
    busy.kill()
    assert eventually(lambda: has_stopped(busy.pid))
    busy.wait()
    assert has_stopped(busy.pid)
