"""Ports for programs that must be told one before they listen."""

import os
import secrets
import socket
from typing import Final

_PROCESS: Final = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 16
_NOT_EPHEMERAL: Final = range(20_000 + _PROCESS, 30_000, 16)
"""Ports below those that a system gives to connections, and to programs that ask for any port.

Each process of a run of tests has its own: another one would not know what is given and not yet listened on.
"""

_given: set[int] = set()


def free_port() -> int:
    """Return a TCP port of loopback that nobody listens on, another one each time.

    It stays free until the program listens, and while that is stopped. One that the system has chosen could
    be given to another process meanwhile.
    """
    while True:
        port = secrets.choice(_NOT_EPHEMERAL)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        if port not in _given:
            _given.add(port)
            return port
