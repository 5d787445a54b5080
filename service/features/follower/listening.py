"""The listening socket of a process beside a service."""

import errno
import os
import socket
from contextlib import suppress
from pathlib import Path


def listening(place: Path | tuple[str, int]) -> socket.socket:
    """Return a listening socket; an abandoned path of another process is replaced.

    A Unix socket is accessible to its user and group. Raises OSError for an address in use.
    """
    if not isinstance(place, Path):
        family = socket.AF_INET6 if ":" in place[0] else socket.AF_INET
        return socket.create_server(place, family=family, backlog=1024)
    with suppress(FileNotFoundError), socket.socket(socket.AF_UNIX) as other:
        try:
            other.connect(str(place))
        except ConnectionRefusedError:
            place.unlink()
        else:
            raise OSError(errno.EADDRINUSE, "another process serves this socket", str(place))
    made = socket.socket(socket.AF_UNIX)
    before = os.umask(0o117)
    try:
        made.bind(str(place))
    finally:
        os.umask(before)
    made.listen(1024)
    return made
