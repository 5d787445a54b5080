"""The servers of a cluster: slot owners, and the commands and checks sent to them.

A server that does not own a slot redirects to the owner
(https://valkey.io/topics/cluster-spec/#redirection-and-resharding). The command is sent there, within the
store's timeout. Slots are read again after a redirection, after a server failure, and every second to detect
failovers.
"""

import asyncio
import random
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, NamedTuple

import structlog
from hiredis import ReplyError
from redis.asyncio import BlockingConnectionPool

from service.errors import Unavailable
from service.features.cluster.sentences import sentence
from service.keyspace import keys
from service.keyspace.connection import Address, OpenNode, connect
from service.keyspace.pipeline import Command, Pipeline, packed, refuse
from service.keyspace.servers import Server

EVERY: Final = 1.0
"""Seconds between two queries of the slot owners."""
_ASKED: Final = 3
"""Number of servers queried at once; the newest view wins."""
_DOUBTED: Final = 5.0
"""Seconds during which a failed server is not queried if others can answer."""
_PAUSE: Final = 0.01  # seconds until a command is retried whose keys are being moved

_log = structlog.get_logger(__name__)


class Node:
    """A server of the cluster, and the connections to it; ``tag`` belongs to a part that the server owns."""

    def __init__(self, address: Address, pool: BlockingConnectionPool, timeout: float) -> None:
        self.address = address
        self.pool = pool
        self.command, self.check = (Pipeline(partial(connect, pool), timeout) for _ in range(2))
        self.tag: str | None = None
        self.copies = b""
        """The command that reads the policy revision and the epoch of all rights of the part."""
        self.doubted_until = 0.0
        self._waiting: list[Command] = []

    def send_soon(self, *commands: Command) -> None:
        """Send commands together with others of the moment."""
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._send_waiting)
        self._waiting += commands

    def _send_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        self.command.send(*waiting)

    async def close(self) -> None:
        """Disconnect; pending commands fail."""
        await self.command.close()
        await self.check.close()
        await self.pool.disconnect()


class _View(NamedTuple):
    """A server's view of the cluster; a higher ``epoch`` is newer."""

    epoch: int
    ranges: tuple[tuple[int, int, Address], ...]


_ASKING: Final = packed("ASKING")
_INFO: Final = packed("CLUSTER", "INFO")
_SLOTS: Final = packed("CLUSTER", "SLOTS")


