"""Facts about the session store server, for the operator."""

import asyncio
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from redis.asyncio import Redis
from redis.exceptions import NoPermissionError, ResponseError

from service.errors import Unavailable
from service.kernel.core_sentences import sentence
from service.kernel.metrics import Health
from service.keyspace import keys
from service.keyspace.connection import within
from service.keyspace.servers import Server, Servers, open_servers
from service.settings import Redis as RedisSettings


@dataclass(frozen=True, slots=True)
class StoreFacts:
    """The facts of one server; None for values that this account is not permitted to read.

    ``version`` is the Redis version, which Valkey reports too. ``memory`` is the limit in bytes (0: none),
    and ``policy`` the server's behaviour at the limit. ``appends`` (AOF) and ``snapshots`` (RDB) describe the
    persistence of data. ``ahead``: seconds that its clock is ahead of this machine's. ``was_ahead``: seconds
    from now to the latest instant that it has written while it was ahead, 0 if none was found in the last
    hour. ``replicas`` are attached; ``replica_lags`` are the seconds since the last contact with each, None
    for a replica out of step. A cluster has several ``shards``: then the facts are the worst of their
    primaries. ``replicas`` are then those of the shard with the fewest, ``most_replicas`` those of the shard
    with the most. ``covered`` is the part of the slots that have a server, from 0 to 1. ``needs_all``: no
    request is served unless all slots have one. ``needs_replicas``: it refuses writes without replicas in
    touch (``min-replicas-to-write``); for a cluster, all primaries do. ``number`` is that of the database in
    the settings. ``keys_by_number`` has the number of keys of each database with keys; None if it cannot be
    read.
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
    shards: int = 1
    covered: float = 1.0
    needs_all: bool = False
    most_replicas: int = 0
    needs_replicas: bool | None = None
    number: int = 0
    keys_by_number: Mapping[int, int] | None = None


async def inspect(settings: RedisSettings) -> StoreFacts:
    """Return the facts of the store of ``settings``; raises ``Unavailable``."""
    servers = open_servers(settings)
    try:
        primaries = await servers.primaries()
        facts = [await _ask(server, servers.names, settings.timeout) for server in primaries]
        if servers.elsewhere is None:
            return facts[0]
        return await _together(facts, servers, settings.timeout)
    finally:
        await servers.close()


async def _ask(server: Server, names: keys.Names, timeout: float) -> StoreFacts:  # noqa: ASYNC109 - of each question
    client = Redis(connection_pool=server.pool)
    before = time.time()
    async with within(timeout):
        seconds, microseconds = await client.time()
    now = int(seconds) + int(microseconds) / 1e6
    ahead = now - (before + time.time()) / 2
    async with within(timeout):
        instant = None if server.tag is None else await client.get(names.of(keys.AHEAD, server.tag))
        was_ahead = max(0.0, int(instant or 0) / 1000 - now)
        facts = _facts(await _info(client), await _saves(client), ahead, was_ahead)
    number = int(client.connection_pool.connection_kwargs.get("db") or 0)
    return replace(facts, number=number)


async def _together(facts: list[StoreFacts], servers: Servers, timeout: float) -> StoreFacts:  # noqa: ASYNC109
    """Return the facts of a cluster: the worst of its servers."""
    by_policy = sorted(facts, key=lambda server: server.policy in (None, "noeviction"))
    (first, *_) = await servers.primaries()
    try:
        async with within(timeout):
            whole = await Redis(connection_pool=first.pool).config_get("cluster-require-full-coverage")
    except Unavailable:
        whole = {}
    return replace(
        min(facts, key=lambda server: server.version or ()),
        memory=by_policy[0].memory,
        policy=by_policy[0].policy,
        appends=_all(server.appends for server in facts),
        snapshots=_all(server.snapshots for server in facts),
        ahead=max((server.ahead for server in facts), key=abs),
        was_ahead=max(server.was_ahead for server in facts),
        replicas=min((server.replicas or 0 for server in facts), default=0),
        most_replicas=max((server.replicas or 0 for server in facts), default=0),
        replica_lags=tuple(lag for server in facts for lag in server.replica_lags),
        shards=len(facts),
        covered=servers.covered(),
        needs_replicas=_all(server.needs_replicas for server in facts),
        needs_all=whole.get("cluster-require-full-coverage", "no") == "yes",
    )


def _all(states: Iterable[bool | None]) -> bool | None:
    known = list(states)
    return False if False in known else None if None in known else True


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
        # It counts the replicas in touch only where it needs them.
        needs_replicas="min_slaves_good_slaves" in info if info else None,
        keys_by_number=_keys_by_number(info) if info else None,
    )


def _keys_by_number(info: Mapping[str, Any]) -> dict[int, int]:
    """Return the number of keys of each numbered database that has any."""
    numbered = {match[1]: entry for name, entry in info.items() if (match := _NUMBERED.fullmatch(name))}
    return {int(number): int(entry["keys"]) for number, entry in numbered.items() if isinstance(entry, dict)}


def _lags(info: dict[str, Any]) -> Iterator[int | None]:
    for name, entry in info.items():
        if re.fullmatch(r"(?:slave|replica)\d+", name) and isinstance(entry, dict):
            yield int(entry.get("lag", 0)) if entry.get("state") == "online" else None


_NUMBERED: Final = re.compile(r"db(\d+)")
_LIFE: Final = 10_000  # milliseconds


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Probe:
    """Tests the store with a write."""

    servers: Servers
    timeout: float

    async def health(self) -> Health:
        """Write a key that expires after 10 seconds, on each primary; raises ``Unavailable``.

        ``read_only``: the store answers but refuses the write: it is a replica, is out of memory, failed to
        save a snapshot, or has too few replicas. ``degraded``: so do some servers of a cluster, or they don't
        answer, or slots have no server: the users of other servers are served.
        """
        servers = await self.servers.primaries()
        healths = await asyncio.gather(*map(self._of_server, servers), return_exceptions=True)
        covered = self.servers.covered()
        if len(servers) == 1 and covered == 1:
            if isinstance(healths[0], BaseException):
                raise healths[0]
            return healths[0]
        states = [health.state if isinstance(health, Health) else "down" for health in healths]
        if "up" not in states:
            raise Unavailable(sentence("session_store_read_only"))
        bad = [server.address for server, state in zip(servers, states, strict=True) if state != "up"]
        details = {"shards": len(servers), "covered": covered}
        return Health("degraded", {**details, "down": bad}) if bad or covered < 1 else Health("up", details)

    async def _of_server(self, server: Server) -> Health:
        client = Redis(connection_pool=server.pool)
        try:
            async with within(self.timeout):
                if server.tag is None:
                    await client.ping()
                else:
                    await client.set(self.servers.names.of(keys.PROBE, server.tag), b"1", px=_LIFE)
        except Unavailable as refusal:
            cause = refusal.__cause__
            if isinstance(cause, ResponseError) and not isinstance(cause, NoPermissionError):
                return Health("read_only", {"reason": _reason(cause)})
            raise
        return Health("up")


def _reason(error: ResponseError) -> str:
    """Return redis-py's name for the store's refusal, or the store's own code, such as ``MISCONF``."""
    return str(error).split(" ", 1)[0] if type(error) is ResponseError else type(error).__name__
