"""Ports for programs that must be told one before they listen."""

import os
import secrets
import socket
from typing import Final

PROCESS: Final = "TESTS_PROCESS"
"""The variable with the number of a process of a run of tests, from 0."""
_NOT_EPHEMERAL: Final = range(20_000, 30_000)
"""Ports below those that a system gives to connections, and to programs that ask for any port.

Each process of a run of tests has its own: another one would not know what is given and not yet listened on.
"""

_given: set[int] = set()


def free_port() -> int:
    """Return a TCP port of loopback that nobody listens on, another one each time.

    It stays free until the program listens, and while that is stopped. One that the system has chosen could
    be given to another process meanwhile.
    """
    own = _NOT_EPHEMERAL[int(os.environ.get(PROCESS, "0")) % 16 :: 16]
    while True:
        port = secrets.choice(own)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        if port not in _given:
            _given.add(port)
            return port
