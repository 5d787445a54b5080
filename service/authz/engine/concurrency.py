"""Turns for questions about the whole policy, so that they hold up nothing else of a worker."""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from typing import Final, ParamSpec, TypeVar

from service.errors import Unavailable
from service.kernel.core_sentences import sentence

PATIENCE: Final = 10.0
"""Seconds that a question waits for its turn."""

P = ParamSpec("P")
T = TypeVar("T")


class ConcurrencyLimit:
    """Answers one question at a time, in a thread of its own.

    A question takes a second with ten thousand resources. Many concurrent questions would take all
    connections to the database, and all threads in which a worker puts a new policy in force.
    """

    def __init__(self, patience: float = PATIENCE) -> None:
        """``patience`` are the seconds that a question waits."""
        self._patience = patience
        self._turn = asyncio.Lock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="review")

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a turn, which lasts as long as the block; Unavailable if others take too long."""
        try:
            async with asyncio.timeout(self._patience):
                await self._turn.acquire()
        except TimeoutError:
            raise Unavailable(sentence("too_many_questions")) from None
        try:
            yield
        finally:
            self._turn.release()

    async def computed(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return the result of ``function``, which runs in the thread."""
        work = partial(function, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)
