"""Kicking users: whoever is logged out by somebody must not hold more than they do."""

from __future__ import annotations

from service.administration.delegation import grantor
from service.authn.sessions import Sessions
from service.kernel.identity import Caller
from service.kernel.target import Target
from service.records.database.transactions import Database


class Kicks:
    """Ends sessions of users, for callers who hold all that the user holds.

    A user who is kicked again and again is as good as banned. Both methods raise ``PermissionDenied`` when
    the user holds a code that the caller does not, ``RefreshRequired`` when the caller is gone, and
    ``Unavailable``.
    """

    def __init__(self, database: Database, sessions: Sessions) -> None:
        self._database = database
        self._sessions = sessions

    async def kick(self, caller: Caller, user_id: int) -> int:
        """End all sessions of a user and return how many; ``NotFound`` when there is none."""
        return await self._sessions.kick(await self._target(caller, user_id))

    async def kick_device(self, caller: Caller, user_id: int, device: str) -> None:
        """End the session of a user on ``device``; ``NotFound`` when there is none, ``ValidationFailed``."""
        await self._sessions.kick_device(await self._target(caller, user_id), device)

    async def _target(self, caller: Caller, user_id: int) -> Target:
        async with self._database.transaction() as connection:
            return await (await grantor(connection, caller)).target(connection, user_id)
