"""Read what event streams report of accounts: named events, current rights, and device sessions."""

import asyncio
import hashlib
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from service.errors import Unavailable
from service.features.event_stream.places import Place
from service.features.event_stream.rights import Followed, RightsReader
from service.features.event_stream.sessions import StreamSession
from service.kernel.clock import from_seconds, rfc3339
from service.keyspace import SessionStore

SESSIONS_EVERY: Final = 3.0
"""Seconds between two looks at the sessions of users with streams."""


class OwnEvent(Protocol):
    """An event that concerns a user; see ``service.features.events.own``."""

    @property
    def user_id(self) -> int:
        """The user."""
        ...

    @property
    def position(self) -> int:
        """The place of the event among all."""
        ...

    @property
    def kind(self) -> str:
        """The name of the event."""
        ...

    @property
    def content(self) -> dict[str, Any]:
        """The JSON that the user gets."""
        ...


class OwnEvents(Protocol):
    """The port ``own-events``. All raise ``Unavailable``."""

    async def last(self) -> int:
        """Return the position of the last event."""

    async def missed(self, user_id: int, since: int) -> tuple[int, Sequence[OwnEvent]] | None:
        """Return the position of the last event, and those of a user after ``since``; None for too many."""

    async def after(self, since: Mapping[int, int]) -> tuple[int, Sequence[OwnEvent]]:
        """Return the position read up to, and the events of users after the positions in ``since``."""


class LiveSessions(NamedTuple):
    """The device sessions of a user; ``digest`` changes when one begins or ends."""

    shown: list[dict[str, str]]
    digest: bytes


class State(NamedTuple):
    """The reportable state of an account.

    ``events`` are those up to ``position``, the oldest first; ``is_whole`` is False if some that the client
    has missed are lacking.
    """

    rights: Followed
    sessions: LiveSessions
    position: int
    events: Sequence[OwnEvent] = ()
    is_whole: bool = True

    @property
    def place(self) -> Place:
        """Return the place of a client that has got all of it."""
        return Place(self.position, self.rights.digest, self.sessions.digest)


class AccountReader:
    """Reads what event streams report; ``events`` is None while events are not recorded."""

    def __init__(self, rights: RightsReader, store: SessionStore, events: OwnEvents | None) -> None:
        self._reader = rights
        self._store = store
        self._events = events
        self._rights: dict[int, Followed] = {}
        self._sessions: dict[int, LiveSessions] = {}
        self._sessions_due = 0.0

    def forget(self) -> None:
        """Forget all users: no stream is open."""
        self._rights, self._sessions = {}, {}

    async def opening(self, session: StreamSession, known: Place | None) -> State | None:
        """Return the state for a new stream, with the events after ``known``.

        None for an account that can't be used. Raises ``Unavailable``.
        """
        user_id = session.user_id
        # Events first: what they report is in the rights that are read after them.
        position, events, is_whole = await self._missed(user_id, known)
        rights = (await self._reader.read([user_id], self._rights)).get(user_id)
        if rights is None:
            return None
        self._rights[user_id] = rights
        sessions = self._sessions[user_id] = await self._sessions_of(user_id)
        return State(rights, sessions, position, events, is_whole)

    async def read(self, since: Mapping[int, int], all_rights: bytes | None) -> dict[int, State]:
        """Return the state of users, with the events after the positions in ``since``.

        Accounts that can't be used are left out. ``all_rights`` is the epoch of all rights. Raises
        ``Unavailable``.
        """
        position, events = await self._after(since)
        self._rights = await self._reader.read(since.keys(), self._rights, all_rights)
        due = {user_id for user_id in self._rights if user_id not in self._sessions}
        if (now := time.monotonic()) >= self._sessions_due:
            self._sessions_due = now + SESSIONS_EVERY
            due = set(self._rights)
        read = await asyncio.gather(*map(self._sessions_of, due))
        known = self._sessions | dict(zip(due, read, strict=True))
        self._sessions = {user_id: known[user_id] for user_id in self._rights}
        return {
            user_id: State(rights, self._sessions[user_id], position, events.get(user_id, ()))
            for user_id, rights in self._rights.items()
        }

    async def _missed(self, user_id: int, known: Place | None) -> tuple[int, Sequence[OwnEvent], bool]:
        if self._events is None:
            return 0, (), True
        missed = None if known is None else await self._events.missed(user_id, known.position)
        if missed is None:
            return await self._events.last(), (), False
        return *missed, True

    async def _after(self, since: Mapping[int, int]) -> tuple[int, dict[int, list[OwnEvent]]]:
        by_user: dict[int, list[OwnEvent]] = {}
        position = 0
        if since and self._events is not None:
            with suppress(Unavailable):  # the next look reads them
                position, events = await self._events.after(since)
                for event in events:
                    by_user.setdefault(event.user_id, []).append(event)
        return position, by_user

    async def _sessions_of(self, user_id: int) -> LiveSessions:
        by_device = await self._store.sessions(str(user_id))
        rows = sorted((each.login_time, device, each.sid) for device, each in by_device.items())
        shown = [{"device": device, "loginTime": rfc3339(from_seconds(moment))} for moment, device, _ in rows]
        return LiveSessions(shown, hashlib.blake2b(msgspec.json.encode(rows), digest_size=16).digest())
