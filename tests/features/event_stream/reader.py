"""A reader of event streams over a socket, by the rules of the HTML Living Standard §9.2."""

import json
import socket
import time
from dataclasses import dataclass
from typing import Any, Self

MINE = "/api/events/mine"
PATIENCE = 20.0


@dataclass(frozen=True)
class Event:
    """An event as a client reads it; ``id`` is empty without one."""

    kind: str
    data: Any
    id: str = ""


class Reader:
    """One stream; ``status`` and ``head`` are those of its answer."""

    def __init__(self, port: int, token: dict[str, str], last: str = "", path: str = MINE) -> None:
        headers = token | ({"Last-Event-ID": last} if last else {})
        lines = [f"GET {path} HTTP/1.1", "Host: x", *(f"{name}: {value}" for name, value in headers.items())]
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode())
        self._received = b""
        self._text = b""
        self.is_over = False
        head = self._until(b"\r\n\r\n").decode()
        self.status = int(head.split(" ", 2)[1])
        self.head = head.lower()
        if self.status != 200:
            size = int(self.head.partition("content-length: ")[2].partition("\r")[0])
            self.problem = json.loads(self._exactly(size))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def next(self, within: float = PATIENCE) -> Event | None:
        """Return the next event, None at the end of the stream; TimeoutError when neither comes in time.

        Comments are left out.
        """
        deadline = time.monotonic() + within
        while True:
            while b"\n\n" in self._text:
                block, _, self._text = self._text.partition(b"\n\n")
                if (event := _event(block.decode())) is not None:
                    return event
            if self.is_over:
                return None
            self.socket.settimeout(max(0.01, deadline - time.monotonic()))
            self._chunk()

    def find(self, *kinds: str) -> list[Event]:
        """Return the next event of each of ``kinds``, in whatever order they come; others are passed over."""
        by_kind: dict[str, Event] = {}
        while not by_kind.keys() >= set(kinds):
            event = self.next()
            assert event is not None, f"the stream has ended without one of {kinds}"
            if event.kind in kinds:
                by_kind.setdefault(event.kind, event)
        return [by_kind[kind] for kind in kinds]

    def rest(self) -> list[Event]:
        """Return all events until the end."""
        events = []
        while (event := self.next()) is not None:
            events.append(event)
        return events

    def close(self) -> None:
        """Disconnect."""
        self.socket.close()

    def _chunk(self) -> None:
        size = int(self._until(b"\r\n"), 16)
        self._text += self._exactly(size)
        self._exactly(2)
        self.is_over = size == 0

    def _until(self, end: bytes) -> bytes:
        while end not in self._received:
            self._receive()
        line, _, self._received = self._received.partition(end)
        return line

    def _exactly(self, size: int) -> bytes:
        while len(self._received) < size:
            self._receive()
        data, self._received = self._received[:size], self._received[size:]
        return data

    def _receive(self) -> None:
        piece = self.socket.recv(65_536)
        if not piece:
            raise ConnectionError("the answer has no end")
        self._received += piece


def _event(block: str) -> Event | None:
    fields: dict[str, str] = {}
    for line in block.split("\n"):
        name, _, value = line.partition(": ")
        if not line.startswith(":"):
            fields[name] = value
    if "data" not in fields:
        return None
    return Event(fields["event"], json.loads(fields["data"]), fields.get("id", ""))
