"""A connection for commands that must be cheap: they are pipelined, and each is answered in time.

redis-py costs a command about 100 µs: a task, a timeout, and locks. Here redis-py only opens the connection
(address, TLS, password, number of the database); then hiredis reads its replies, in the order of the commands
(https://redis.io/docs/latest/develop/using-commands/pipelining/).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Collection
from contextlib import AbstractContextManager
from functools import partial
from time import perf_counter
from typing import Any, Final

from hiredis import Reader as ReplyReader
from hiredis import ReplyError, pack_command
from redis.asyncio import BlockingConnectionPool, Redis
from redis.exceptions import NoScriptError

from service.errors import Unavailable
from service.kernel.core_sentences import sentence
from service.kernel.metrics import Durations
from service.kernel.origin import Span
from service.kernel.tracing import traced
from service.keyspace.confirming import confirmed

Connect = Callable[[asyncio.Protocol], Awaitable[asyncio.StreamWriter]]
"""Opens a connection whose replies the given protocol reads; raises RedisError or OSError."""


class Command:
    """One command: its bytes, who gets the reply or the failure, and when that is due (the loop's time).

    ``sent`` is in seconds of ``perf_counter``.

    ``answered`` gets the reply, which may be a ReplyError; it raises for one that it can't take. One of the
    two functions is called, once; a text of several commands has as many ``replies``, and ``answered`` gets
    each of them. A command is ``repeatable`` if it may run twice.
    """

    __slots__ = ("answered", "due", "failed", "repeatable", "replies", "sent", "text")

    def __init__(
        self,
        text: bytes,
        answered: Callable[[Any], None],
        failed: Callable[[BaseException], None],
        *,
        repeatable: bool,
        replies: int = 1,
    ) -> None:
        self.replies = replies
        self.text = text
        self.answered = answered
        self.failed = failed
        self.repeatable = repeatable
        self.due = 0.0
        self.sent = 0.0


class Pipeline:
    """Sends commands over one connection, which is opened at its first use, and again when it is lost.

    After ``close`` none is opened: each command fails.

    A repeatable command is sent again, once, when its connection is lost before the reply. Every other fault
    (no reply in time, an invalid reply, no connection) fails all commands under way. It closes the
    connection, so that a reply cannot be taken for that of another command.
    """

    def __init__(self, connect: Connect, timeout: float) -> None:
        """``timeout`` is in seconds: within it each command has its reply or has failed."""
        self._connect = connect
        self._timeout = timeout
        self.durations = Durations()
        """Seconds from a command to its reply, also where a connection had to be opened first."""
        self.failures = 0
        """The commands that have failed."""
        self._unanswered: deque[Command] = deque()  # in the order in which they were, or will be, sent
        self._replies: _Replies | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._opening: asyncio.Task[None] | None = None
        self._overdue: asyncio.TimerHandle | None = None
        self._closed = False

    @property
    def connected(self) -> bool:
        """Return True if it is connected now."""
        return self._writer is not None

    async def ready(self) -> None:
        """Return once there is a connection, at once if there is one; ConnectionError if none opens."""
        if self._writer is not None:
            return
        if self._closed:
            raise _closed()
        if self._opening is None:
            self._opening = asyncio.get_running_loop().create_task(self._open())
        await asyncio.wait([self._opening])
        if self._writer is None:
            raise ConnectionError("no connection was opened")

    def send(self, *commands: Command) -> None:
        """Send packed commands, one after another; each has its reply or has failed within the timeout."""
        if self._closed:
            self._fail(commands, _closed())
            return
        loop = asyncio.get_running_loop()
        due, now = loop.time() + self._timeout, perf_counter()
        for command in commands:
            command.due, command.sent = due, now
        self._unanswered.extend(commands)
        if self._writer is not None:
            self._writer.transport.write(b"".join([command.text for command in commands]))
        elif self._opening is None:
            self._opening = loop.create_task(self._open())
        if self._overdue is None:
            self._overdue = loop.call_at(due, self._look_for_overdue)

    async def close(self) -> None:
        """Disconnect permanently; waiting commands fail."""
        self._closed = True
        opening = self._opening
        self._fail_all(_closed())
        if self._overdue is not None:
            self._overdue.cancel()
            self._overdue = None
        if opening is not None:
            await asyncio.wait([opening])

    async def _open(self) -> None:
        replies = _Replies(self._answer, self._lost, self._fail_all)
        try:
            async with asyncio.timeout(self._timeout):
                writer = await self._connect(replies)
        except Exception as error:  # noqa: BLE001 - no command may be left waiting
            self._opening = None
            self._fail_all(error)
            return
        self._opening = None
        if writer.transport.is_closing():
            self._fail_all(ConnectionError("the connection was lost at once"))
            return
        self._replies, self._writer = replies, writer
        writer.transport.write(b"".join(command.text for command in self._unanswered))

    def _answer(self, reply: Any) -> None:
        command = self._unanswered[0]
        command.answered(reply)  # if it raises, the command fails with all others
        if command.replies > 1:
            command.replies -= 1
            return
        self.durations.observe(perf_counter() - self._unanswered.popleft().sent)

    def _lost(self, replies: _Replies) -> None:
        if replies is not self._replies:
            return  # it was closed before
        self._disconnect()
        tried, self._unanswered = self._unanswered, deque()
        for command in tried:
            if command.repeatable and command.replies == 1:
                command.repeatable = False
                self._unanswered.append(command)
            else:
                self.failures += 1
                command.failed(ConnectionError("the connection was lost before the reply"))
        if self._unanswered:
            self._opening = asyncio.get_running_loop().create_task(self._open())

    def _look_for_overdue(self) -> None:
        """Fail all if the oldest command is overdue. One timer serves all commands, and most find none."""
        self._overdue = None
        if not self._unanswered:
            return
        loop, due = asyncio.get_running_loop(), self._unanswered[0].due
        if due <= loop.time():
            self._fail_all(TimeoutError("the reply has not come in time"))
        else:
            self._overdue = loop.call_at(due, self._look_for_overdue)

    def _fail_all(self, cause: BaseException) -> None:
        self._disconnect()
        failed, self._unanswered = self._unanswered, deque()
        self._fail(failed, cause)

    def _fail(self, failed: Collection[Command], cause: BaseException) -> None:
        self.failures += len(failed)
        for command in failed:
            command.failed(cause)

    def _disconnect(self) -> None:
        writer = self._writer
        self._writer = None
        self._replies = None
        if writer is not None:
            writer.transport.abort()
        if self._opening is not None:
            self._opening.cancel()
            self._opening = None


def _closed() -> ConnectionError:
    return ConnectionError("the connection was closed")


class _Replies(asyncio.Protocol):
    """Splits the store's data into replies."""

    def __init__(
        self,
        answer: Callable[[Any], None],
        lost: Callable[[_Replies], None],
        fail: Callable[[BaseException], None],
    ) -> None:
        self._answer = answer
        self._lost = lost
        self._fail = fail
        self._reader = ReplyReader()

    def data_received(self, data: bytes) -> None:
        try:
            self._reader.feed(data)
            # False stands for "not yet": no reply of RESP2 is False.
            while (reply := self._reader.gets()) is not False:
                self._answer(reply)
        except Exception as error:  # noqa: BLE001 - after any fault the next reply can't be told from others
            self._fail(error)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        self._lost(self)


def packed(*words: Any) -> bytes:
    """Return a command in the form in which it is sent."""
    return pack_command(words)  # type: ignore[no-any-return]  # its stub has no types


_SYSTEM: Final = {"db.system.name": "redis"}


def begin_command(span: Span, name: str) -> Span:
    """Begin the span of the command ``name``, below ``span``."""
    return span.child(name, {**_SYSTEM, "db.operation.name": name}, kind="client")


def end_with(span: Span, future: asyncio.Future[Any]) -> None:
    """End the span of a command with ``future``, its completed answer."""
    if future.cancelled():
        span.end(asyncio.CancelledError.__name__)
    else:
        error = future.exception()
        span.end(None if error is None else type(error).__name__)


def traced_command(name: str) -> AbstractContextManager[Span | None]:
    """Return a block that is the span of the command ``name``, such as ``SET`` or ``SCRIPT LOAD``."""
    return traced(name, {**_SYSTEM, "db.operation.name": name}, kind="client")


def traced_script(name: str) -> AbstractContextManager[Span | None]:
    """Return a block that is the span of one of our scripts."""
    attributes = {**_SYSTEM, "db.operation.name": "EVALSHA", "db.stored_procedure.name": name}
    return traced(f"EVALSHA {name}", attributes, kind="client")


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
        # Two words in one, such as "SCRIPT LOAD", as redis-py writes them.
        reply = await self.ask(*words[0].split(), *words[1:])
        in_form = self.response_callbacks.get(words[0])
        return in_form(reply, **options) if in_form else reply

    def ask(self, *words: str | bytes | int) -> Awaitable[Any]:
        """Send a command without a span; return what waits for its reply, in the form of the server."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        if not self._waiting:
            loop.call_soon(self._send_waiting)
        settle, fail = partial(self._settle, future), partial(refuse, future)
        self._waiting.append(Command(packed(*words), settle, fail, repeatable=False))
        return future

    async def confirmed(
        self,
        replicas: int,
        timeout: float,  # noqa: ASYNC109 - see ``confirmed``
        *words: Any,
    ) -> tuple[Any, bool]:
        """Run a script; return its reply, and whether so many replicas have its writes: see ``confirmed``."""
        return await confirmed(self.connection_pool, replicas, timeout, *words)

    async def values(self, *names: str) -> list[bytes | None]:
        stored: list[bytes | None] = await self.send("MGET", *names)
        return stored

    async def remove(self, *names: str) -> int:
        """Delete keys; return the number of deleted ones."""
        removed: int = await self.send("DEL", *names)
        return removed

    def is_up(self, key: str) -> bool:  # noqa: ARG002 - of a cluster, servers may be away
        """Return True if the server of a key answered the last command."""
        return True

    async def ready(self, key: str) -> None:  # noqa: ARG002 - a cluster needs it
        """Return once there is a connection to the server of ``key``; ConnectionError if none opens."""
        await self._shared.ready()

    def delete_soon(self, key: str, answered: Callable[[Any], None]) -> None:
        """Send the deletion of a key at once; ``answered`` gets the reply or the failure."""
        self._shared.send(Command(packed("DEL", key), answered, answered, repeatable=True))

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
            refuse(future, reply)


def refuse(future: asyncio.Future[Any], cause: BaseException) -> None:
    """Answer a question to the store with ``Unavailable``, unless it has its answer already."""
    if not future.done():
        refusal = Unavailable(sentence("session_store_unavailable"))
        refusal.__cause__ = cause
        future.set_exception(refusal)
