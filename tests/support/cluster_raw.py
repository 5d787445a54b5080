"""A cluster as it is, to look at and to tamper with by the documented names of keys."""

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from redis.asyncio import Redis
from redis.asyncio.cluster import RedisCluster

from service.keyspace.keys import ClusterNames, slot_of

_OF_ALL = frozenset({"flushall", "script_flush", "config_set", "config_resetstat"})
_REFRESH = re.compile(r"auth:(?:refresh|spent):(?!\{)")


def batched(rows: Iterable[Any], size: int) -> Iterator[list[Any]]:
    """Yield rows in lists of at most ``size``."""
    remaining = iter(rows)
    while some := list(islice(remaining, size)):
        yield some


class ClusterRaw:
    """redis-py's client of a cluster, whose commands take documented names of keys.

    What every part has is read from the first part that has it, and written to all.
    """

    def __init__(self, url: str) -> None:
        hosts = url.rpartition("//")[2].rpartition("@")[2]
        host, _, port = hosts.partition(",")[0].partition(":")
        self._client: Any = RedisCluster(host=host, port=int(port), decode_responses=True)
        self._names = ClusterNames()
        self._of_servers: dict[int, Redis] = {}

    async def close(self) -> None:
        """Disconnect."""
        await self._client.aclose()
        for server in self._of_servers.values():
            await server.aclose()

    def __getattr__(self, command: str) -> Callable[..., Any]:
        async def call(*words: Any, **options: Any) -> Any:
            if command in _OF_ALL:
                return [await getattr(node, command)(*words, **options) for node in await self._primaries()]
            name, *rest = words
            places = await self._places(str(name))
            answers = [await getattr(self._client, command)(place, *rest, **options) for place in places]
            return next((answer for answer in answers if answer not in (None, 0, -2)), answers[0])

        return call

    async def keys(self, pattern: str) -> list[str]:
        """Return the documented names of all keys that match ``pattern``, each once."""
        written = {self._documented(name) for name in await self.real_keys()}
        return sorted(name for name in written if re.fullmatch(pattern.replace("*", ".*"), name, re.DOTALL))

    async def real_keys(self) -> list[str]:
        """Return all keys."""
        return [str(name) for node in await self._primaries() for name in await node.keys("*")]

    async def delete(self, *names: str) -> None:
        """Remove keys."""
        for name in names:
            for place in await self._places(name):
                await self._client.delete(place)

    async def zadd(self, name: str, members: dict[str, float]) -> None:
        """Add members to an index, each in the part of its user."""
        parts: dict[str, dict[str, float]] = {}
        for member, ends in members.items():
            parts.setdefault(self._names.part(member.partition(":")[0]), {})[member] = ends
        for tag, of_part in parts.items():
            await self._client.zadd(self._names.of(name, tag), of_part)

    async def mset(self, texts: dict[str, str]) -> None:
        """Write keys."""
        for some in batched(texts.items(), 200):
            await asyncio.gather(*(self._client.set(self._names.of(name), text) for name, text in some))

    async def zcard(self, name: str) -> int:
        """Return the number of members of an index, of all parts."""
        return sum([await self._client.zcard(self._names.of(name, tag)) for tag in self._names.tags])

    async def info(self, section: str) -> dict[str, Any]:
        """Return the facts of all primaries together; numbers of calls are added."""
        together: dict[str, Any] = {}
        for node in await self._primaries():
            for name, fact in (await node.info(section)).items():
                calls = {"calls": fact["calls"] + together.get(name, {"calls": 0})["calls"]}
                together[name] = calls
        return together

    async def _primaries(self) -> list[Redis]:
        await self._client.initialize()
        ports = [int(node.port) for node in self._client.get_primaries()]
        for port in {*ports} - {*self._of_servers}:
            self._of_servers[port] = Redis(port=port, decode_responses=True)
        return [self._of_servers[port] for port in ports]

    async def _places(self, name: str) -> list[str]:
        if _REFRESH.match(name):
            kind, _, rid = name.rpartition(":")
            places = [key for key in await self.real_keys() if re.fullmatch(rf"{kind}:\{{\d+\}}\.{rid}", key)]
            return places or [name]
        actual = self._names.of(name)
        if actual != name or "{" in name:
            return [actual]
        tagged = [self._names.of(name, tag) for tag in self._names.tags]
        return [name] if slot_of(tagged[0]) == slot_of(name) else tagged

    @staticmethod
    def _documented(name: str) -> str:
        return re.sub(r"\{p\d+\}", "", re.sub(r"\{(\d+)\}", r"\1", re.sub(r"\{\d+\}\.", "", name)))
