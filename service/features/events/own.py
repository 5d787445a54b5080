"""The events that concern single users, for their event streams."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, NamedTuple

from service.features.events import store
from service.features.events.delivery import message_id
from service.kernel.clock import rfc3339
from service.records.database.transactions import Connection, Database

MOST_MISSED: Final = 1_000
"""Events of one user that are read at once."""
WINDOW: Final = 2_000
"""Positions that are read at once, for many users."""


class OwnEvent(NamedTuple):
    """An event that concerns a user; ``content`` is the JSON that the user gets."""

    user_id: int
    position: int
    kind: str
    content: dict[str, Any]


class OwnEvents:
    """Reads events of users; the port ``own-events``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def missed(self, user_id: int, since: int) -> tuple[int, list[OwnEvent]] | None:
        """Return the position of the last event, and those of a user after ``since``, in order.

        Committed events get their places first. None if they are too many, or if ``since`` comes after the
        last event, as after a restore. Raises ``Unavailable``.
        """
        async with self._ordered() as connection:
            last = await store.last(connection)
            if since > last:
                return None
            events = await store.concerning(connection, {user_id: since}, last, MOST_MISSED + 1)
        return None if len(events) > MOST_MISSED else (last, [_own(*each) for each in events])

    async def last(self) -> int:
        """Return the position of the last event, as ``missed`` does."""
        async with self._ordered() as connection:
            return await store.last(connection)

    async def after(self, since: Mapping[int, int]) -> tuple[int, list[OwnEvent]]:
        """Return the position read up to, and the events of users after the positions in ``since``.

        Committed events get their places first. At most ``WINDOW`` positions are read. Raises
        ``Unavailable``.
        """
        async with self._ordered() as connection:
            until = min(await store.last(connection), min(since.values()) + WINDOW)
            behind = {user_id: position for user_id, position in since.items() if position < until}
            events = await store.concerning(connection, behind, until) if behind else []
        return until, [_own(*each) for each in events]

    @asynccontextmanager
    async def _ordered(self) -> AsyncIterator[Connection]:
        """Yield a snapshot in which all events committed before have their places."""
        async with self._database.snapshot() as connection:
            if not await store.pending(connection):
                yield connection
                return
        async with self._database.transaction() as connection:
            await store.order(connection)
        async with self._database.snapshot() as connection:
            yield connection


def _own(user_id: int, event: store.RightsEvent) -> OwnEvent:
    content = {"id": message_id(event), "timestamp": rfc3339(event.event_time), "data": event.data}
    return OwnEvent(user_id, event.position, event.kind, content)
