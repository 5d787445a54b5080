"""Servers for Python applications, as processes that serve those of ``tests.client.guarded_program``."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from tests.docs.pages import ROOT
from tests.support.ports import free_port
from tests.support.waiting import eventually_here


@dataclass(frozen=True)
class AppServer:
    """The command that starts one, and what stands for ``{more}`` where the application is mounted.

    ``variable`` of the environment mounts it in another way. ``puts_there`` is true if the server puts the
    mount before what is sent, as behind a proxy that cuts it off.
    """

    interface: str
    command: str
    more: str = ""
    variable: str = ""
    puts_there: bool = False


_GUNICORN: Final = "gunicorn --no-control-socket -b 127.0.0.1:{port}"
_ROOT_PATH: Final = "--root-path {mount}"
_PREFIX: Final = "--url-path-prefix {mount}"

SERVERS: Final[Mapping[str, AppServer]] = {
    "gunicorn": AppServer("wsgi", f"{_GUNICORN} {{app}}", variable="SCRIPT_NAME"),
    "gunicorn-threads": AppServer("wsgi", f"{_GUNICORN} -k gthread {{app}}", variable="SCRIPT_NAME"),
    "gunicorn-asgi": AppServer("asgi", f"{_GUNICORN} -k asgi {{more}} {{app}}", _ROOT_PATH),
    "uvicorn": AppServer("asgi", "uvicorn --port {port} {more} {app}", _ROOT_PATH, puts_there=True),
    "uvicorn-h11": AppServer(
        "asgi", "uvicorn --http h11 --port {port} {more} {app}", _ROOT_PATH, puts_there=True
    ),
    "hypercorn": AppServer("asgi", "hypercorn -b 127.0.0.1:{port} {more} asgi:{app}", _ROOT_PATH),
    "hypercorn-wsgi": AppServer("wsgi", "hypercorn -b 127.0.0.1:{port} {more} wsgi:{app}", _ROOT_PATH),
    "daphne": AppServer("asgi", "daphne -p {port} {more} {app}", _ROOT_PATH),
    "granian": AppServer("asgi", "granian --interface asgi --port {port} {more} {app}", _PREFIX),
    "granian-wsgi": AppServer("wsgi", "granian --interface wsgi --port {port} {more} {app}", _PREFIX),
    "waitress": AppServer(
        "wsgi", "waitress-serve --listen=127.0.0.1:{port} {more} {app}", "--url-prefix={mount}"
    ),
    "cheroot": AppServer("wsgi", "cheroot --bind 127.0.0.1:{port} {app}"),
    "uwsgi": AppServer(
        "wsgi",
        f"pyuwsgi --http-socket 127.0.0.1:{{port}} --need-app -H {sys.prefix} {{more}} -w {{app}}",
        "--mount {mount}={app} --manage-script-name",
    ),
}
"""The servers by a name for each way in which one serves."""

_IN_EACH_RUN: Final = ("gunicorn", "uvicorn")


def marked(*, mountable: bool = False) -> list[Any]:
    """Return the names for ``parametrize``: few of the servers are installed for the usual tests.

    With ``mountable`` only those that can mount an application.
    """
    return [
        name if name in _IN_EACH_RUN else pytest.param(name, marks=pytest.mark.extended)
        for name, server in SERVERS.items()
        if not mountable or server.more or server.variable
    ]


@asynccontextmanager
async def serving(name: str, folder: Path, app: str | None = None, mount: str = "") -> AsyncIterator[int]:
    """Serve an application by the server ``name``; yield the port.

    ``app`` is its name in ``guarded_program``, by default the one that is guarded; ``mount`` is where server
    and application are told that it is mounted. The server runs in ``folder``.
    """
    server, port = SERVERS[name], free_port()
    loaded = f"tests.client.guarded_program:{app or server.interface}"
    more = server.more.format(mount=mount, app=loaded) if mount else ""
    program, *words = server.command.format(port=port, app=loaded, more=more).split()
    path = Path(sys.executable).with_name(program)
    if not path.exists():
        pytest.skip(f"{program} is not installed: `python3 dev.py test --extended` installs it")
    mounted = {server.variable: mount} if mount and server.variable else {}
    log = folder / "server.log"
    with log.open("wb") as out:
        process = await asyncio.create_subprocess_exec(
            path,
            *words,
            cwd=folder,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "MOUNTED_AT": mount, **mounted},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    try:
        assert await eventually_here(lambda: _answers(port) or process.returncode is not None)
        assert process.returncode is None, log.read_text()
        yield port
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)  # with the workers
        await process.wait()


def _answers(port: int) -> bool:
    """True once the application has been loaded: some servers listen before that."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=20) as probe:
            probe.sendall(b"GET / HTTP/1.1\r\nHost: orders.test\r\nConnection: close\r\n\r\n")
            return bool(probe.recv(1))
    except OSError:
        return False
