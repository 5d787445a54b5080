"""What the session store says of itself: for whoever looks after it, not for requests."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from service.keyspace.connection import open_pool, within
from service.settings import Redis as RedisSettings


@dataclass(frozen=True, slots=True)
class StoreFacts:
    """``version`` counts as Redis counts; Valkey tells one as well. ``ahead``: seconds before our clock.

    ``memory`` is the limit in bytes, 0 for none, and ``policy`` what happens there. ``appends`` and
    ``snapshots`` say how data is kept. None stands for what this account may not ask.
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


async def inspect(settings: RedisSettings) -> StoreFacts:
    """Ask the store of ``settings``; raises ``Unavailable``."""
    pool = open_pool(settings.url, settings.timeout)
    client = Redis(connection_pool=pool)
    try:
        before = time.time()
        async with within(settings.timeout):
            seconds, microseconds = await client.time()
        ahead = int(seconds) + int(microseconds) / 1e6 - (before + time.time()) / 2
        async with within(settings.timeout):
            return _facts(await _info(client), await _saves(client), ahead)
    finally:
        await client.aclose()
        await pool.disconnect()


async def _info(client: Redis) -> dict[str, Any]:
    try:
        found: dict[str, Any] = await client.info()
    except ResponseError:  # not allowed
        return {}
    return found


async def _saves(client: Redis) -> bool | None:
    """Tell whether the store takes snapshots by itself."""
    try:
        return bool((await client.config_get("save")).get("save"))
    except ResponseError:
        return None


def _facts(info: dict[str, Any], snapshots: bool | None, ahead: float) -> StoreFacts:
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
    )
