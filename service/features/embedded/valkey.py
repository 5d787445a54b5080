"""The embedded Valkey: sessions, persisted in an append-only file."""

import signal
import socket
from functools import partial
from pathlib import Path

from service.features.embedded.privilege import own_directory
from service.features.embedded.program import Program, end_all, valkey_program

SOCKET_NAME = "valkey.sock"

_PLAIN = {
    "port": "0",
    "unixsocketperm": "700",
    "save": "",
    "maxmemory-policy": "noeviction",  # an evicted deny marker would let a banned user in
}
_DURABLE = {"appendonly": "yes", "appendfsync": "everysec"}
_NOT_DURABLE = {"appendonly": "no"}


def valkey(directory: Path, sockets: Path, log: Path, *, durable: bool) -> Program:
    """Return the server program with its file in ``directory``; it listens in the directory ``sockets``."""
    path = sockets / SOCKET_NAME
    settings = (
        _PLAIN | {"unixsocket": str(path), "dir": str(directory)} | (_DURABLE if durable else _NOT_DURABLE)
    )
    options = [word for name, value in settings.items() for word in (f"--{name}", value)]
    return Program(
        name="Valkey",
        command=(str(valkey_program()), *options),
        directory=directory,
        log=log,
        prepare=partial(_prepare, directory, path),
        ready=lambda _pid: _answers(path),
        stop_signal=signal.SIGTERM,
        death_signal=signal.SIGTERM,  # it writes its buffer and ends
    )


def _prepare(directory: Path, path: Path) -> None:
    own_directory(directory)
    end_all(directory, "valkey-server")
    path.unlink(missing_ok=True)


def _answers(path: Path) -> bool:
    """Return true if the server answers PING; it returns an error while it loads its file."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(1.0)
        try:
            connection.connect(str(path))
            connection.sendall(b"PING\r\n")
            return connection.recv(64).startswith(b"+PONG")
        except OSError:
            return False
