"""Commands of a cluster, and what belongs to a script on other servers than the user's."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, Final
from weakref import WeakSet

from hiredis import ReplyError
from msgspec import json
from redis.exceptions import (
    AskError,
    ClusterDownError,
    MasterDownError,
    MovedError,
    NoScriptError,
    ReadOnlyError,
    ResponseError,
    TryAgainError,
)

from service.errors import Unavailable
from service.features.cluster.cluster_map import ClusterMap, Node
from service.features.cluster.request_checks import ClusterChecks
from service.features.cluster.revocation_writer import RevocationWriter
from service.keyspace import keys
from service.keyspace.confirming import confirmed
from service.keyspace.connection import Address, OpenNode
from service.keyspace.pipeline import (
    Command,
    Pipeline,
    PipelinedClient,
    packed,
)
from service.keyspace.scripts import Elsewhere, Revoked, Scripts
from service.keyspace.servers import Server

_PING: Final = packed("PING")
_REPEAT: Final = 0.5  # seconds until changes of indexes are sent again
_MOST: Final = 10_000
"""The most changes of indexes that wait to be sent again."""
_REDIRECTS: Final[dict[type[ResponseError], str]] = {
    MovedError: "MOVED",
    AskError: "ASK",
    TryAgainError: "TRYAGAIN",
    ClusterDownError: "CLUSTERDOWN",
    MasterDownError: "MASTERDOWN",
    ReadOnlyError: "READONLY",
}


class ClusterClient(PipelinedClient):
    """Sends each command to the server that has the slot of its key."""

    def __init__(self, servers: ClusterMap, anywhere: Address, open_node: OpenNode) -> None:
        """``anywhere`` is where the pool of redis-py would connect; nothing is sent over it."""
        pool = open_node(anywhere)
        super().__init__(pool, Pipeline(_refuse_to_connect, servers.timeout))
        self._map = servers

    async def send(self, *words: Any, **options: Any) -> Any:
        """Send a command and return its reply, in the form that redis-py gives it."""
        text = packed(*words[0].split(), *words[1:])
        if words[0] == "SCRIPT LOAD":
            await self._map.owner_now(None)
            return (await asyncio.gather(*(self._map.ask(node, text) for node in self._map.primaries())))[0]
        slot = _slot_of(words)
        until, asking = 0.0, False
        node = (None if slot is None else self._map.owner(slot)) or await self._map.owner_now(slot)
        while isinstance(reply := await self._map.ask(node, text, asking=asking), ReplyError):
            error = str(reply)
            if error.startswith("NOSCRIPT"):
                raise NoScriptError(error)
            until = until or asyncio.get_running_loop().time() + self._map.timeout
            node, asking = await self._map.redirected(error, slot, node, until)
        in_form = self.response_callbacks.get(words[0])
        return in_form(reply, **options) if in_form else reply

    def ask(self, *words: str | bytes | int) -> Awaitable[Any]:
        """Send a command without a span; return what waits for its reply."""
        return self.send(*words)

    async def confirmed(
        self,
        replicas: int,
        timeout: float,  # noqa: ASYNC109 - see ``confirming``
        *words: Any,
    ) -> tuple[Any, bool]:
        """Run a script; return its reply, and whether so many replicas of that shard have its writes."""
        slot, asking = _slot_of(words), False
        until = asyncio.get_running_loop().time() + timeout
        node = await self._map.owner_now(slot)
        while True:
            try:
                left = max(0.0, until - asyncio.get_running_loop().time())
                return await confirmed(node.pool, replicas, left, *words, asking=asking)
            except ResponseError as error:
                if (kind := _REDIRECTS.get(type(error))) is None:
                    raise
                rest = (
                    f"{error.slot_id} {error.node_addr[0]}:{error.node_addr[1]}"
                    if isinstance(error, AskError)
                    else ""
                )
                node, asking = await self._map.redirected(f"{kind} {rest}", slot, node, until)
            except OSError:
                self._map.failed(node)
                raise

    async def values(self, *names: str) -> list[bytes | None]:
        """Return the texts of keys."""
        return list(await asyncio.gather(*(self.send("GET", name) for name in names)))

    async def remove(self, *names: str) -> int:
        """Delete keys; return how many there were."""
        return sum(await asyncio.gather(*(self.send("DEL", name) for name in names)))

    def is_up(self, key: str) -> bool:
        """Whether the server of a key has answered last."""
        return self._map.is_up(keys.slot_of(key))

    async def ready(self, key: str) -> None:
        """Return once there is a connection to the server of ``key``; ConnectionError if none opens."""
        try:
            node = await self._map.owner_now(keys.slot_of(key))
        except Unavailable as error:
            raise ConnectionError("the part of the store has no primary") from error
        await node.command.ready()

    def delete_soon(self, key: str, answered: Callable[[Any], None]) -> None:
        """Send the deletion of a key at once, or where it is redirected to; ``answered`` as for a server."""
        slot = keys.slot_of(key)
        if (node := self._map.owner(slot)) is None:
            asyncio.get_running_loop().call_soon(answered, ConnectionError("the part has no primary"))
            return
        text = packed("DEL", key)

        def replied(reply: Any) -> None:
            if isinstance(reply, ReplyError) and str(reply).startswith(("MOVED", "ASK")):
                task = asyncio.get_running_loop().create_task(self.send("DEL", key))
                task.add_done_callback(lambda done: answered(None if done.cancelled() else done.exception()))
            else:
                answered(reply)

        node.command.send(Command(text, replied, answered, repeatable=True))


def _slot_of(words: tuple[Any, ...]) -> int | None:
    if words[0] in ("EVALSHA", "EVAL"):
        return keys.slot_of(words[3]) if int(words[2]) else None
    return keys.slot_of(words[1]) if len(words) > 1 else None


async def _refuse_to_connect(_replies: asyncio.Protocol) -> asyncio.StreamWriter:
    raise ConnectionError("commands go to the servers of the cluster")


class Cluster:
    """The servers of a cluster; also what belongs to scripts elsewhere."""

    def __init__(self, seeds: list[Address], open_node: OpenNode, timeout: float) -> None:
        self.names = keys.ClusterNames()
        self._map = ClusterMap(seeds, open_node, timeout, self.names)
        self.client = ClusterClient(self._map, seeds[0], open_node)
        self.checks = ClusterChecks(self._map, self.client)
        self.elsewhere: Elsewhere | None = self
        self._scripts: Scripts  # both are set by ``uses``: they need this object themselves
        self._revocations: RevocationWriter
        self._tasks: set[asyncio.Task[None]] = set()
        self._left: list[tuple[list[str], list[str | int]]] = []
        self._again: asyncio.TimerHandle | None = None
        self._closed = False
        self._have_script: WeakSet[Node] = WeakSet()

    def uses(self, scripts: Scripts) -> None:
        """Take the scripts by which other servers are told, and tell them so."""
        self._scripts, scripts.elsewhere = scripts, self
        self._revocations = RevocationWriter(scripts)

    async def primaries(self) -> list[Server]:
        """Return the servers that take writes; raises ``Unavailable``."""
        await self._map.owner_now(None)
        return self._map.servers()

    def covered(self) -> float:
        """Return the part of all slots that have a server, from 0 to 1."""
        return self._map.covered()

    def calls(self) -> Iterator[tuple[dict[str, str], Pipeline]]:
        """Yield the connections, with labels that say what goes over them, and where."""
        return self._map.calls()

    async def follow(self) -> None:
        """Follow the slots until cancelled."""
        await self._map.follow()

    async def close(self) -> None:
        """Disconnect, once what was sent has been answered."""
        self._closed = True
        if self._again is not None:
            self._again.cancel()
        asked = (self._map.ask(node, _PING) for node in self._map.primaries())
        await asyncio.gather(*asked, *self._tasks, return_exceptions=True)
        await self._map.close()
        await self.client.aclose()
        await self.client.connection_pool.disconnect()

    async def revoke(self, key: str, revoked: Sequence[Revoked]) -> None:
        """Add to a list of revocations what the script with that ``key`` is going to revoke.

        The list is one on the server of the key, if there is one: then a failover that keeps what the script
        writes keeps the entry, which is earlier. Each list is read, so another one does as well. Raises
        ``Unavailable``.
        """
        home = self._map.owner(keys.slot_of(key))

        def preferred(tag: str) -> tuple[bool, bool]:
            slot = keys.slot_of(tag)
            return not self._map.is_up(slot), self._map.owner(slot) is not home

        await self._revocations.add(min(self.names.queues, key=preferred), revoked)

    async def tell(self, key: str, ahead: int, changes: bytes) -> None:
        """Pass on, soon, an instant that was ahead, and changes of indexes; ``key`` was the script's.

        A session that could not be put into an index is put there later, or by its next refresh; one that
        could not be taken out is dropped by who reads the index.
        """
        if changes:
            rows: list[list[str]] = json.decode(changes)
            tag = self.names.part(rows[0][1].partition(":")[0])
            places = {name: place for place, name in enumerate(dict.fromkeys(row[0] for row in rows), 1)}
            words: list[str | int] = []
            for name, member, ends in rows:
                words += (places[name], member, ends)
            await self._put_now([self.names.of(name, tag) for name in places], words)
        if ahead:
            self._start(self._tell_ahead(key, ahead))

    async def end_rights(self) -> None:
        """Replace the copies of the epoch of all rights; raises ``Unavailable`` unless all could be.

        No copy gets a text that another one may have had before a change. Each change ends the user's own
        epoch first, so who reads a copy before the user's epoch knows of each change whose copies have been
        replaced.
        """
        names = [self.names.of(keys.ALL_RIGHTS, tag) for tag in self.names.tags]
        stored, following = await self.client.values(*names), secrets.token_hex(20)
        answers = await asyncio.gather(
            *(
                self._scripts.run("rights_replace", [name], text or b"", following, keys.EPOCH_LIFE)
                for name, text in zip(names, stored, strict=True)
            ),
            return_exceptions=True,
        )
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer

    def _start(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _put_now(self, names: list[str], words: list[str | int]) -> None:
        """Send changes of indexes with the other commands of the moment, and again where that fails.

        So what is asked after it sees them. A server may not have the script yet: then this waits once.
        """
        node = self._map.owner(keys.slot_of(names[0]))
        if node is None or not self._map.is_up(keys.slot_of(names[0])):
            self._start(self._put(names, words))
            return
        if node not in self._have_script:
            await self._put(names, words)
            self._have_script.add(node)
            return

        def answered(reply: Any) -> None:
            if isinstance(reply, BaseException) and not self._closed:
                self._start(self._put(names, words))

        text = self._scripts.packed("index", names, *words)
        node.send_soon(Command(text, answered, answered, repeatable=True))

    async def _put(self, names: list[str], words: list[str | int]) -> None:
        try:
            await self._scripts.run("index", names, *words)
        except Unavailable:
            self._left = [*self._left, (names, words)][-_MOST:]
            if self._again is None and not self._closed:
                self._again = asyncio.get_running_loop().call_later(_REPEAT, self._put_again)

    def _put_again(self) -> None:
        self._again = None
        left, self._left = self._left, []
        for names, words in left:
            rows = [words[at : at + 3] for at in range(0, len(words), 3)]
            # Not what was taken out: the session may have been opened again since.
            kept = [word for row in rows if row[2] for word in row]
            if kept:
                self._start(self._put(names, kept))

    async def _tell_ahead(self, key: str, ahead: int) -> None:
        node = self._map.owner(keys.slot_of(key))
        if node is not None and node.tag is not None:
            try:
                await self._scripts.run("ahead", [self.names.of(keys.AHEAD, node.tag)], ahead)
            except Unavailable:
                return  # it is found again as long as it is ahead
