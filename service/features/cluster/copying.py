"""Copy a session store of one server to a cluster, with the key names of a cluster."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import msgspec
from redis.asyncio import Redis

from service.kernel.operator_error import OperatorError
from service.keyspace import keys
from service.keyspace.connection import within
from service.keyspace.restored import walk
from service.keyspace.servers import Servers, open_servers
from service.settings import Redis as RedisSettings

# Recreated by the service, or expired within an hour.
_SKIPPED: Final = re.compile(r"auth:(?:ahead|probe|rights|revocations|online:page|streams:.*)")
_KIND: Final = re.compile(r"auth:log:[a-z]+|auth:online|auth:[a-z]+|policy:[a-z]+|rate")


class CopyError(OperatorError):
    """A store is not in the required state; the message names the state."""


async def copy_to_cluster(source: RedisSettings, target: RedisSettings) -> Counter[str]:
    """Copy all keys of ``source``, a server or group, and their expiries to ``target``, an empty cluster.

    Returns the number of keys by the prefix of their names. Neither store may be used meanwhile. Ended
    refresh ids without a user are omitted: they are rejected in any case. Raises ``CopyError`` if a store is
    not in the required state, and ``Unavailable``; then empty ``target``, and copy again.
    """
    reading, writing = open_servers(source), open_servers(target)
    try:
        if reading.names.apart or not writing.names.apart:
            raise CopyError(
                "The source must be a single server or a Sentinel group, and the target a cluster"
            )
        for server in await writing.primaries():
            async with within(target.timeout):
                if await Redis(connection_pool=server.pool).dbsize():
                    raise CopyError("The cluster is not empty")
        return await _Copying(reading, writing, target.timeout).run()
    finally:
        await reading.close()
        await writing.close()


class _Copying:
    def __init__(self, source: Servers, target: Servers, timeout: float) -> None:
        self._source, self._target = source.client, target.client
        self._timeout = timeout
        self._servers = source
        self._names = target.names

    async def run(self) -> Counter[str]:
        copied: Counter[str] = Counter()
        done: set[str] = set()
        (server,) = await self._servers.primaries()
        for pattern in ("auth:*", "policy:*", "rate:*"):
            async for names in walk(server.pool, pattern, self._timeout):
                for name in {name.decode() for name in names} - done:
                    done.add(name)
                    if not _SKIPPED.fullmatch(name) and await self._copy(name):
                        copied[kind[0] if (kind := _KIND.match(name)) else name] += 1
        return copied

    async def _copy(self, name: str) -> bool:
        ends = await self._source.send("PEXPIRETIME", name)
        if ends == -2:  # noqa: PLR2004 - expired meanwhile
            return False
        if name.startswith(("auth:device:", "auth:refresh:", "auth:spent:")):
            return await self._copy_text(name, ends)
        if name == keys.ONLINE or name.startswith(f"{keys.ONLINE}:"):
            await self._copy_index(name, ends)
            return True
        content = await self._source.send("DUMP", name)
        for key in self._keys(name):
            await self._target.send("RESTORE", key, max(ends, 0), content, "ABSTTL")
        return True

    def _keys(self, name: str) -> Iterator[str]:
        if name.startswith("policy:"):
            yield from (self._names.of(name, tag) for tag in self._names.tags)
        elif name.startswith("auth:log:"):
            yield self._names.of(name, self._names.queues[0])
        elif name.startswith("rate:"):
            yield self._names.of(name, self._names.part(name.removeprefix("rate:").removesuffix("/-1")))
        else:
            yield self._names.of(name)

    async def _copy_text(self, name: str, ends: int) -> bool:
        """Copy a text with a refresh id in its value or name; in a cluster these ids begin with a tag."""
        text = await self._source.send("GET", name)
        if text is None:
            return False
        family, _, rid = name.rpartition(":")
        if name.startswith("auth:device:"):
            login_id = name.split(":")[2]
            key, text = self._names.of(name), self._tagged(text, "rid", login_id)
        elif name.startswith("auth:spent:"):
            if text == b"ended":
                return False
            login_id = str(msgspec.json.decode(text)["login_id"])
            text = self._tagged(text, "next", login_id)
            key = f"{family}:{self._names.refresh_id(login_id, rid)}"
        else:
            key = f"{family}:{self._names.refresh_id(text.decode().partition(':')[0], rid)}"
        await self._target.send("SET", key, text, *(("PXAT", ends) if ends > 0 else ()))
        return True

    def _tagged(self, text: bytes, field: str, login_id: str) -> bytes:
        content: dict[str, Any] = msgspec.json.decode(text)
        content[field] = self._names.refresh_id(login_id, content[field])
        return msgspec.json.encode(content)

    async def _copy_index(self, name: str, ends: int) -> None:
        """Copy an index, each session into its user's part."""
        cursor: bytes | int = 0
        while True:
            cursor, rows = await self._source.send("ZSCAN", name, cursor, "COUNT", 1000)
            pairs = rows.items() if isinstance(rows, dict) else _pairs(rows)
            for member, score in pairs:
                key = self._names.of(name, self._names.part(bytes(member).decode().partition(":")[0]))
                await self._target.send("ZADD", key, score, member)
                if ends > 0:
                    await self._target.send("PEXPIREAT", key, ends)
            if int(cursor) == 0:
                return


def _pairs(rows: list[Any]) -> Iterator[tuple[bytes, Any]]:
    for row in rows:
        yield row if isinstance(row, tuple) else (row, 0)
