"""State for followers of the policy elsewhere: the list of revocations, and the followers."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from service.keyspace import keys
from service.keyspace.pipeline import PipelinedClient
from service.keyspace.scripts import Scripts

AT_ONCE: Final = 500
"""The most entries that are read at once, and users of an entry."""

_KINDS: Final[dict[bytes, Literal["marked", "ended"]]] = {b"marked": "marked", b"ended": "ended"}
_MARGIN: Final = 1_000  # milliseconds


class Revocation(NamedTuple):
    """An entry: ``marked`` with users and milliseconds, ``7:1700…``, or ``ended`` with a session."""

    kind: Literal["marked", "ended"]
    text: str


class Revocations(NamedTuple):
    """Revocations behind a place, in order, and the place behind them; ``more`` follows.

    ``complete`` is false if entries between the two may be lost: then these begin with the first kept entry.
    ``whole_since`` is the time since which no entry is missing, in milliseconds since the epoch by the
    store's clock.
    """

    place: str
    entries: list[Revocation]
    more: bool
    complete: bool
    whole_since: int


class _List(NamedTuple):
    """The result of reading one list."""

    last: bytes
    entries: list[tuple[bytes, tuple[bytes, bytes]]]
    has_place: bool
    whole_since: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RevocationList:
    """Events that end tokens: each mark of a user, and each session that ended before its time.

    One server has one list, and an entry is made in the same step as its event. A cluster has several lists,
    and all of them are read. There an entry is made in one of them before its event, see decision 0115. A
    list is trimmed by its length.
    """

    scripts: Scripts
    clock: Callable[[], Awaitable[int]]
    """Return the time in milliseconds, the latest of all servers'."""

    async def behind(self, place: str | None, most: int = AT_ONCE) -> Revocations:
        """Return at most ``most`` entries behind ``place``, that of an earlier answer; None for all.

        Raises ``Unavailable`` unless all lists can be read.
        """
        tags = self.scripts.names.queues
        places = place.split(",") if place else [""] * len(tags)
        if len(places) != len(tags):  # of a store of another kind
            return (await self.behind(None, most))._replace(complete=False)
        share = max(1, most // len(tags))
        asked = (self._read(tag, each, share) for tag, each in zip(tags, places, strict=True))
        lists = await asyncio.gather(*asked)
        if not all(each.has_place for each in lists):
            return (await self.behind(None, most))._replace(complete=False)
        ends = [each.entries[-1][0] if each.entries else each.last for each in lists]
        revoked = [
            Revocation(_KINDS[name], value.decode())
            for each in lists
            for _, (name, value) in each.entries
            if name in _KINDS
        ]
        return Revocations(
            place=",".join(map(bytes.decode, ends)),
            entries=revoked,
            more=any(end != each.last for end, each in zip(ends, lists, strict=True)),
            complete=True,
            whole_since=max(each.whole_since for each in lists),
        )

    async def last(self) -> str:
        """Return the place of the last entries; raises as ``behind`` does."""
        lists = await asyncio.gather(*(self._read(tag, "+", 0) for tag in self.scripts.names.queues))
        return ",".join(each.last.decode() for each in lists)

    async def _read(self, tag: str, place: str, most: int) -> _List:
        # The entry at the place is read too: one that is not there was cut off, or lost by a failover.
        behind = place not in ("", "+")
        names, apart = [self.scripts.names.of(keys.REVOCATIONS, tag)], self.scripts.names.apart
        words = (place, most + behind, int(apart))
        answer = await self.scripts.run("revocations", names, *words, 0)
        if answer[1] == b"opening":
            answer = await self.scripts.run("revocations", names, *words, await self.clock())
        first, opened_by, last, *entries = answer
        has_place = not behind or (bool(entries) and entries.pop(0)[0].decode() == place)
        # A mark may be later than its entry by the milliseconds between the tokens of one user. On a cluster,
        # a clock may be later than those that have answered.
        margin = 0 if opened_by == b"begun" and not apart else _MARGIN
        return _List(last, entries, has_place, int(first.partition(b"-")[0]) + margin)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Followers:
    """Followers by name, with their reported facts."""

    client: PipelinedClient

    async def note(self, name: str, facts: bytes) -> None:
        """Keep ``facts`` of a follower; raises ``Unavailable``."""
        await self.client.hset(keys.FOLLOWERS, name, facts)

    async def all(self) -> list[bytes]:
        """Return the facts of all of them; raises ``Unavailable``."""
        return [fact for fact in await self.client.hvals(keys.FOLLOWERS) if isinstance(fact, bytes)]

    async def forget(self, *names: str) -> None:
        """Forget those that follow no longer; raises ``Unavailable``."""
        if names:
            await self.client.hdel(keys.FOLLOWERS, *names)
