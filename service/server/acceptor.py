"""Accepts connections from the listener that all workers share, and rejects those above the limit.

Each worker accepts one connection at a time; a worker with more connections than another waits a little
first. Otherwise clients with a few long connections, such as proxies, would load one worker and leave others
idle.
"""

import asyncio
import errno
import socket
from collections import deque
from collections.abc import Callable, Sized
from contextlib import suppress
from typing import Final

import structlog

from service.errors import Unavailable
from service.kernel.core_sentences import sentence
from service.server.http import HttpProtocol
from service.server.listening import drop_new_connections
from service.server.shares import Share
from service.web.requests.middleware import raw_answer

STAY: Final = 1.0
"""Seconds that a rejected connection stays half open, so that the client gets its answer."""

MOST: Final = 64
"""The most rejected connections that are kept half open."""

_RETRY_AFTER: Final = 5  # seconds
_READ_AT_CLOSE: Final = 65_536  # bytes


class RejectedConnections:
    """The connections that one worker has rejected and not closed yet."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[float, socket.socket]] = deque()
        self._unlogged = 0

    def reject(self, connection: socket.socket, now: float) -> None:
        """Answer 503 to any request, and close ``connection`` later; ``now`` is the loop's time."""
        self._unlogged += 1
        refusal = Unavailable(sentence("too_many_connections"), retry_after=_RETRY_AFTER)
        try:
            connection.send(raw_answer(refusal))
            connection.shutdown(socket.SHUT_WR)
        except OSError:
            connection.close()
            return
        self._waiting.append((now, connection))
        if len(self._waiting) > MOST:
            _close(self._waiting.popleft()[1])

    def tidy(self, now: float) -> None:
        """Close those whose time is over, and log how many were rejected since the last call."""
        if self._unlogged:
            _log.warning("connections were turned away: there are too many", number=self._unlogged)
            self._unlogged = 0
        while self._waiting and now - self._waiting[0][0] > STAY:
            _close(self._waiting.popleft()[1])

    def close(self) -> None:
        while self._waiting:
            _close(self._waiting.popleft()[1])


def _close(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.recv(_READ_AT_CLOSE)  # unread bytes would reset the connection
    connection.close()


SETTLE: Final = 0.2
"""Seconds for TCP handshakes that are under way when the listener closes."""

YIELD: Final = 0.002
"""Seconds that a worker leaves a connection to those with fewer. Then it takes it: they may be busy."""

_PAUSE: Final = 0.1  # seconds, when the system is out of file descriptors or memory
_GONE: Final = frozenset({errno.EAGAIN, errno.EINTR, errno.ECONNABORTED})
_log = structlog.get_logger()


class Acceptor:
    """Accepts on ``listener``, creates a protocol for each connection, and holds at most ``most`` at once.

    ``share`` reports whether another worker has fewer.
    """

    def __init__(
        self,
        listener: socket.socket,
        protocol: Callable[[], HttpProtocol],
        connections: Callable[[], Sized],
        most: int,
        share: Share,
    ) -> None:
        self._listener = listener
        self._protocol = protocol
        self._connections = connections
        self._most = most
        self._share = share
        self._rejected = RejectedConnections()
        self._opening: set[asyncio.Task[None]] = set()
        self._open = True

    def start(self) -> None:
        """Begin to accept, in the running event loop."""
        self._loop = asyncio.get_running_loop()
        self._listener.setblocking(False)
        self._share.join()
        self._listen()

    def tidy(self) -> None:
        """Close connections that were rejected a while ago. Call it about once a second."""
        self._rejected.tidy(self._loop.time())

    async def close(self, *, others_accept: bool) -> None:
        """Stop accepting and close the listener of this worker.

        With ``others_accept``, other workers accept the connecting clients: the socket is shared, so a filter
        on it would close the service for all workers. Without, this worker accepts pending connections, and
        the system refuses all later ones. Closing at once would reset the pending connections.
        """
        self._share.leave()
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
        self._rejected.close()

    def _listen(self) -> None:
        if self._open:
            self._loop.add_reader(self._listener, self._accept_in_turn)

    def _accept_in_turn(self) -> None:
        if not self._share.is_exceeded_by(self._held()):
            self._accept()
            return
        self._loop.remove_reader(self._listener)
        self._loop.call_later(YIELD, self._accept_late)

    def _accept_late(self) -> None:
        if self._open:
            self._listen()
            self._accept()

    def _held(self) -> int:
        return len(self._connections()) + len(self._opening)

    def _accept(self) -> bool:
        """Accept one connection; returns False if there is none."""
        try:
            connection, _ = self._listener.accept()
        except OSError as error:
            if error.errno not in _GONE:
                self._pause(error)
            return error.errno == errno.ECONNABORTED
        connection.setblocking(False)
        if self._held() >= self._most:
            self._rejected.reject(connection, self._loop.time())
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
            connection.close()  # the client has gone already

    def _pause(self, error: OSError) -> None:
        """Wait before the next attempt: the listener stays readable, and the loop would spin."""
        _log.error("no connection can be accepted", reason=error.strerror)
        self._loop.remove_reader(self._listener)
        self._loop.call_later(_PAUSE, self._listen)
