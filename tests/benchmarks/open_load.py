"""A load generator that never sleeps: requests at random times, whatever the server does meanwhile.

A client that waits for an answer before it asks again hides how long others would have waited. Here requests
are due at random times, and what an answer takes is counted from then on, also while no connection is free.
One thread looks at the clock and at its sockets in turn, so that a time is right to some ten microseconds.
"""

import select
import socket
import time
from collections import deque
from collections.abc import Callable, Sequence
from itertools import cycle
from random import Random

Connect = Callable[[], socket.socket]
"""Returns a connection to the server."""

CONNECTIONS = 8
_LONGEST = 1 << 16


class _Line:
    """A connection, when what it asks was due, and the part of the answer that is here."""

    def __init__(self, connect: Connect) -> None:
        self.socket = connect()
        self.due = 0.0
        self._answer = b""

    def ask(self, request: bytes, due: float) -> None:
        self.due = due
        self.socket.sendall(request)

    def is_answered(self) -> bool:
        """Take what has come; True if the answer is whole. Raises RuntimeError for one that is no 200."""
        self._answer += self.socket.recv(_LONGEST)
        head, separator, body = self._answer.partition(b"\r\n\r\n")
        if not separator or len(body) < int(head.partition(b"content-length: ")[2].partition(b"\r")[0]):
            return False
        if not head.startswith(b"HTTP/1.1 200 ") or b"portcullis-stale" in head:
            raise RuntimeError(f"the answer was {self._answer!r}")
        self._answer = b""
        return True


def capacity(connect: Connect, requests: Sequence[bytes], seconds: float) -> float:
    """Return how many requests a second are answered, over connections that ask without a pause."""
    return len(_load(connect, requests, seconds, None)) / seconds


def at_random(
    connect: Connect, requests: Sequence[bytes], seconds: float, a_second: float, seed: int
) -> list[float]:
    """Return the seconds that each answer took, of ``a_second`` requests a second at random times."""
    chance = Random(seed)
    return _load(connect, requests, seconds, lambda: chance.expovariate(a_second))


def _load(
    connect: Connect, requests: Sequence[bytes], seconds: float, pause: Callable[[], float] | None
) -> list[float]:
    """Ask ``requests`` in turn, with ``pause`` between two; None asks as soon as a connection is free."""
    lines = [_Line(connect) for _ in range(CONNECTIONS)]
    by_file = {line.socket.fileno(): line for line in lines}
    poll = select.epoll()
    for file in by_file:
        poll.register(file, select.EPOLLIN)
    free, due = deque(lines), deque[float]()
    took: list[float] = []
    asked, clock = cycle(requests), time.perf_counter
    now = next_due = clock()
    end = now + seconds
    while now < end or due or len(free) < len(lines):
        if now < end:
            if pause is None:
                due.extend([now] * len(free))
            while pause is not None and next_due <= now:
                due.append(next_due)
                next_due += pause()
        while due and free:
            free.popleft().ask(next(asked), due.popleft())
        for file, _ in poll.poll(0):
            line = by_file[file]
            if line.is_answered():
                took.append(clock() - line.due)
                free.append(line)
        now = clock()
    for line in lines:
        line.socket.close()
    poll.close()
    return took
