"""What becomes of the tokens of a rotation: handed out, or not.

Until the store hears that they were handed out, it gives the same tokens to whoever repeats the spent refresh
token, one request at a time. So that word is on its way before the tokens are. Nobody waits for its answer,
and all such words of one loop tick are one command; what was not answered is said again.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import Final

from hiredis import pack_command
from redis.asyncio.connection import AbstractConnection
from redis.exceptions import RedisError

from service.errors import Unavailable
from service.keyspace import keys
from service.keyspace.scripts import Scripts
from service.keyspace.values import Lease

RETRY: Final = 0.5
"""Seconds between two attempts while the store does not answer."""
KEPT: Final = 320.0
"""Seconds after which nothing is said again: what the store could forget has run out by then."""
MOST: Final = 10_000
"""The most keys that are said again."""


class Deliveries:
    """Confirms and releases leases, over one connection that nobody else uses."""

    def __init__(self, connection: AbstractConnection, scripts: Scripts, timeout: float) -> None:
        self._connection = connection
        self._scripts = scripts
        self._timeout = timeout
        self._waiting: dict[asyncio.Future[None], str] = {}
        self._unheard: dict[str, float] = {}
        self._sender: asyncio.Task[None] | None = None

    async def confirm(self, lease: Lease) -> None:
        """Return once the store is being told that the tokens are handed out, which then must be done.

        Raises ``Unavailable`` when the store is out of reach or the lease is over: then they must not be.
        """
        told = self._tell(keys.undelivered(lease.login_id, lease.device, lease.issued))
        try:
            async with asyncio.timeout(max(0.0, lease.by - time.monotonic())):
                await told
        except TimeoutError:
            raise Unavailable("The session store is out of reach") from None

    def seen(self, login_id: str, device: str, issued: int) -> None:
        """Tell the store, soon and if it can be reached, that somebody has the tokens of this ``iat``."""
        told = self._tell(keys.undelivered(login_id, device, issued))
        told.add_done_callback(lambda done: done.cancelled() or done.exception())

    async def release(self, lease: Lease) -> None:
        """Let the next request have the tokens at once, since they are not handed out.

        Without the store it has to wait until the lease is over.
        """
        with suppress(Unavailable):
            await self._scripts.run("release", lease.login_id, lease.device, lease.issued, lease.until)

    async def close(self) -> None:
        """Say what is left to be said, if the store answers in time, and disconnect."""
        if self._sender is not None:
            _, left = await asyncio.wait([self._sender], timeout=self._timeout)
            for task in left:
                task.cancel()
                await asyncio.wait([task])
        self._fail(None)
        await self._connection.disconnect(nowait=True)

    def _tell(self, key: str) -> asyncio.Future[None]:
        loop = asyncio.get_running_loop()
        told: asyncio.Future[None] = loop.create_future()
        self._waiting[told] = key
        if self._sender is None:
            self._sender = loop.create_task(self._send_all())
        return told

    async def _send_all(self) -> None:
        pause = 0.0  # the first time at once: the connection may have been dropped while it was idle
        try:
            while self._waiting or self._unheard:
                if await self._send_once():
                    pause = 0.0
                    continue
                self._forget_old()
                if self._unheard and not self._waiting:
                    await asyncio.sleep(pause)
                    pause = RETRY
        finally:
            self._sender = None
            self._fail(None)

    async def _send_once(self) -> bool:
        """Send what waits and what was not answered; tell whether it was answered."""
        await asyncio.sleep(0)
        try:
            async with asyncio.timeout(self._timeout):
                # Before anything is taken from those who wait: nothing of them was sent if this fails.
                await self._connection.connect()  # type: ignore[no-untyped-call]  # redis-py's gap
        except (RedisError, OSError) as error:
            await self._connection.disconnect(nowait=True)
            self._fail(error)
            return False
        for told, key in self._waiting.items():
            if not told.done():  # else the lease is over, or the request was cancelled
                told.set_result(None)
                self._unheard[key] = time.monotonic()
        self._waiting = {}
        sent = list(self._unheard)
        if not sent:
            return True
        try:
            async with asyncio.timeout(self._timeout):
                command: bytes = pack_command(("DEL", *sent))  # type: ignore[arg-type]  # its stub forgot "..."
                await self._connection.send_packed_command(command, check_health=False)
                await self._connection.read_response(disable_decoding=True)
        except (RedisError, OSError):
            await self._connection.disconnect(nowait=True)
            return False
        for key in sent:
            del self._unheard[key]
        return True

    def _fail(self, cause: BaseException | None) -> None:
        left, self._waiting = self._waiting, {}
        for told in left:
            if not told.done():
                refusal = Unavailable("The session store is out of reach")
                refusal.__cause__ = cause
                told.set_exception(refusal)

    def _forget_old(self) -> None:
        least = time.monotonic() - KEPT
        kept = [(key, at) for key, at in self._unheard.items() if at >= least]
        self._unheard = dict(kept[-MOST:])
