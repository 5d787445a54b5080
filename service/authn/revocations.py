"""Marking users after a change of their rights, without blocking the request for long."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from typing import Any, Final

import structlog

from service.authn.denials import Denials
from service.authn.login_log import UNRECORDED, LoginLog
from service.errors import Unavailable
from service.kernel.events import Event
from service.kernel.identity import Target
from service.keyspace import SessionStore
from service.records.bans import DISABLED
from service.records.database.transactions import Connection, Database

ALL_SESSIONS_END: Final[Event[[Connection, int]]] = Event(
    "all-sessions-end",
    when="Before all sessions of a user end because the user, another person or a link ends them, resets "
    "the second factors, or sets the password",
    within="The transaction of the change, or one of its own; it may hold the rights lock",
    locks="Rows of its feature",
    raises="Nothing",
)
"""Receives the id of the user. A ban, disabling and deletion do not publish it: see the triggers."""

RETRY = 0.5  # seconds between two attempts while the store is unavailable
FIRST: Final = 5_000
"""The most users marked before a change is committed; takes a tenth of a second."""
AT_ONCE: Final = 100_000
"""The most users marked before a change is answered; takes two seconds."""

_log = structlog.get_logger(__name__)


class Revocations:
    """Sets ``refresh:{now}`` for users: in the request, or in the background for very large roles.

    Every change takes two steps. ``mark_first`` runs before the commit: nothing is saved while the store is
    unavailable, and if this process is killed right after the commit, older tokens are revoked already. One
    of the other methods runs after the commit: it also revokes tokens issued in between with the old rights.
    A step after the commit is retried until it succeeds; until then the store is unavailable, and guarded
    routes answer 503. A dry run calls none of the methods.
    """

    def __init__(self, database: Database, store: SessionStore, log: LoginLog = UNRECORDED) -> None:
        self._store = store
        self._denials = Denials(database, store)
        self._entries = log
        self._tasks: set[asyncio.Task[None]] = set()

    async def mark_first(self, user_ids: Sequence[int]) -> None:
        """Mark the users whose change is about to be committed, at most ``FIRST`` of them.

        Raises ``Unavailable``, which rolls the change back.
        """
        await self._store.mark(map(str, user_ids[:FIRST]))

    async def mark(self, user_id: int) -> None:
        """Mark one user before returning; in the background if the store is unavailable."""
        try:
            await self._store.mark([str(user_id)])
        except Unavailable:
            self.mark_soon([user_id])

    async def mark_all(self, user_ids: Sequence[int]) -> None:
        """Mark users before returning, so that the next request of each is refused.

        Users after the first ``AT_ONCE`` are marked in the background, and all if the store is unavailable.
        """
        first, rest = user_ids[:AT_ONCE], user_ids[AT_ONCE:]
        try:
            await self._store.mark(map(str, first))
        except Unavailable:
            rest = user_ids
        if rest:
            self.mark_soon(rest)

    def mark_soon(self, user_ids: Iterable[int]) -> None:
        """Start marking the users, in batches, and return at once."""
        self._start(self._mark(list(map(str, user_ids))))

    async def end_sessions_first(self, target: Target, *, keep: str = "", opened_by: float = 0.0) -> int:
        """End the user's sessions before a change is committed, and return their number.

        ``keep`` and ``opened_by`` are those of ``end_sessions``. Raises ``Unavailable``.
        """
        return await self._store.close_sessions(target.login_id, keep=keep, opened_by=opened_by)

    async def end_sessions(self, target: Target, *, keep: str = "", opened_by: float = 0.0) -> None:
        """End the user's sessions before returning; in the background if the store is unavailable.

        The session on the device ``keep`` stays if it was opened no later than ``opened_by`` (seconds).
        """
        try:
            await self._store.close_sessions(target.login_id, keep=keep, opened_by=opened_by)
        except Unavailable:
            self._start(self._end_sessions(target.login_id, keep, opened_by))

    async def kick(self, target: Target, user_name: str, ended_first: int) -> None:
        """End the user's sessions as ``end_sessions`` does; the login log records it if any session ended.

        ``ended_first`` is the number that ended before the commit.
        """
        try:
            await self._kick(target, user_name, ended_first)
        except Unavailable:
            self._start(_until_done(lambda: self._kick(target, user_name, ended_first)))

    async def settle(self, target: Target) -> int:
        """Copy the user's ban or disabled state to the store; return the number of ended sessions.

        Call it after the commit. If a store is unavailable, it returns 0 and completes in the background with
        the state at that time. This is safe: login and refresh ask the database, and ``mark_first`` has
        revoked older tokens.
        """
        try:
            return await self._denials.settle(target.user_id, all_bans=True)
        except Unavailable:
            self._start(_until_done(lambda: self._denials.settle(target.user_id, all_bans=True)))
            return 0

    async def settle_status(self, target: Target, *, user_name: str, disabled: bool) -> None:
        """Call ``settle`` for a user who was disabled or enabled, and record that in the login log."""
        if disabled:
            self._entries.by_other("ban", target.user_id, user_name, reason=DISABLED)
        else:
            self._entries.by_other("unban", target.user_id, user_name)
        await self.settle(target)

    async def finish(self, patience: float = 5.0) -> None:
        """Wait at most ``patience`` seconds for background work; log unfinished work."""
        if not self._tasks:
            return
        _, left = await asyncio.wait(set(self._tasks), timeout=patience)
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left)
            _log.error("users were not marked: tokens with their old rights still work", markings=len(left))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _mark(self, login_ids: list[str]) -> None:
        await _until_done(lambda: self._store.mark(login_ids))

    async def _kick(self, target: Target, user_name: str, ended_first: int) -> None:
        if ended := ended_first + await self._store.close_sessions(target.login_id):
            self._entries.by_other("kick", target.user_id, user_name)
            text = "all sessions of a user were ended"
            _log.info(text, event_type="security", login_id=target.login_id, ended=ended)

    async def _end_sessions(self, login_id: str, keep: str, opened_by: float) -> None:
        await _until_done(lambda: self._store.close_sessions(login_id, keep=keep, opened_by=opened_by))


async def _until_done(work: Callable[[], Awaitable[object]]) -> None:
    while True:
        try:
            await work()
        except Unavailable:
            await asyncio.sleep(RETRY)
        else:
            return
