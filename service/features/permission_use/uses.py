"""Uses of permission codes: noted in memory by each worker, and merged in the database."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import date
from itertools import islice
from time import monotonic
from typing import Final

import structlog

from service.errors import Decided, Unavailable
from service.features.permission_use import store as permission_uses
from service.kernel.clock import AtMostEvery
from service.kernel.metrics import Sample
from service.records.database.transactions import Database

MERGE_EVERY: Final = 60.0
"""Seconds between two merges; what a worker that is killed loses."""
MOST_USERS: Final = 100_000
"""The most users of a day, and keys of people, that wait in a worker; uses of further ones are missed."""
MOST_NOTED: Final = 10_000
"""The most requests of users, until the next merge, that are known to need no further note."""
_AT_ONCE: Final = 1000  # users or keys of one statement
_DAY: Final = 86_400
_FIRST: Final = date(1970, 1, 1).toordinal()

_log = structlog.get_logger(__name__)


class PermissionUses:
    """The uses that a worker has not merged yet.

    Each user has a set of bits for each day. The bit positions are local to the batch, and differ from those
    in tokens. Each API key of a person has a set of codes, without days. ``now`` returns the time that
    determines the day, in seconds since the epoch. ``remapped`` waits for a published policy with another
    permission map; then earlier uses are merged at once. ``missed`` counts uses that found no room. For the
    thread of the event loop.
    """

    def __init__(
        self,
        database: Database,
        now: Callable[[], float],
        remapped: Callable[[], Awaitable[object]],
        steady: Callable[[], float] = monotonic,
    ) -> None:
        """``steady`` is a cheap clock in seconds, by which the end of a day is awaited between two merges."""
        self._database = database
        self._now = now
        self._remapped = remapped
        self._steady = steady
        self._merging = asyncio.Lock()
        self._telling = AtMostEvery(MERGE_EVERY)
        self.missed = 0
        self.noted: set[tuple[int, Decided, Decided]] = set()
        """Users, with both decisions that admitted a request of theirs, whose codes are noted for today."""
        self._bits: dict[str, int] = {}
        self._days: dict[int, dict[int, int]] = {}
        self._used: dict[int, int] = {}
        self._keys: dict[int, set[str]] = {}
        self._day_ends = float("-inf")

    def note(
        self, user_id: int, codes: Iterable[str], key_id: int | None = None, by_key: Iterable[str] = ()
    ) -> bool:
        """Take note that a user has needed ``codes`` now, and return True if there was room; never waits.

        ``key_id`` is the person's API key behind the request, and ``by_key`` the codes that its scopes have
        needed.
        """
        if key_id is not None and (key_id in self._keys or self._has_begun_key(key_id)):
            needed = self._keys[key_id]
            for code in by_key:
                if code not in needed:
                    needed.add(code)
        if not self.is_of_today():
            self._begin_day()
        bits, used = self._bits, self._used
        mask = used.get(user_id, 0)
        if not mask and len(used) >= MOST_USERS:
            self.missed += 1
            return False
        for code in codes:
            bit = bits.get(code)
            if bit is None:
                bit = bits[code] = 1 << len(bits)
            mask |= bit
        used[user_id] = mask
        return True

    def is_of_today(self) -> bool:
        """Return True if what was noted last is of the day that it is now, and not merged yet."""
        return self._steady() < self._day_ends

    def samples(self) -> Iterator[Sample]:
        """Yield the counts since the worker started."""
        yield Sample("portcullis_permission_uses_missed_total", self.missed, {})

    async def run(self) -> None:
        """Merge about once a minute, and when the map of permissions changes, until cancelled."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(MERGE_EVERY):
                    await self._remapped()
            await self.merge()

    async def finish(self) -> None:
        """Merge the remaining uses, when a worker stops."""
        await self.merge()

    async def merge(self) -> bool:
        """Merge what was noted; False if the database did not take all: the rest waits for the next time."""
        async with self._merging:
            codes, self._bits = [*self._bits], {}
            days, self._days = self._days, {}
            keys, self._keys = self._keys, {}
            self._day_ends = float("-inf")
            try:
                await self._confirm()
                for day in sorted(days):
                    users = days[day]
                    while users:
                        batch = {user: _codes(codes, users[user]) for user in islice(users, _AT_ONCE)}
                        async with self._database.transaction() as connection:
                            await permission_uses.merge(connection, date.fromordinal(_FIRST + day), batch)
                        for user in batch:
                            del users[user]
                while keys:
                    of_keys = {key: keys[key] for key in islice(keys, _AT_ONCE)}
                    async with self._database.transaction() as connection:
                        await permission_uses.merge_keys(connection, of_keys)
                    for key in of_keys:
                        del keys[key]
            except Unavailable:  # an unavailable database is reported elsewhere
                return False
            except Exception:  # noqa: BLE001 - the worker goes on, and tries again
                if self._telling.due():
                    _log.exception("uses of permissions can't be merged")
                return False
            finally:
                self._take_back(codes, days)
                self._take_back_keys(keys)
        return True

    async def _confirm(self) -> None:
        async with self._database.transaction() as connection:
            await permission_uses.confirm_recording(connection)

    def _begin_day(self) -> None:
        now = self._now()
        day = int(now) // _DAY
        self._used = self._days.setdefault(day, {})
        self.noted = set()
        self._day_ends = self._steady() + (day + 1) * _DAY - now

    def _has_begun_key(self, key_id: int) -> bool:
        """Return True if there is room for the codes of another key; it then has none."""
        if len(self._keys) >= MOST_USERS:
            self.missed += 1
            return False
        self._keys[key_id] = set()
        return True

    def _take_back(self, codes: list[str], days: Mapping[int, Mapping[int, int]]) -> None:
        """Add unmerged uses to uses noted in the meantime, whose bits mean other codes."""
        for day, users in days.items():
            kept = self._days.setdefault(day, {}) if users else {}
            for user, mask in users.items():
                if user not in kept and len(kept) >= MOST_USERS:
                    self.missed += 1
                    continue
                for code in _codes(codes, mask):
                    kept[user] = kept.get(user, 0) | self._bits.setdefault(code, 1 << len(self._bits))

    def _take_back_keys(self, keys: Mapping[int, set[str]]) -> None:
        for key_id, codes in keys.items():
            if key_id in self._keys or self._has_begun_key(key_id):
                self._keys[key_id] |= codes


def _codes(codes: list[str], mask: int) -> list[str]:
    return [code for place, code in enumerate(codes) if mask >> place & 1]
