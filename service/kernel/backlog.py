"""What a worker hands on in a thread of its own, so that no request waits for a disk or a network."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Backlog(Generic[T]):
    """Items that wait in memory, at most ``most``, until a thread hands them on in their order.

    ``hand_on`` is called in the thread ``gather`` seconds after an item was put. It takes items from the left
    of ``waiting``, and returns None if it has handed on all, else the seconds until it is called again. It
    must not raise. ``missed`` counts the items that found no room.
    """

    def __init__(self, name: str, most: int, gather: float, hand_on: Callable[[], float | None]) -> None:
        self.waiting: deque[T] = deque()
        self.missed = 0
        self._most = most
        self._gather = gather
        self._hand_on = hand_on
        self._filled = threading.Event()
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def put(self, item: T) -> bool:
        """Take ``item`` without ever waiting; False if too many wait."""
        if len(self.waiting) >= self._most:
            self.missed += 1
            return False
        self.waiting.append(item)
        if not self._filled.is_set():
            self._filled.set()
        return True

    def start(self) -> None:
        """Start the thread; call it in the process that serves."""
        self._thread.start()

    async def finish(self, within: float) -> bool:
        """Let the thread hand on what waits, once, and end; wait for it for at most ``within`` seconds.

        False if it has not ended until then, and if it did not run.
        """
        if not self._thread.is_alive():
            return False
        self._ends.set()
        self._filled.set()
        await asyncio.to_thread(self._thread.join, within)
        return not self._thread.is_alive()

    def _run(self) -> None:
        pause = self._gather
        while True:
            self._filled.wait()
            ends = self._ends.wait(pause)
            self._filled.clear()
            again = self._hand_on()
            if ends:
                return
            pause = self._gather
            if again is not None:
                pause = again
                self._filled.set()
