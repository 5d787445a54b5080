"""Facts about the session store server, for the operator."""

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from redis.asyncio import BlockingConnectionPool, Redis
from redis.exceptions import NoPermissionError, ResponseError

from service.errors import Unavailable
from service.kernel.metrics import Health
from service.keyspace import keys
from service.keyspace.connection import open_pool, primary_of, within
from service.settings import Redis as RedisSettings


@dataclass(frozen=True, slots=True)
class StoreFacts:
    """The facts of one server; None for what this account is not permitted to read.

    ``version`` is the Redis version, which Valkey reports too. ``memory`` is the limit in bytes (0: none),
    and ``policy`` what the server does at the limit. ``appends`` (AOF) and ``snapshots`` (RDB) say how data
    is persisted. ``ahead``: seconds that its clock is ahead of this machine's; ``was_ahead``: seconds from
    now to the latest instant that it has written while it was ahead, 0 if none was found in the last hour.
    ``replicas`` are attached; ``replica_lags`` are the seconds since each was heard of, None for one that is
    not in step.
    """

    product: str | None
    version: tuple[int, ...] | None
    mode: str | None
    role: str | None
    memory: int | None
    policy: str | None
    appends: bool | None
    snapshots: bool | None
    ahead: float
    was_ahead: float = 0.0
    replicas: int | None = None
    replica_lags: tuple[int | None, ...] = ()


async def inspect(settings: RedisSettings) -> StoreFacts:
    """Return the facts of the store of ``settings``; raises ``Unavailable``."""
    primary = primary_of(settings.url, settings.timeout)
    pool = open_pool(settings.url, settings.timeout, primary)
    client = Redis(connection_pool=pool)
    try:
        before = time.time()
        async with within(settings.timeout):
            seconds, microseconds = await client.time()
        now = int(seconds) + int(microseconds) / 1e6
        ahead = now - (before + time.time()) / 2
        async with within(settings.timeout):
            was_ahead = max(0.0, int(await client.get(keys.AHEAD) or 0) / 1000 - now)
            return _facts(await _info(client), await _saves(client), ahead, was_ahead)
    finally:
        await client.aclose()
        await pool.disconnect()
        if primary is not None:
            await primary.close()


async def _info(client: Redis) -> dict[str, Any]:
    try:
        facts: dict[str, Any] = await client.info()
    except ResponseError:  # not allowed
        return {}
    return facts


async def _saves(client: Redis) -> bool | None:
    """True if the store takes snapshots by itself; None if that may not be read."""
    try:
        return bool((await client.config_get("save")).get("save"))
    except ResponseError:
        return None


def _facts(info: dict[str, Any], snapshots: bool | None, ahead: float, was_ahead: float) -> StoreFacts:
    version = info.get("redis_version")
    valkey = info.get("valkey_version")
    appends = info.get("aof_enabled")
    return StoreFacts(
        product=f"Valkey {valkey}" if valkey else f"Redis {version}" if version else None,
        version=tuple(int(part) for part in str(version).split(".") if part.isdigit()) if version else None,
        mode=info.get("redis_mode", info.get("server_mode")),
        role=info.get("role"),
        memory=info.get("maxmemory"),
        policy=info.get("maxmemory_policy"),
        appends=None if appends is None else bool(appends),
        snapshots=snapshots,
        ahead=ahead,
        was_ahead=was_ahead,
        replicas=info.get("connected_slaves"),
        replica_lags=tuple(_lags(info)),
    )


def _lags(info: dict[str, Any]) -> Iterator[int | None]:
    for name, entry in info.items():
        if re.fullmatch(r"(?:slave|replica)\d+", name) and isinstance(entry, dict):
            yield int(entry.get("lag", 0)) if entry.get("state") == "online" else None


_LIFE: Final = 10_000  # milliseconds


class Probe:
    """Tests the store with a write."""

    def __init__(self, pool: BlockingConnectionPool, timeout: float) -> None:
        self._client = Redis(connection_pool=pool)
        self._timeout = timeout

    async def health(self) -> Health:
        """Write a key that expires after 10 seconds; raises ``Unavailable``.

        ``read_only``: the store answers but refuses the write: it is a replica, is out of memory, failed to
        save a snapshot, or has too few replicas.
        """
        try:
            async with within(self._timeout):
                await self._client.set(keys.PROBE, b"1", px=_LIFE)
        except Unavailable as refusal:
            cause = refusal.__cause__
            if isinstance(cause, ResponseError) and not isinstance(cause, NoPermissionError):
                return Health("read_only", {"reason": _reason(cause)})
            raise
        return Health("up")


def _reason(error: ResponseError) -> str:
    """Return redis-py's name for the store's refusal, or the store's own code, such as ``MISCONF``."""
    return str(error).split(" ", 1)[0] if type(error) is ResponseError else type(error).__name__
