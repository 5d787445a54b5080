"""The per-request check: all waiting checks are sent as one command.

A separate command costs each request about 100 µs of redis-py; two keys of a shared MGET cost only a few. The
policy revision and the epoch of all rights are two more keys for all of them. Checks that are requested in
one loop iteration are sent together, and so are those that arrive while a reply is awaited. A check never
joins a command that has been sent, so it sees everything that was set before it was requested.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from hiredis import pack_command
from redis.asyncio.connection import AbstractConnection
from redis.exceptions import ConnectionError as Disconnected

from service.errors import Unavailable
from service.keyspace.keys import ALL_RIGHTS, POLICY_REVISION


class Answer(NamedTuple):
    """The values of the two keys of one check, the announced policy revision, and the epoch of all rights.

    ``marker`` is the user's deny marker; ``value`` is the device session, or the epoch of the user's rights.
    All are of one moment.
    """

    marker: bytes | None
    value: bytes | None
    revision: bytes | None
    all_rights: bytes | None


_Waiting = tuple[str, str, "asyncio.Future[Answer]"]


class Checks:
    """Reads pairs of keys, the policy revision and the epoch of all rights, over its own connection."""

    def __init__(self, connection: AbstractConnection, timeout: float) -> None:
        self._connection = connection
        self._timeout = timeout
        self._waiting: list[_Waiting] = []
        self._sender: asyncio.Task[None] | None = None

    def ask(self, first: str, second: str) -> asyncio.Future[Answer]:
        """Return a future of the values of the two keys; it raises ``Unavailable`` if there is no answer.

        It is done within two timeouts: that of the command under way, and that of its own.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Answer] = loop.create_future()
        self._waiting.append((first, second, future))
        if self._sender is None:
            self._sender = loop.create_task(self._send_all())
        return future

    async def close(self) -> None:
        """Disconnect; checks that are still waiting fail with ``Unavailable``."""
        if self._sender is not None:
            self._sender.cancel()
            await asyncio.wait([self._sender])
            self._sender = None
        left, self._waiting = self._waiting, []  # a task that is cancelled before its first step does nothing
        _fail(left, None)
        await self._connection.disconnect(nowait=True)

    async def _send_all(self) -> None:
        batch: list[_Waiting] = []
        cause: BaseException | None = None
        try:
            while self._waiting:
                # One more loop iteration: checks that have arrived by then join the same command.
                await asyncio.sleep(0)
                batch, self._waiting = self._waiting, []
                _settle(batch, await self._exchange(batch))
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - no check may be left waiting
            cause = error
            await self._connection.disconnect(nowait=True)
        finally:
            # Checks that arrived meanwhile fail as well, or they would wait for one more timeout.
            left, self._waiting, self._sender = batch + self._waiting, [], None
            _fail(left, cause)

    async def _exchange(self, batch: list[_Waiting]) -> list[bytes | None]:
        keys = [key for first, second, _ in batch for key in (first, second)]
        command: bytes = pack_command(("MGET", *keys, POLICY_REVISION, ALL_RIGHTS))  # type: ignore[arg-type]  # its stub forgot "..."
        async with asyncio.timeout(self._timeout):
            try:
                return await self._round_trip(command)
            except Disconnected:  # dropped while idle, or the store was restarted; reading again is safe
                return await self._round_trip(command)

    async def _round_trip(self, command: bytes) -> list[bytes | None]:
        await self._connection.send_packed_command(command, check_health=False)
        answer: list[bytes | None] = await self._connection.read_response(disable_decoding=True)
        return answer


def _settle(batch: list[_Waiting], values: list[bytes | None]) -> None:
    for index, (_, _, future) in enumerate(batch):
        if not future.done():  # its request may have been cancelled
            future.set_result(Answer(values[2 * index], values[2 * index + 1], *values[-2:]))


def _fail(batch: list[_Waiting], cause: BaseException | None) -> None:
    for _, _, future in batch:
        if not future.done():
            refusal = Unavailable("The session store is out of reach")
            refusal.__cause__ = cause
            future.set_exception(refusal)
