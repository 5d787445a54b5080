"""Send commands to a cluster, and complete scripts on servers other than the user's."""

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
_REPEAT: Final = 0.5  # seconds until index changes are sent again
_MOST: Final = 10_000
"""Maximum number of index changes that wait to be sent again."""
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
        """Create the client; ``anywhere`` is an address for redis-py's pool, over which nothing is sent."""
        pool = open_node(anywhere)
        super().__init__(pool, Pipeline(_refuse_to_connect, servers.timeout))
        self._map = servers

    async def send(self, *words: Any, **options: Any) -> Any:
        """Send a command and return its reply, in the form of redis-py."""
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
        """Send a command without a span; return an awaitable of its reply."""
        return self.send(*words)

    async def confirmed(
        self,
        replicas: int,
        timeout: float,  # noqa: ASYNC109 - see ``confirming``
        *words: Any,
    ) -> tuple[Any, bool]:
        """Run a script; return its reply, and true if ``replicas`` replicas of the shard have its writes."""
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
        return list(await asyncio.gather(*(self.send("GET", name) for name in names)))

    async def remove(self, *names: str) -> int:
        """Delete keys; return the number of deleted keys."""
        return sum(await asyncio.gather(*(self.send("DEL", name) for name in names)))

    def is_up(self, key: str) -> bool:
        """Return true if the last command to the key's server was answered."""
        return self._map.is_up(keys.slot_of(key))

    async def ready(self, key: str) -> None:
        """Wait for a connection to the server of ``key``; raises ConnectionError if none opens."""
        try:
            node = await self._map.owner_now(keys.slot_of(key))
        except Unavailable as error:
            raise ConnectionError("the shard has no primary") from error
        await node.command.ready()

    def delete_soon(self, key: str, answered: Callable[[Any], None]) -> None:
        """Send the deletion of a key at once, following redirections; ``answered`` as for a server."""
        slot = keys.slot_of(key)
        if (node := self._map.owner(slot)) is None:
            asyncio.get_running_loop().call_soon(answered, ConnectionError("the shard has no primary"))
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
    """The servers of a cluster, and the parts of scripts that run on other servers."""

    def __init__(self, seeds: list[Address], open_node: OpenNode, timeout: float) -> None:
        self.names = keys.ClusterNames()
        self._map = ClusterMap(seeds, open_node, timeout, self.names)
        self.client = ClusterClient(self._map, seeds[0], open_node)
        self.checks = ClusterChecks(self._map, self.client)
        self.elsewhere: Elsewhere | None = self
        self._scripts: Scripts  # set by ``uses``, because both need this object
        self._revocations: RevocationWriter
        self._tasks: set[asyncio.Task[None]] = set()
        self._left: list[tuple[list[str], list[str | int]]] = []
        self._again: asyncio.TimerHandle | None = None
        self._closed = False
        self._have_script: WeakSet[Node] = WeakSet()

    def uses(self, scripts: Scripts) -> None:
        """Connect with the scripts that run on other servers."""
        self._scripts, scripts.elsewhere = scripts, self
        self._revocations = RevocationWriter(scripts)

    async def primaries(self) -> list[Server]:
        """Return the servers that accept writes; raises ``Unavailable``."""
        await self._map.owner_now(None)
        return self._map.servers()

    def covered(self) -> float:
        """Return the fraction of slots that have a server, from 0 to 1."""
        return self._map.covered()

    def calls(self) -> Iterator[tuple[dict[str, str], Pipeline]]:
        """Yield the connections, with labels for their purpose and server."""
        return self._map.calls()

    async def follow(self) -> None:
        """Follow the slots until cancelled."""
        await self._map.follow()

    async def close(self) -> None:
        """Disconnect after all sent commands were answered."""
        self._closed = True
        if self._again is not None:
            self._again.cancel()
        asked = (self._map.ask(node, _PING) for node in self._map.primaries())
        await asyncio.gather(*asked, *self._tasks, return_exceptions=True)
        await self._map.close()
        await self.client.aclose()
        await self.client.connection_pool.disconnect()

    async def revoke(self, key: str, revoked: Sequence[Revoked]) -> None:
        """Add ``revoked``, which the script with ``key`` will revoke, to a list of revocations.

        A list on the key's server is preferred: a failover that keeps the script's writes then also keeps the
        earlier entry. Otherwise any list will do, because all lists are read. Raises ``Unavailable``.
        """
        home = self._map.owner(keys.slot_of(key))

        def preferred(tag: str) -> tuple[bool, bool]:
            slot = keys.slot_of(tag)
            return not self._map.is_up(slot), self._map.owner(slot) is not home

        await self._revocations.add(min(self.names.queues, key=preferred), revoked)

    async def tell(self, key: str, ahead: int, changes: bytes) -> None:
        """Apply, in the background, a time that was ahead and index changes of the script with ``key``.

        A missing index entry is added later, or by the session's next refresh. A reader of the index drops an
        entry that could not be removed.
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
        """Replace the copies of the epoch of all rights; raises ``Unavailable`` if a copy cannot be replaced.

        An epoch value is never reused. A change ends the user's epoch first. A reader that reads a copy
        before the user's epoch thus sees every change whose copies have been replaced.
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
        """Send index changes with the other commands of the moment; retry on failure.

        Later commands thus see the changes. The first call for a server waits, because the server may lack
        the script.
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
            # Do not repeat removals: the session may have been opened again since.
            kept = [word for row in rows if row[2] for word in row]
            if kept:
                self._start(self._put(names, kept))

    async def _tell_ahead(self, key: str, ahead: int) -> None:
        node = self._map.owner(keys.slot_of(key))
        if node is not None and node.tag is not None:
            try:
                await self._scripts.run("ahead", [self.names.of(keys.AHEAD, node.tag)], ahead)
            except Unavailable:
                return  # it is detected again as long as it is ahead
