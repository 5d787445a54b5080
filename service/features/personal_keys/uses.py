"""The last use of people's keys, and the notice of a network that a key was never used from."""

import asyncio
import time
from ipaddress import ip_address, ip_network
from typing import Final

import structlog

from service.errors import Unavailable
from service.features.personal_keys import store
from service.features.service_accounts.store_holders import USE_EVERY
from service.kernel.notify import Notices
from service.records.database.transactions import Database

_MOST: Final = 10_000  # pairs of key and address whose last recorded use is cached
_BITS: Final = {4: 24, 6: 48}
_log = structlog.get_logger(__name__)


def network_of(address: str | None) -> str | None:
    """Return the network of an address: /24 of IPv4, /48 of IPv6; None for a text that is no address."""
    if not address:
        return None
    try:
        parsed = ip_address(address)
    except ValueError:
        return None
    return str(ip_network((parsed, _BITS[parsed.version]), strict=False))


class PersonalKeyUses:
    """Records where keys are used, in the background; see ``key_callers.PersonalKeyUses``.

    A worker records a key at one address once in ``USE_EVERY`` seconds. A failed write is lost: the next use
    after that time is written.
    """

    def __init__(self, database: Database, notices: Notices) -> None:
        self._database = database
        self._notices = notices
        self._noted: dict[tuple[int, str | None], float] = {}
        self._waiting: dict[tuple[int, str | None], None] = {}
        self._task: asyncio.Task[None] | None = None

    def note(self, key_id: int, address: str | None) -> None:
        """Record the use of a key from ``address``, None for an unknown one; returns at once."""
        now, use = time.monotonic(), (key_id, address)
        if now - self._noted.get(use, -USE_EVERY) < USE_EVERY:
            return
        if len(self._noted) >= _MOST:
            self._noted.clear()
        self._noted[use] = now
        self._waiting[use] = None
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._write())

    async def finish(self) -> None:
        """Wait until the recorded uses are written or lost."""
        if self._task is not None:
            await self._task

    async def _write(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting, {}
                await self._write_batch(list(batch))
        except Unavailable:
            self._waiting.clear()
        except Exception:  # noqa: BLE001 - nobody waits for a note, and no request may fail for it
            self._waiting.clear()
            _log.exception("uses of personal keys can't be noted")
        finally:
            self._task = None

    async def _write_batch(self, uses: list[tuple[int, str | None]]) -> None:
        async with self._database.transaction() as connection:
            for key_id, address in sorted(uses, key=lambda use: use[0]):
                network = network_of(address)
                used = await store.note_use(connection, key_id, address if network else None, network)
                if used is not None:
                    await self._notices.notify(
                        connection,
                        used.user_id,
                        "key_used_elsewhere",
                        facts={"name": used.key_name, "network": network},
                        client_ip=used.address,
                    )
