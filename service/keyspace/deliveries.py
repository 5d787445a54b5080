"""Confirms to the session store that the tokens of a rotation were delivered.

Until the store gets that confirmation, it gives the same tokens to any request that repeats the used refresh
token, one request at a time. So the confirmation is sent right before the tokens are, with no await in
between. No request waits for the reply; confirmations without a reply are sent again.
"""

import asyncio
import time
from contextlib import suppress
from functools import partial
from typing import Any, Final

from service.errors import Unavailable
from service.kernel.core_sentences import sentence
from service.keyspace import keys
from service.keyspace.pipeline import PipelinedClient
from service.keyspace.scripts import Scripts
from service.keyspace.values import Lease

RETRY: Final = 0.5
"""Seconds between two attempts while the store does not answer."""
MOST: Final = 10_000
"""The most confirmations that are kept to be repeated."""


class Deliveries:
    """Confirms and releases leases, over a connection that others use too."""

    def __init__(self, client: PipelinedClient, scripts: Scripts) -> None:
        self._client = client
        self._names = scripts.names
        self._scripts = scripts
        self._unconfirmed: dict[str, None] = {}  # keys to delete, the oldest first
        self._again: asyncio.TimerHandle | None = None
        self._closed = False

    async def confirm(self, lease: Lease) -> None:
        """Confirm to the store that the tokens are delivered; the caller must send them right after.

        Raises ``Unavailable`` if the store is out of reach or the lease has ended: then they must not be
        sent.
        """
        try:
            await self._client.ready(self._key(lease.login_id, lease.device, lease.issued))
        except ConnectionError as error:
            raise Unavailable(sentence("session_store_unavailable")) from error
        if time.monotonic() > lease.by:
            raise Unavailable(sentence("session_store_late"))
        self.seen(lease.login_id, lease.device, lease.issued)

    def seen(self, login_id: str, device: str, issued: int) -> None:
        """Confirm to the store that a client has the tokens with this ``iat`` (``issued``, milliseconds)."""
        key = self._key(login_id, device, issued)
        self._unconfirmed.setdefault(key)
        self._client.delete_soon(key, partial(self._answered, key, None))

    def _key(self, login_id: str, device: str, issued: int) -> str:
        return self._names.of(keys.undelivered(login_id, device, issued))

    async def release(self, lease: Lease) -> None:
        """End the lease: the tokens were not delivered, and the next request may have them at once.

        If the store is out of reach, that request has to wait until the lease ends.
        """
        with suppress(Unavailable):
            name = keys.undelivered(lease.login_id, lease.device, lease.issued)
            of_lease = (lease.login_id, lease.device, lease.issued, lease.until)
            await self._scripts.of_sessions("release", [name], *of_lease)

    async def close(self) -> None:
        """Send the remaining confirmations once more, for the last time."""
        self._closed = True
        if self._again is not None:
            self._again.cancel()
        await asyncio.gather(*self._send_all())

    def _send_all(self) -> list[asyncio.Future[None]]:
        """Send all confirmations; each future has a result once one was answered or has failed."""
        loop = asyncio.get_running_loop()
        ended: list[asyncio.Future[None]] = []
        for key in list(self._unconfirmed):
            ended.append(loop.create_future())
            self._client.delete_soon(key, partial(self._answered, key, ended[-1]))
        return ended

    def _answered(self, key: str, ended: asyncio.Future[None] | None, reply: Any) -> None:
        if isinstance(reply, BaseException):
            self._repeat_later()
        else:
            self._unconfirmed.pop(key, None)
        if ended is not None and not ended.done():
            ended.set_result(None)

    def _repeat_later(self) -> None:
        self._unconfirmed = dict.fromkeys(list(self._unconfirmed)[-MOST:])
        if self._unconfirmed and self._again is None and not self._closed:
            self._again = asyncio.get_running_loop().call_later(RETRY, self._repeat)

    def _repeat(self) -> None:
        self._again = None
        self._send_all()
