"""redis-py's client, whose single commands share one connection.

A command of redis-py costs about 60 µs of processor time: a connection from the pool, locks, streams. It
costs a third of that when all commands of a worker go through one ``Pipeline``, and those of the moment are
written and read together.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from hiredis import ReplyError, pack_command
from redis.asyncio import BlockingConnectionPool, Redis
from redis.exceptions import NoScriptError

from service.errors import Unavailable
from service.keyspace.pipeline import Command, Pipeline, traced_command


class PipelinedClient(Redis):
    """Sends each command over ``shared``, and ``pipeline()`` over a connection of ``pool``.

    A command must not block (BLPOP, WAIT): all others would wait for it. None is sent twice. Raises
    ``Unavailable`` within the timeout of ``shared``, also for a reply that is an error, and NoScriptError.
    """

    def __init__(
        self, pool: BlockingConnectionPool, shared: Pipeline, demoted: Callable[[], None] | None = None
    ) -> None:
        """``demoted`` is called when the server refuses to write: it may not be the primary any more."""
        super().__init__(connection_pool=pool)
        self._shared = shared
        self._demoted = demoted
        self._waiting: list[Command] = []

    async def execute_command(self, *words: Any, **options: Any) -> Any:
        """Send a command and return its reply, in the form that redis-py gives it."""
        with traced_command(words[0]):
            return await self.send(*words, **options)

    async def send(self, *words: Any, **options: Any) -> Any:
        """Do the same, without a span of its own in traces."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        # Two words in one, such as "SCRIPT LOAD", as redis-py writes them.
        text: bytes = pack_command((*words[0].split(), *words[1:]))
        if not self._waiting:
            loop.call_soon(self._send_waiting)
        self._waiting.append(
            Command(text, partial(self._settle, future), partial(_fail, future), repeatable=False)
        )
        reply = await future
        in_form = self.response_callbacks.get(words[0])
        return in_form(reply, **options) if in_form else reply

    def _send_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        self._shared.send(*waiting)

    def _settle(self, future: asyncio.Future[Any], reply: Any) -> None:
        if isinstance(reply, ReplyError) and self._demoted is not None and str(reply).startswith("READONLY"):
            self._demoted()
        if future.done():  # its request was cancelled
            return
        if not isinstance(reply, ReplyError):
            future.set_result(reply)
        elif str(reply).startswith("NOSCRIPT"):
            future.set_exception(NoScriptError(str(reply)))
        else:
            _fail(future, reply)


def _fail(future: asyncio.Future[Any], cause: BaseException) -> None:
    if not future.done():
        refusal = Unavailable("The session store is out of reach")
        refusal.__cause__ = cause
        future.set_exception(refusal)
