"""The servers that benchmarks measure: one worker each, on the first core, with the load on another."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from service.server.allocator import MALLOC
from tests.benchmarks.frame.processes import children
from tests.support.ports import free_port

FIRST_CORE = {min(os.sched_getaffinity(0))}
PORT = "{port}"
UVICORN = (
    *("uvicorn", "--loop", "uvloop", "--http", "httptools", "--no-access-log"),
    *("--no-proxy-headers", "--no-server-header", "--port", PORT),
)
_GRACE = 20.0
"""Seconds that a server has to end."""


class ServerError(Exception):
    """A server did not start; the message says which, and what it wrote last."""


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
    return running([*UVICORN, "--factory", factory], environ)


def serving_worker(environ: Mapping[str, str]) -> AbstractContextManager[Server]:
    """Run one worker of the service, as the launcher runs it, and yield it; its log goes to a file."""
    return running(["tests.benchmarks.worker", PORT], {**MALLOC, **environ})


@contextmanager
def running(
    module: Sequence[str], environ: Mapping[str, str], *, python: str = sys.executable, forks: bool = False
) -> Iterator[Server]:
    """Run a module of ``python``, with the number of a free port where its arguments hold ``PORT``.

    One that ``forks`` is measured by its one worker. Raises ServerError, with the end of its log, if it does
    not start.
    """
    port = free_port()
    words = [word.replace(PORT, str(port)) for word in module]
    with tempfile.TemporaryFile() as log:
        server = subprocess.Popen(
            [python, "-P", "-m", *words], env={**os.environ, **environ}, stdout=log, stderr=log
        )
        os.sched_setaffinity(server.pid, FIRST_CORE)
        try:
            if not _is_ready(port, server, forks=forks):
                log.seek(0)
                end = log.read()[-1_000:].decode(errors="replace")
                raise ServerError(f"{words[0]} did not start: {end}")
            yield Server(port, children(server.pid)[0] if forks else server.pid)
        finally:
            server.terminate()
            try:
                server.wait(_GRACE)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def _is_ready(port: int, server: subprocess.Popen[bytes], *, forks: bool) -> bool:
    """Wait until ``server`` accepts connections; False if it ends, or does not within thirty seconds."""
    for _ in range(300):
        if server.poll() is not None:
            break
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0 and (not forks or children(server.pid)):
                return True
        time.sleep(0.1)
    return False
