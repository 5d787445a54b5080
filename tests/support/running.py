"""The service as its operators run it: the launcher and all its processes, seen from outside.

The launcher is a fork of a process that has imported the service, and so is the template of the workers: a
start takes a quarter of the processor time, and passwords are hashed cheaply. Tests of the processes
themselves, of their memory or environment, use ``running_anew``, which runs ``python -m service``.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Final

import httpx

from tests.support import command_process
from tests.support.waiting import eventually
from tests.support.without import OFF

PATIENT: Final = {"PORTCULLIS_DATABASE__TIMEOUT": "10", "PORTCULLIS_REDIS__TIMEOUT": "5"}
"""Seconds in which stores that serve answer, however busy the machine is."""
ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60.0  # seconds; a start takes three, more where other tests keep the cores busy

_LISTENING = re.compile(r"^  listening +(http://127\.0\.0\.1:(\d+))$", re.MULTILINE)
_PASSWORD = re.compile(r"^  Password: (.*)$", re.MULTILINE)
_TEMPLATE = b"multiprocessing.forkserver"  # the process that the workers are forked from


def environment(folder: Path, **variables: str) -> dict[str, str]:
    """Return the variables of a fresh account whose home is ``folder``, and ``variables``."""
    kept = {"PATH": os.environ["PATH"], "TMPDIR": tempfile.gettempdir()}
    kept |= {"PORTCULLIS_SERVER__STOP_GRACE": "0"}  # nobody else's requests are there to wait for
    kept |= {"PORTCULLIS_PASSWORD__INITIAL": "false"}  # most log in with the password of the first start
    return kept | OFF | {"HOME": str(folder), "PYTHONPATH": str(ROOT)} | variables


def command(*arguments: str) -> list[str]:
    """Return the words that run the command line of the service."""
    return [sys.executable, "-P", "-m", "service", *arguments]


@dataclass(frozen=True)
class Ended:
    """A command that has ended: its exit status and what it wrote."""

    status: int
    output: str
    errors: str


def portcullis(folder: Path, *arguments: str, given: str = "", **variables: str) -> Ended:
    """Run a command to its end in ``folder``, with the text ``given`` at its standard input."""
    return Ended(*command_process.run(folder, arguments, environment(folder, **variables), given, PATIENCE))


class Forked:
    """A launcher that was forked, with the methods of ``subprocess.Popen`` that tests use."""

    def __init__(self, process: BaseProcess) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        """The process id."""
        assert self._process.pid is not None
        return self._process.pid

    def poll(self) -> int | None:
        """Return the exit status, None while it runs."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit status once it has ended; TimeoutExpired after ``timeout`` seconds."""
        self._process.join(timeout)
        status = self._process.exitcode
        if status is None:
            raise subprocess.TimeoutExpired("portcullis serve", timeout or 0)
        return status

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)


