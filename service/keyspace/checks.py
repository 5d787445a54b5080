"""The per-request check: all waiting checks are sent as one command.

A command of its own would cost each request a write and a read of the connection; two keys of a shared MGET
cost a few µs. The policy revision and the epoch of all rights are two more keys for all of them. Checks that
are requested in one loop iteration are sent together. A check never joins a command that has been sent, so it
sees everything that was set before it was requested.
"""

import asyncio
from abc import ABC, abstractmethod
from functools import partial
from typing import Any, Final, NamedTuple

from hiredis import ReplyError

from service.kernel.origin import Span
from service.keyspace import keys
from service.keyspace.pipeline import Command, Pipeline, begin_command, end_with, refuse
from service.keyspace.revision_key import revision_in


class Answer(NamedTuple):
    """The values of the two keys of one check, the announced policy revision, and the epoch of all rights.

    ``marker`` is the user's deny marker; ``value`` is the device session, or the epoch of the user's rights.
    All are of one moment.
    """

    marker: bytes | None
    value: bytes | None
    revision: int | None
    all_rights: bytes | None


class KeyPair(bytes):
    """The two keys of a check, as a command holds them."""

    __slots__ = ()


def key_pair(first: str, second: str) -> KeyPair:
    """Return two keys for ``Checks.ask``. The pair of a session stays the same, so it can be kept."""
    return KeyPair(_bulk(first) + _bulk(second))


def _bulk(text: str) -> bytes:
    """Return ``text`` as a bulk string of RESP, the protocol of Redis."""
    encoded = text.encode()
    return b"$%d\r\n%b\r\n" % (len(encoded), encoded)


_MGET: Final = _bulk("MGET")
_FOR_ALL: Final = key_pair(keys.POLICY_REVISION, keys.ALL_RIGHTS)
_Batch = list["asyncio.Future[Answer]"]


class Checks(ABC):
    """Reads pairs of keys, the policy revision and the epoch of all rights. ``ask`` is the only entrance."""

    @abstractmethod
    def pair(self, first: str, second: str) -> KeyPair:
        """Return the keys with two documented names of a user, for ``ask``; they can be kept."""

    @abstractmethod
    def ask(self, pair: KeyPair, span: Span | None = None) -> asyncio.Future[Answer]:
        """Return a future of the values of the two keys, for the request with ``span``.

        It raises ``Unavailable`` if the answer does not come within the timeout of the connection.
        """

    @abstractmethod
    async def close(self) -> None:
        """Disconnect permanently; waiting checks fail with ``Unavailable``."""


class ServerChecks(Checks):
    """The checks of one server, over a connection of their own."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._pairs: list[KeyPair] = []
        self._waiting: _Batch = []
        self._loop: asyncio.AbstractEventLoop

    def pair(self, first: str, second: str) -> KeyPair:
        """Return the keys, as a command holds them."""
        return key_pair(first, second)

    def ask(self, pair: KeyPair, span: Span | None = None) -> asyncio.Future[Answer]:
        """Return a future of the values, which are asked for at the end of this turn of the loop."""
        if not self._waiting:
            self._loop = asyncio.get_running_loop()  # a system call, so once for all checks of a turn
            self._loop.call_soon(self._send_waiting)
        future: asyncio.Future[Answer] = self._loop.create_future()
        self._pairs.append(pair)
        self._waiting.append(future)
        if span is not None:
            future.add_done_callback(partial(end_with, begin_command(span, "MGET")))
        return future

    async def close(self) -> None:
        """Send the waiting questions, and disconnect."""
        self._send_waiting()
        await self._pipeline.close()

    def _send_waiting(self) -> None:
        if not self._waiting:
            return
        batch, pairs = self._waiting, self._pairs
        self._waiting, self._pairs = [], []
        command = b"*%d\r\n%b%b%b" % (2 * len(pairs) + 3, _MGET, b"".join(pairs), _FOR_ALL)
        self._pipeline.send(Command(command, partial(_settle, batch), partial(_fail, batch), repeatable=True))


def _settle(batch: _Batch, values: Any) -> None:
    """Answer the checks of a command; raises if ``values`` is not its reply."""
    if isinstance(values, ReplyError):
        raise values
    if len(values) != 2 * len(batch) + 2:
        raise ValueError("the reply has another number of values than the command has keys")
    revision, all_rights = revision_in(values[-2]), values[-1]
    remaining = iter(values)
    made = tuple.__new__  # the class itself goes a longer way
    for future, marker, value in zip(batch, remaining, remaining, strict=False):
        if not future.done():  # its request may have been cancelled
            future.set_result(made(Answer, (marker, value, revision, all_rights)))


def _fail(batch: _Batch, cause: BaseException) -> None:
    for future in batch:
        refuse(future, cause)
