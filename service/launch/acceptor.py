"""Takes connections from the listener that all workers share, and turns away those that are too many.

One at a time: a busy worker comes back later than an idle one, so connections spread by themselves.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Callable, Sized
from typing import Final

import structlog

from service.launch.http import HttpProtocol
from service.launch.listening import drop_new_connections
from service.launch.surplus import Surplus

SETTLE: Final = 0.2
"""How long connections that are being made when the listener closes may take, in seconds."""

_PAUSE: Final = 0.1  # seconds, when the system has no more file descriptors or memory
_GONE: Final = frozenset({errno.EAGAIN, errno.EINTR, errno.ECONNABORTED})
_log = structlog.get_logger()


class Acceptor:
    """Accepts on ``listener``, makes a protocol of each connection, and holds ``most`` of them at once."""

    def __init__(
        self,
        listener: socket.socket,
        protocol: Callable[[], HttpProtocol],
        connections: Callable[[], Sized],
        most: int,
    ) -> None:
        self._listener = listener
        self._protocol = protocol
        self._connections = connections
        self._most = most
        self._surplus = Surplus()
        self._opening: set[asyncio.Task[None]] = set()
        self._open = True

    def start(self) -> None:
        """Begin to accept, in the loop that runs."""
        self._loop = asyncio.get_running_loop()
        self._listener.setblocking(False)
        self._listen()

    def tidy(self) -> None:
        """Close what was turned away a while ago. Call it about once a second."""
        self._surplus.tidy(self._loop.time())

    async def close(self, *, others_accept: bool) -> None:
        """Stop accepting and close the listener of this worker.

        With ``others_accept``, other workers take the clients that are connecting. Without, this worker
        accepts those who are connecting just now, and the system refuses all later ones: closing at once
        would reset clients that have connected and have not been accepted yet. The socket is shared, so a
        filter on it would close the service for all workers.
        """
        if not others_accept:
            drop_new_connections(self._listener)
            await asyncio.sleep(SETTLE)
            while self._accept():
                pass
        self._open = False
        self._loop.remove_reader(self._listener)
        self._listener.close()
        if self._opening:
            await asyncio.wait(self._opening)
        self._surplus.close()

    def _listen(self) -> None:
        if self._open:
            self._loop.add_reader(self._listener, self._accept)

    def _accept(self) -> bool:
        """Accept one connection; False when there is none."""
        try:
            connection, _ = self._listener.accept()
        except OSError as error:
            if error.errno not in _GONE:
                self._pause(error)
            return error.errno == errno.ECONNABORTED
        connection.setblocking(False)
        if len(self._connections()) + len(self._opening) >= self._most:
            self._surplus.turn_away(connection, self._loop.time())
            return True
        task = self._loop.create_task(self._open_connection(connection))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)
        return True

    async def _open_connection(self, connection: socket.socket) -> None:
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await self._loop.connect_accepted_socket(self._protocol, connection)
        except OSError:
            connection.close()  # it has gone already

    def _pause(self, error: OSError) -> None:
        """Wait a little: the listener stays readable, and asking again at once would use up the processor."""
        _log.error("no connection can be accepted", reason=error.strerror)
        self._loop.remove_reader(self._listener)
        self._loop.call_later(_PAUSE, self._listen)