class Running:
    """A service that was started in ``folder``; its options and variables are those of ``serve``."""

    process: Forked | subprocess.Popen[bytes]

    def __init__(self, folder: Path, *options: str, **variables: str) -> None:
        self._out, self._err = (
            Path(tempfile.mkstemp(dir=folder, suffix=suffix)[1]) for suffix in (".out", ".err")
        )
        words, environ = ("serve", "--port", "0", *options), environment(folder, **variables)
        self._start(folder, words, environ)

    def _start(self, folder: Path, words: tuple[str, ...], environ: dict[str, str]) -> None:
        files = Path(os.devnull), self._out, self._err
        self.process = Forked(command_process.start(folder, words, environ, files))

    def wait(self) -> None:
        """Return when the banner is out and a worker is there; AssertionError when the service has ended."""
        assert eventually(
            lambda: self._has_ended() or bool(_LISTENING.search(self.errors) and self.workers),
            patience=PATIENCE,
        )
        assert not self._has_ended(), self.errors

    @property
    def errors(self) -> str:
        """What stands on standard error so far: the banner, and nothing else when all is well."""
        return self._err.read_text()

    @property
    def output(self) -> str:
        """What stands on standard output so far: the log."""
        return self._out.read_text()

    @property
    def log(self) -> list[dict[str, Any]]:
        """The lines of the log, each of them JSON; the last one may still be on its way."""
        return [json.loads(line) for line in self.output.splitlines(keepends=True) if line.endswith("\n")]

    def line_of(self, request_id: str) -> dict[str, Any]:
        """Return the log line of a request that has been answered."""
        lines: list[dict[str, Any]] = []

        def is_there() -> bool:
            written = [line for line in self.output.splitlines() if request_id in line and line.endswith("}")]
            lines.extend(line for line in map(json.loads, written) if line["event"] == "request")
            return bool(lines)

        assert eventually(is_there)
        return lines[0]

    @property
    def url(self) -> str:
        """Where the service listens, as the banner says."""
        return self._listening[1]

    @property
    def port(self) -> int:
        """The port of ``url``."""
        return int(self._listening[2])

    @property
    def password(self) -> str | None:
        """What the banner says of the first administrator's password; None when it says nothing."""
        match = _PASSWORD.search(self.errors)
        return match and match[1].split("   ")[0]

    @property
    def workers(self) -> list[int]:
        """The process ids of the workers that live."""
        parents = _parents()
        templates = self._templates(parents)
        return sorted(pid for pid, parent in parents.items() if parent in templates)

    @property
    def templates(self) -> list[int]:
        """The process id of the process that workers are forked from; none while it is missing."""
        return self._templates(_parents())

    def _templates(self, parents: Mapping[int, int]) -> list[int]:
        started = sorted(pid for pid, parent in parents.items() if parent == self.process.pid)
        return [pid for pid in started if _TEMPLATE in _read(pid, "cmdline")]

    def client(self) -> httpx.Client:
        """Return a client of the service; the caller closes it."""
        # No certificates: reading them takes 20 milliseconds, longer than most requests.
        return httpx.Client(base_url=self.url, timeout=PATIENCE, trust_env=False, verify=False)

    def stop(self) -> int:
        """Ask the service to stop if it runs; return its exit status. AssertionError when it goes on."""
        if not self._has_ended():
            self.process.terminate()
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError("the service does not stop at SIGTERM") from None

    def kill(self) -> None:
        """End the launcher as ``kill -9`` does, and return when it is gone."""
        self.process.kill()
        self.process.wait(PATIENCE)

    def _has_ended(self) -> bool:
        return self.process.poll() is not None

    @property
    def _listening(self) -> re.Match[str]:
        match = _LISTENING.search(self.errors)
        assert match is not None, self.errors
        return match


class RunningAnew(Running):
    """The same, as ``python -m service``."""

    def _start(self, folder: Path, words: tuple[str, ...], environ: dict[str, str]) -> None:
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                command(*words), cwd=folder, env=environ, stdin=subprocess.DEVNULL, stdout=out, stderr=err
            )


def running(folder: Path, *options: str, **variables: str) -> AbstractContextManager[Running]:
    """Start the service, yield it when its banner is out, and stop it."""
    return _until_stopped(Running(folder, *options, **variables))


def running_anew(folder: Path, *options: str, **variables: str) -> AbstractContextManager[Running]:
    """Do the same with ``python -m service``."""
    return _until_stopped(RunningAnew(folder, *options, **variables))


@contextmanager
def _until_stopped(service: Running) -> Iterator[Running]:
    try:
        service.wait()
        yield service
    finally:
        service.stop()


def descendants(pid: int) -> list[int]:
    """Return the ids of all processes below ``pid`` that have not ended."""
    parents = _parents()
    pids, level = [], [pid]
    while level := [child for child, parent in parents.items() if parent in level]:
        pids += level
    return sorted(pids)


def children(pid: int) -> list[int]:
    """Return the ids of the children of ``pid`` that have not ended."""
    return sorted(child for child, parent in _parents().items() if parent == pid)


def _parents() -> dict[int, int]:
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and (stat := _read(int(entry.name), "stat")):
            # Field 2, the name, is in parentheses and may hold any character.
            state, parent = stat.rpartition(b") ")[2].split()[:2]
            if state != b"Z":
                parents[int(entry.name)] = int(parent)
    return parents


def lives(pid: int) -> bool:
    """Tell whether a process exists and is more than a zombie that nobody has waited for."""
    stat = _read(pid, "stat")
    return bool(stat) and stat.rpartition(b") ")[2][:1] != b"Z"


def kilobytes(pid: int, name: str) -> int:
    """Return a figure of a process's memory in kB: ``Rss`` or ``Pss``."""
    match = re.search(rf"^{name}: +(\d+) kB$".encode(), _read(pid, "smaps_rollup"), re.MULTILINE)
    assert match is not None
    return int(match[1])


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""  # it has ended