class ClusterMap:
    """Maps slots to servers, and sends commands to servers."""

    def __init__(
        self, seeds: Sequence[Address], open_node: OpenNode, timeout: float, names: keys.Names
    ) -> None:
        self.timeout = timeout
        self.names = names
        self._seeds = seeds
        self._open = open_node
        self._nodes: dict[Address, Node] = {}
        self._owners: list[Node | None] = [None] * keys.SLOTS
        self._ranges: tuple[tuple[int, int, Address], ...] = ()
        self._looking: asyncio.Task[None] | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._closed = False

    def owner(self, slot: int) -> Node | None:
        """Return the owner of a slot; None if it is unknown."""
        return self._owners[slot]

    def primaries(self) -> list[Node]:
        """Return the servers that have slots."""
        return list(dict.fromkeys(node for node in self._owners if node is not None))

    async def owner_now(self, slot: int | None) -> Node:
        """Return the owner of a slot, or any server for None; raises ``Unavailable`` without one."""
        if not self._ranges:
            await self.look()
        node = next(iter(self.primaries()), None) if slot is None else self._owners[slot]
        if node is None:
            self.refresh_soon()
            raise Unavailable(sentence("shard_without_primary"))
        return node

    def is_up(self, slot: int) -> bool:
        """Return true if the owner of a slot is known and the last command to it was answered."""
        node = self._owners[slot]
        return not self._ranges or (
            node is not None and node.doubted_until <= asyncio.get_running_loop().time()
        )

    def failed(self, node: Node) -> None:
        """Note that a server does not answer."""
        node.doubted_until = asyncio.get_running_loop().time() + _DOUBTED
        self.refresh_soon()

    async def ask(self, node: Node, text: bytes, *, asking: bool = False) -> Any:
        """Send a command; return the reply, which may be a ReplyError. Raises ``Unavailable``."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        command = Command(text, partial(_settle, future), partial(refuse, future), repeatable=False)
        if asking:
            node.send_soon(Command(_ASKING, _ignore, _ignore, repeatable=False), command)
        else:
            node.send_soon(command)
        try:
            reply = await future
        except Unavailable:
            self.failed(node)
            raise
        node.doubted_until = 0.0
        return reply

    async def redirected(self, error: str, slot: int | None, asked: Node, until: float) -> tuple[Node, bool]:
        """Return the next server for a command refused with ``error``, and true if it needs ASKING.

        Raises ``Unavailable`` if the command cannot be served before ``until`` (the loop's time).
        """
        kind, _, rest = error.partition(" ")
        if asyncio.get_running_loop().time() < until:
            if kind in ("MOVED", "ASK"):
                node = self._named(rest.rpartition(" ")[2], asked)
                if kind == "MOVED" and slot is not None:
                    self._owners[slot] = node
                    self.refresh_soon()
                return node, kind == "ASK"
            if kind in ("TRYAGAIN", "READONLY", "LOADING"):
                if kind != "TRYAGAIN":
                    self.refresh_soon()
                await asyncio.sleep(_PAUSE)
                return await self.owner_now(slot), False
        if kind in ("CLUSTERDOWN", "READONLY", "MASTERDOWN", "LOADING"):
            self.failed(asked)
        raise Unavailable(sentence("session_store_unavailable")) from ReplyError(error)

    async def look(self) -> None:
        """Read the slot owners; raises ``Unavailable`` if no server can report them."""
        if self._closed:
            raise Unavailable(sentence("session_store_unavailable"))
        if self._looking is None:
            self._looking = asyncio.get_running_loop().create_task(self._look())
            self._looking.add_done_callback(self._looked)
        await asyncio.shield(self._looking)

    def refresh_soon(self) -> None:
        """Read the slot owners in the background."""
        if self._looking is None and not self._closed:
            self._looking = asyncio.get_running_loop().create_task(self._look())
            self._looking.add_done_callback(self._looked)

    async def follow(self) -> None:
        """Read the slot owners every ``EVERY`` seconds until cancelled."""
        while True:
            await asyncio.sleep(EVERY)
            with suppress(Unavailable):
                await self.look()

    async def close(self) -> None:
        """Disconnect from all servers."""
        self._closed = True
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.wait([self._looking])
        await asyncio.gather(*(node.close() for node in self._nodes.values()), *self._closing)

    def _looked(self, task: asyncio.Task[None]) -> None:
        self._looking = None
        if not task.cancelled():
            task.exception()  # waiting callers raise it

    async def _look(self) -> None:
        now = asyncio.get_running_loop().time()
        known = [node.address for node in self.primaries()]
        random.shuffle(known)  # spread the queries of all workers
        known.sort(key=lambda address: self._nodes[address].doubted_until > now)
        asked = list(dict.fromkeys([*known, *self._seeds]))
        for first in range(0, len(asked), _ASKED):
            nodes = map(self._node, asked[first : first + _ASKED])
            views = await asyncio.gather(*map(self._view, nodes), return_exceptions=True)
            readable = [view for view in views if isinstance(view, _View)]
            if readable:
                self._take(max(readable))
                return
        raise Unavailable(sentence("session_store_unavailable"))

    async def _view(self, node: Node) -> _View | None:
        """Return a server's view; None if the server sees no working cluster, as when it is cut off."""
        answers: list[asyncio.Future[Any]] = [asyncio.get_running_loop().create_future() for _ in range(2)]
        for future, text in zip(answers, (_INFO, _SLOTS), strict=True):
            settle = partial(_settle, future)
            node.command.send(Command(text, settle, partial(refuse, future), repeatable=True))
        info, ranges = await asyncio.gather(*answers)
        if isinstance(info, ReplyError) or isinstance(ranges, ReplyError):
            return None
        facts = dict(line.split(b":", 1) for line in info.splitlines() if b":" in line)
        if facts.get(b"cluster_state") != b"ok":
            return None
        read = [
            (first, last, ((host or b"").decode() or node.address[0], port))
            for first, last, (host, port, *_), *_ in ranges
        ]
        return _View(int(facts[b"cluster_current_epoch"]), tuple(sorted(read)))

    def _take(self, view: _View) -> None:
        for node in self._nodes.values():
            if node.doubted_until and node.command.connected:
                node.doubted_until = 0.0
        owners: list[Node | None] = [None] * keys.SLOTS
        for first, last, address in view.ranges:
            owners[first : last + 1] = [self._node(address)] * (last + 1 - first)
        if owners == self._owners:
            return
        if self._ranges and {address for *_, address in view.ranges} != {
            address for *_, address in self._ranges
        }:
            names = sorted({"{}:{}".format(*address) for *_, address in view.ranges})
            _log.warning("other servers are the primaries of the session store", addresses=names)
        self._owners, self._ranges = owners, view.ranges
        for node in self._nodes.values():
            node.tag = None
        for tag in self.names.tags:
            owner = owners[keys.slot_of(tag)]
            if owner is not None and owner.tag is None:
                owner.tag = tag
                copies = (keys.POLICY_REVISION, keys.ALL_RIGHTS)
                owner.copies = packed("MGET", *(self.names.of(name, tag) for name in copies))
        self._drop({address for *_, address in view.ranges})

    def _drop(self, kept: set[Address]) -> None:
        """Disconnect from servers without slots; commands sent to them fail and are sent to other servers."""
        for address in set(self._nodes) - kept:
            task = asyncio.get_running_loop().create_task(self._nodes.pop(address).close())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    def _node(self, address: Address) -> Node:
        node = self._nodes.get(address)
        if node is None:
            node = self._nodes[address] = Node(address, self._open(address), self.timeout)
        return node

    def _named(self, text: str, asked: Node) -> Node:
        host, _, port = text.rpartition(":")
        return self._node((host or asked.address[0], int(port)))

    def servers(self) -> list[Server]:
        """Return the servers that have slots."""
        return [Server("{}:{}".format(*node.address), node.pool, node.tag) for node in self.primaries()]

    def covered(self) -> float:
        """Return the fraction of slots that have a server."""
        return sum(node is not None for node in self._owners) / keys.SLOTS

    def calls(self) -> Iterator[tuple[dict[str, str], Pipeline]]:
        """Yield the connections to the servers, with labels."""
        for node in self.primaries():
            shard = "{}:{}".format(*node.address)
            yield {"call": "check", "shard": shard}, node.check
            yield {"call": "command", "shard": shard}, node.command


def _settle(future: asyncio.Future[Any], reply: Any) -> None:
    if not future.done():
        future.set_result(reply)


def _ignore(reply: object) -> None:
    pass
