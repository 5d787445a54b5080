"""Tells the session store whether the tokens of a rotation were delivered.

Until the store gets that confirmation, it gives the same tokens to any request that repeats the used refresh
token, one request at a time. So the confirmation is sent right before the tokens are, with no await in
between. No request waits for the reply; confirmations without a reply are sent again.
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
"""Seconds after which a confirmation is not repeated: its key has expired by then."""
MOST: Final = 10_000
"""The most confirmations that are kept to be repeated."""


class Deliveries:
    """Confirms and releases leases, over one connection that nobody else uses."""

    def __init__(self, connection: AbstractConnection, scripts: Scripts, timeout: float) -> None:
        self._connection = connection
        self._connecting = asyncio.Lock()
        self._scripts = scripts
        self._timeout = timeout
        self._unconfirmed: dict[str, float] = {}  # keys to delete, and when that was sent first
        self._on_wire: deque[Sequence[str]] = deque()  # the keys of each command, in the order of the replies
        self._listener: asyncio.Task[None] | None = None

    async def confirm(self, lease: Lease) -> None:
        """Tell the store that the tokens are delivered; the caller must send them right after.

        Raises ``Unavailable`` if the store is out of reach or the lease has ended: then they must not be
        sent.
        """
        await self._connect()
        if time.monotonic() > lease.by:
            raise Unavailable("The session store has answered too late")
        key = keys.undelivered(lease.login_id, lease.device, lease.issued)
        self._unconfirmed[key] = time.monotonic()
        self._write([key])
        self._listen()

    def seen(self, login_id: str, device: str, issued: int) -> None:
        """Tell the store soon that a client has the tokens with this ``iat`` (``issued``, milliseconds)."""
        self._unconfirmed.setdefault(keys.undelivered(login_id, device, issued), time.monotonic())
        self._listen()

    async def release(self, lease: Lease) -> None:
        """End the lease: the tokens were not delivered, and the next request may have them at once.

        If the store is out of reach, that request has to wait until the lease ends.
        """
        with suppress(Unavailable):
            await self._scripts.run("release", lease.login_id, lease.device, lease.issued, lease.until)

    async def close(self) -> None:
        """Send the remaining confirmations, if the store answers in time, and disconnect."""
        if self._listener is not None:
            _, left = await asyncio.wait([self._listener], timeout=self._timeout)
            for task in left:
                task.cancel()
                await asyncio.wait([task])
        await self._connection.disconnect(nowait=True)

    async def _connect(self) -> None:
        """Connect if necessary; raises ``Unavailable``. When connected it returns without an await."""
        if self._connection.is_connected and not self._connecting.locked():
            return  # during the handshake a command could reach another database
        async with within(self._timeout), self._connecting:
            await self._connection.connect()  # type: ignore[no-untyped-call]  # redis-py's gap

    def _write(self, confirmed: Sequence[str]) -> None:
        # redis-py's method may wait, and nothing may come between the confirmation and the answer.
        writer = self._connection._writer  # noqa: SLF001
        if writer is not None:
            command: bytes = pack_command(("DEL", *confirmed))  # type: ignore[arg-type]  # its stub forgot "..."
            writer.write(command)
            self._on_wire.append(confirmed)

    def _listen(self) -> None:
        if self._listener is None:
            self._listener = asyncio.get_running_loop().create_task(self._read_replies())

    async def _read_replies(self) -> None:
        """Read the replies; repeat confirmations without one."""
        pause = 0.0  # the first time at once: the connection may have been dropped while it was idle
        try:
            while self._unconfirmed:
                try:
                    await self._read_due()
                    pause = 0.0
                except Unavailable:
                    await self._drop_connection()
                    await asyncio.sleep(pause)
                    pause = RETRY
        finally:
            self._listener = None

    async def _read_due(self) -> None:
        """Read all replies that are due; if none is, send all open confirmations first."""
        if not self._on_wire:
            await self._connect()
            self._write(list(self._unconfirmed))
        while self._on_wire:
            async with within(self._timeout):
                await self._connection.read_response(disable_decoding=True)
            for key in self._on_wire.popleft():
                self._unconfirmed.pop(key, None)

    async def _drop_connection(self) -> None:
        await self._connection.disconnect(nowait=True)
        self._on_wire.clear()
        least = time.monotonic() - KEPT
        kept = [(key, at) for key, at in self._unconfirmed.items() if at >= least]
        self._unconfirmed = dict(kept[-MOST:])
