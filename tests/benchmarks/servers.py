"""The servers that benchmarks measure: one worker each, on the first core, with the load on another."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

FIRST_CORE = {min(os.sched_getaffinity(0))}


@dataclass(frozen=True)
class Server:
    """A server that runs."""

    port: int
    pid: int

    def cpu_seconds(self) -> float:
        """Return the processor time that the server has used, by proc(5)."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(") ")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def pin_to_last_core() -> None:
    """Keep this process off the core of the servers, where there are two."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def serving(factory: str, environ: Mapping[str, str]) -> AbstractContextManager[Server]:
    """Run uvicorn with one worker of ``factory`` (``module:name``) and yield it; its log goes to a file."""
    words = ["--factory", "--loop", "uvloop", "--http", "httptools", "--no-access-log"]
    return _running(
        ["uvicorn", factory, *words, "--no-proxy-headers", "--no-server-header", "--port"], environ
    )


def serving_worker(environ: Mapping[str, str]) -> AbstractContextManager[Server]:
    """Run one worker of the service, as the launcher runs it, and yield it; its log goes to a file."""
    return _running(["tests.benchmarks.worker"], environ)


@contextmanager
def _running(module: list[str], environ: Mapping[str, str]) -> Iterator[Server]:
    """Run a module of Python with the number of a free port as its last argument."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port: int = bound.getsockname()[1]
    with tempfile.TemporaryFile() as log:
        server = subprocess.Popen(
            [sys.executable, "-m", *module, str(port)],
            env={**os.environ, **environ},
            stdout=log,
            stderr=log,
        )
        os.sched_setaffinity(server.pid, FIRST_CORE)
        try:
            _wait_for(port, server)
            yield Server(port, server.pid)
        finally:
            server.terminate()
            server.wait()


def _wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    for _ in range(300):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        if server.poll() is not None:
            break
        time.sleep(0.1)
    raise RuntimeError("the server did not start")
