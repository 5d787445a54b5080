"""What becomes of the tokens of a rotation: handed out, or not.

Until the store hears that they were handed out, it gives the same tokens to whoever repeats the spent refresh
token, one request at a time. So that word is put on the wire right before the tokens are, without a pause in
between. No request waits for its answer; what was not answered is said again.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from hiredis import pack_command
from redis.asyncio.connection import AbstractConnection

from service.errors import Unavailable
from service.keyspace import keys
from service.keyspace.connection import within
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
        self._connecting = asyncio.Lock()
        self._scripts = scripts
        self._timeout = timeout
        self._unheard: dict[str, float] = {}  # keys to forget, and when that was said first
        self._on_wire: deque[Sequence[str]] = deque()  # the keys of each command, in the order of the replies
        self._listener: asyncio.Task[None] | None = None

    async def confirm(self, lease: Lease) -> None:
        """Tell the store that the tokens are handed out, which must be done next.

        Raises ``Unavailable`` when the store is out of reach or the lease is over: then they must not be.
        """
        await self._connect()
        if time.monotonic() > lease.by:
            raise Unavailable("The session store has answered too late")
        self._say_once(keys.undelivered(lease.login_id, lease.device, lease.issued))

    def seen(self, login_id: str, device: str, issued: int) -> None:
        """Tell the store soon that somebody has the tokens of this ``iat``."""
        self._unheard.setdefault(keys.undelivered(login_id, device, issued), time.monotonic())
        self._listen()

    async def release(self, lease: Lease) -> None:
        """Let the next request have the tokens at once, since they are not handed out.

        Without the store it has to wait until the lease is over.
        """
        with suppress(Unavailable):
            await self._scripts.run("release", lease.login_id, lease.device, lease.issued, lease.until)

    async def close(self) -> None:
        """Say what is left to be said, if the store answers in time, and disconnect."""
        if self._listener is not None:
            _, left = await asyncio.wait([self._listener], timeout=self._timeout)
            for task in left:
                task.cancel()
                await asyncio.wait([task])
        await self._connection.disconnect(nowait=True)

    async def _connect(self) -> None:
        """Connect if need be; raises ``Unavailable``. With a connection it returns without a pause."""
        if self._connection.is_connected and not self._connecting.locked():
            return  # else the handshake may be under way: what is sent amid it could reach another database
        async with within(self._timeout), self._connecting:
            await self._connection.connect()  # type: ignore[no-untyped-call]  # redis-py's gap

    def _say_once(self, key: str) -> None:
        self._unheard[key] = time.monotonic()
        self._write([key])
        self._listen()

    def _write(self, forgotten: Sequence[str]) -> None:
        # Not by redis-py's method, which may wait: a word that is on the wire must be followed by the answer.
        writer = self._connection._writer  # noqa: SLF001
        if writer is not None:
            command: bytes = pack_command(("DEL", *forgotten))  # type: ignore[arg-type]  # its stub forgot "..."
            writer.write(command)
            self._on_wire.append(forgotten)

    def _listen(self) -> None:
        if self._listener is None:
            self._listener = asyncio.get_running_loop().create_task(self._hear_all())

    async def _hear_all(self) -> None:
        """Read the replies; say again what got none."""
        pause = 0.0  # the first time at once: the connection may have been dropped while it was idle
        try:
            while self._unheard:
                try:
                    await self._hear()
                    pause = 0.0
                except Unavailable:
                    await self._forget_connection()
                    await asyncio.sleep(pause)
                    pause = RETRY
        finally:
            self._listener = None

    async def _hear(self) -> None:
        """Read all replies that are due; with none due, say everything that is left to be said first."""
        if not self._on_wire:
            await self._connect()
            self._write(list(self._unheard))
        while self._on_wire:
            async with within(self._timeout):
                await self._connection.read_response(disable_decoding=True)
            for key in self._on_wire.popleft():
                self._unheard.pop(key, None)

    async def _forget_connection(self) -> None:
        await self._connection.disconnect(nowait=True)
        self._on_wire.clear()
        least = time.monotonic() - KEPT
        kept = [(key, at) for key, at in self._unheard.items() if at >= least]
        self._unheard = dict(kept[-MOST:])
