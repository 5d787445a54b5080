"""The online list: paged from the indexes, never by scanning keys. A cluster has some for each part."""

import asyncio
import base64
import binascii
import time
from collections.abc import Sequence
from itertools import count
from typing import Final, NamedTuple

import msgspec

from service.keyspace import keys
from service.keyspace.pipeline import PipelinedClient
from service.keyspace.scripts import Scripts
from service.keyspace.values import DeviceSession, OnlinePage, OnlineSession

MOST_ROWS = 2**53  # above this Lua's numbers are not exact
_NEAR: Final = 200
"""Number of entries by which a page may lie behind those read from each part."""
_ROUNDS: Final = 1000  # pages that may have lost sessions, one after another
_HOUR: Final = 3_600_000  # milliseconds
_session = msgspec.json.Decoder(DeviceSession)


class _Entry(NamedTuple):
    ends: int
    member: bytes


class _Slice(NamedTuple):
    total: int
    before: int
    entries: list[_Entry]


class Online:
    """All live device sessions, latest expiry first: the most recent login or refresh."""

    def __init__(self, client: PipelinedClient, scripts: Scripts) -> None:
        self._client = client
        self._scripts = scripts
        self._names = scripts.names

    async def count(self) -> int:
        """Return the number of live device sessions, of all users."""
        return (await self._sliced([keys.ONLINE], -2, 0)).total

    async def page(
        self,
        *,
        number: int = 1,
        size: int = 20,
        cursor: str | None = None,
        user_name: str = "",
        login_ip: str = "",
        device: str = "",
    ) -> OnlinePage:
        """Return page ``number`` (from 1), or the page after ``cursor``.

        The filters are exact; an empty one matches everything. ValueError for a cursor from anywhere else.
        """
        indexes = _indexes(user_name, login_ip, device)
        after = None if cursor is None else _read_cursor(cursor)
        for _ in range(_ROUNDS):
            if after is None:
                part = await self._numbered(indexes, min((number - 1) * size, MOST_ROWS), size)
            else:
                part = await self._sliced(indexes, -1, size, *after)
            members = [entry.member.decode() for entry in part.entries]
            names = [self._names.of(keys.device(*member.split(":", 1))) for member in members]
            texts = await self._client.values(*names) if names else []
            lost = [entry for entry, text in zip(part.entries, texts, strict=True) if text is None]
            if not lost:
                break
            await asyncio.gather(*(self._drop(indexes, entry) for entry in lost))
        rows = tuple(
            _row(member, text) for member, text in zip(members, texts, strict=True) if text is not None
        )
        return OnlinePage(part.total, rows, _cursor(part.entries[-1]) if len(rows) == size else None)

    async def _numbered(self, indexes: Sequence[str], first: int, size: int) -> _Slice:
        """Return the entries from rank ``first``."""
        if len(self._names.tags) == 1:
            return await self._sliced(indexes, first, size)
        begin = await self._sliced(indexes, 0, first + size if first <= _NEAR else 1)
        if first <= _NEAR or first >= begin.total:
            return begin._replace(entries=begin.entries[first : first + size] if first <= _NEAR else [])
        # Few entries may lie between the page and those that end later than `latest`; ends are about
        # evenly spread.
        latest, passed = begin.entries[0].ends, 0
        least, beyond = min(round(1000 * time.time()) - _HOUR, latest - 1), begin.total
        for turn in count():
            if first - passed <= _NEAR or latest - least <= 1:
                break
            share = (first - passed - _NEAR / 2) / (beyond - passed) if turn % 3 < 2 else 0.5  # noqa: PLR2004
            middle = min(max(latest - round((latest - least) * share), least + 1), latest - 1)
            before = await self._before(indexes, middle)
            if before > first:
                least, beyond = middle, before
            else:
                latest, passed = middle, before
        part = await self._sliced(indexes, -1, first - passed + size, latest)
        return part._replace(entries=part.entries[first - passed : first - passed + size])

    async def _before(self, indexes: Sequence[str], ends: int) -> int:
        """Return the number of entries that end later."""
        if len(indexes) > 1:
            return (await self._sliced(indexes, -2, 0, ends)).before
        names = (self._names.of(indexes[0], tag) for tag in self._names.tags)
        later = (self._client.send("ZCOUNT", name, f"({ends}", "+inf") for name in names)
        return sum(await asyncio.gather(*later))

    async def _sliced(
        self, indexes: Sequence[str], first: int, size: int, ends: int = 0, member: str = ""
    ) -> _Slice:
        """Return the result of the script ``online``, of all parts together, at most ``size`` entries."""

        async def of_part(tag: str) -> _Slice:
            names = [self._names.of(name, tag) for name in (keys.PAGE, *indexes)]
            total, before, *rows = await self._scripts.run("online", names, first, size, ends, member)
            pairs = zip(rows[1::2], rows[::2], strict=True)
            return _Slice(total, before, [_Entry(int(ends), member) for ends, member in pairs])

        parts = await asyncio.gather(*map(of_part, self._names.tags))
        if len(parts) == 1:
            return parts[0]
        entries = sorted((entry for part in parts for entry in part.entries), reverse=True)
        return _Slice(sum(part.total for part in parts), sum(part.before for part in parts), entries[:size])

    async def _drop(self, indexes: Sequence[str], entry: _Entry) -> None:
        """Remove an entry whose session is gone, unless another session exists meanwhile."""
        member = entry.member.decode()
        tag = self._names.part(member.partition(":")[0])
        names = [self._names.of(name, tag) for name in indexes]
        words = [word for place in range(len(names)) for word in (place + 1, member, f"={entry.ends}")]
        await self._scripts.run("index", names, *words)


def _indexes(user_name: str, login_ip: str, device: str) -> list[str]:
    filters = (("user", user_name), ("ip", login_ip), ("device", device))
    return [keys.online(kind, value) for kind, value in filters if value] or [keys.ONLINE]


def _row(member: str, text: bytes) -> OnlineSession:
    login_id, _, device = member.partition(":")
    return OnlineSession(login_id, device, _session.decode(text))


def _cursor(last: _Entry) -> str:
    return base64.urlsafe_b64encode(b"%d %b" % last).decode()


def _read_cursor(cursor: str) -> tuple[int, str]:
    try:
        ends, _, member = base64.urlsafe_b64decode(cursor).decode("ascii").partition(" ")
    except (binascii.Error, ValueError):
        raise ValueError("the cursor was not made here") from None
    if not (ends.isdigit() and member):
        raise ValueError("the cursor was not made here")
    return int(ends), member
