"""Checks of each request in a cluster: one round trip per server."""

import asyncio
from functools import partial
from typing import Any

from hiredis import ReplyError

from service.errors import Unavailable
from service.features.cluster.cluster_map import ClusterMap, Node
from service.kernel.origin import Span
from service.keyspace import keys
from service.keyspace.checks import Answer, Checks, KeyPair
from service.keyspace.connection import within
from service.keyspace.pipeline import Command, PipelinedClient, begin_command, end_with, packed, refuse
from service.keyspace.revision_key import revision_in


class _ClusterPair(KeyPair):
    """The command that reads two keys of a user, and cached data about them."""

    names: tuple[str, str]
    slot: int


class ClusterChecks(Checks):
    """Reads pairs of keys in one round trip per server; the copies there are read first.

    The epoch of all rights is thus never newer than the data of a user: see ``CurrentRights``.
    """

    def __init__(self, servers: ClusterMap, client: PipelinedClient) -> None:
        self._map = servers
        self._client = client
        self._asked: list[tuple[_ClusterPair, asyncio.Future[Answer]]] = []
        self._alone: set[asyncio.Task[None]] = set()
        self._closed = False

    def pair(self, first: str, second: str) -> KeyPair:
        """Return the keys with two documented names of a user, for ``ask``; callers can cache them."""
        names = (self._map.names.of(first), self._map.names.of(second))
        pair = _ClusterPair(packed("MGET", *names))
        pair.names, pair.slot = names, keys.slot_of(names[0])
        return pair

    def ask(self, pair: KeyPair, span: Span | None = None) -> asyncio.Future[Answer]:
        """Return a future of the values of the two keys."""
        assert isinstance(pair, _ClusterPair)  # noqa: S101 - of this object
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Answer] = loop.create_future()
        if not self._asked:
            loop.call_soon(self._send_waiting)
        self._asked.append((pair, future))
        if span is not None:
            future.add_done_callback(partial(end_with, begin_command(span, "MGET")))
        return future

    async def close(self) -> None:
        """Refuse all waiting checks."""
        self._closed = True
        self._send_waiting()
        for task in self._alone:
            task.cancel()
        if self._alone:
            await asyncio.wait(self._alone)

    def _send_waiting(self) -> None:
        asked, self._asked = self._asked, []
        batches: dict[Node, list[tuple[_ClusterPair, asyncio.Future[Answer]]]] = {}
        for pair, future in asked:
            node = self._map.owner(pair.slot)
            if self._closed:
                refuse(future, ConnectionError("the connection was closed"))
            elif node is None or node.tag is None:
                self.ask_alone(pair, future)
            elif (batch := batches.get(node)) is None:
                batches[node] = [(pair, future)]
            else:
                batch.append((pair, future))
        for node, batch in batches.items():
            text = b"".join((node.copies, *(pair for pair, _ in batch)))
            of_node = _Batch(self, node, batch)
            command = Command(
                text, of_node.answered, of_node.failed, repeatable=False, replies=1 + len(batch)
            )
            node.check.send(command)

    def ask_alone(self, pair: _ClusterPair, future: asyncio.Future[Answer]) -> None:
        """Read keys one by one, which also works while a slot is moved, and after it."""
        task = asyncio.get_running_loop().create_task(self._read(pair, future))
        self._alone.add(task)
        task.add_done_callback(self._alone.discard)
        task.add_done_callback(partial(_refuse_unread, future))

    def failed(self, node: Node) -> None:
        """Note that a server does not answer."""
        self._map.failed(node)

    async def _read(self, pair: _ClusterPair, future: asyncio.Future[Answer]) -> None:
        try:
            async with within(self._map.timeout):
                node = await self._map.owner_now(pair.slot)
                tag, names = node.tag or self._map.names.tags[0], self._map.names
                copies = (names.of(keys.POLICY_REVISION, tag), names.of(keys.ALL_RIGHTS, tag))
                revision, all_rights = await self._client.values(*copies)
                marker, value = await self._client.values(*pair.names)
            if not future.done():
                future.set_result(Answer(marker, value, revision_in(revision), all_rights))
        except Unavailable as error:
            refuse(future, error)


def _refuse_unread(future: asyncio.Future[Answer], task: asyncio.Task[None]) -> None:
    if task.cancelled():
        refuse(future, ConnectionError("the connection was closed"))


class _Batch:
    """The checks in one command to one server."""

    __slots__ = ("_asked", "_at", "_checks", "_copies", "_node")

    def __init__(
        self, checks: ClusterChecks, node: Node, asked: list[tuple[_ClusterPair, asyncio.Future[Answer]]]
    ) -> None:
        self._checks = checks
        self._node = node
        self._asked = asked
        self._copies: Any = None
        self._at = 0

    def answered(self, reply: Any) -> None:
        """Process the next reply; the first is that of the copies. Raises an error for a malformed reply."""
        if self._copies is None:
            copies = _pair_in(reply)
            refused = isinstance(copies, ReplyError)
            self._copies = copies if refused else (revision_in(copies[0]), copies[1])
            return
        pair, future = self._asked[self._at]
        values = _pair_in(reply)
        self._at += 1
        if isinstance(values, ReplyError) or isinstance(self._copies, ReplyError):
            self._checks.ask_alone(pair, future)
        elif not future.done():
            future.set_result(Answer(*values, *self._copies))

    def failed(self, cause: BaseException) -> None:
        """Refuse the remaining checks; after a lost connection, retry each once."""
        self._checks.failed(self._node)
        for pair, future in self._asked[self._at :]:
            if isinstance(cause, TimeoutError):
                refuse(future, cause)
            else:
                self._checks.ask_alone(pair, future)


def _pair_in(reply: Any) -> Any:
    """Return a reply of two values, or a refusal that another server or a retry may resolve."""
    if isinstance(reply, ReplyError):
        if str(reply).partition(" ")[0] in (
            "MOVED",
            "ASK",
            "TRYAGAIN",
            "CLUSTERDOWN",
            "LOADING",
            "MASTERDOWN",
        ):
            return reply
        raise reply
    if not isinstance(reply, list) or len(reply) != 2:  # noqa: PLR2004
        raise ValueError("the reply has another number of values than the command has keys")
    return reply
