"""Bytes to and from the service over a socket, exactly as a test has written them."""

import re
import socket
import time
from dataclasses import dataclass

import msgspec


@dataclass(frozen=True)
class Received:
    """One answer of a connection."""

    status: int
    head: str
    body: bytes

    @property
    def problem(self) -> dict[str, object]:
        """The problem document; AssertionError unless it is one, whole, with the id of its response."""
        assert "\r\ncontent-type: application/problem+json\r\n" in self.head
        document: dict[str, object] = msgspec.json.decode(self.body)
        assert f"\r\nx-request-id: {document['requestId']}\r\n" in self.head
        assert document["status"] == self.status
        return document


def exchange(port: int, *packets: bytes, pause: float = 0.1) -> list[Received]:
    """Send ``packets`` over one connection, ``pause`` seconds apart, and return all answers until it closes.

    AssertionError when the service leaves the connection open.
    """
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for number, packet in enumerate(packets):
            if number:
                time.sleep(pause)
            connection.sendall(packet)
        return answers(read_all(connection))


def read_all(connection: socket.socket) -> bytes:
    """Return what comes until the other side closes; ConnectionResetError when it resets the connection."""
    received = b""
    try:
        while piece := connection.recv(65_536):
            received += piece
    except TimeoutError:
        raise AssertionError(f"the connection is left open, after {received!r}") from None
    return received


def answers(raw: bytes) -> list[Received]:
    """Take apart answers that have a ``Content-Length``; informational ones (1xx) are left out."""
    received = []
    while raw:
        head, _, rest = raw.partition(b"\r\n\r\n")
        text = head.decode("latin-1") + "\r\n"
        status = int(text.split(" ", 2)[1])
        if status >= 200:
            length = re.search(r"\r\ncontent-length: (\d+)\r\n", text)
            assert length is not None, text
            size = int(length[1])
            assert len(rest) >= size
            received.append(Received(status, text, rest[:size]))
            rest = rest[size:]
        raw = rest
    return received
