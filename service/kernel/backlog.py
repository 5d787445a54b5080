"""Queue work for a thread of its own, so that requests do not wait for a disk or network."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")


class Backlog(Generic[T]):
    """Items that wait in memory, at most ``most``, until a thread hands them on in their order.

    ``hand_on`` is called in the thread ``gather`` seconds after an item was put, and at once when more than
    ``many`` wait; that is a quarter of ``most`` where it is not given. It takes items from the left of
    ``waiting``, and returns None if it has handed on all, else the seconds until it is called again. It must
    not raise. ``missed`` counts the items that found no room.
    """

    def __init__(
        self, name: str, most: int, gather: float, hand_on: Callable[[], float | None], many: int = 0
    ) -> None:
        self.waiting: deque[T] = deque()
        self.missed = 0
        self._most = most
        self._many = many or most // 4
        self._gather = gather
        self._hand_on = hand_on
        self._filled = threading.Event()
        self._hurries = threading.Event()
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def put(self, item: T) -> bool:
        """Take ``item`` without ever waiting; False if too many wait."""
        if len(self.waiting) >= self._most:
            self.missed += 1
            return False
        self.waiting.append(item)
        self._wake()
        return True

    def put_all(self, items: Sequence[T]) -> bool:
        """Take as many of ``items`` as there is room for, without ever waiting; False if not all."""
        room = max(self._most - len(self.waiting), 0)
        missed = len(items) - room
        if missed > 0:
            self.missed += missed
            items = items[:room]
        self.waiting.extend(items)
        self._wake()
        return missed <= 0

    def _wake(self) -> None:
        if not self._filled.is_set():
            self._filled.set()
        if len(self.waiting) > self._many and not self._hurries.is_set():
            self._hurries.set()

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
        self._hurries.set()
        self._filled.set()
        await asyncio.to_thread(self._thread.join, within)
        return not self._thread.is_alive()

    def _run(self) -> None:
        pause, paused_by = self._gather, self._hurries
        while True:
            self._filled.wait()
            paused_by.wait(pause)
            self._filled.clear()
            self._hurries.clear()
            ends = self._ends.is_set()  # after the two: ``finish`` sets it before them
            again = self._hand_on()
            if ends:
                return
            pause, paused_by = self._gather, self._hurries
            if again is not None:
                pause, paused_by = again, self._ends  # many that wait do not make it work again
                self._filled.set()
