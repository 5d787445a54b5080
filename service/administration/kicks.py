"""Kicking users who hold no more than the caller."""

from __future__ import annotations

from service.administration.delegation import Delegation
from service.authn.sessions import Sessions
from service.kernel.identity import Caller
from service.kernel.target import Target
from service.records.database.transactions import Database


class Kicks:
    """Ends sessions of users, for callers who hold all codes of the user.

    Repeated kicks have the effect of a ban. Both methods raise ``PermissionDenied`` if the user holds a code
    that the caller lacks, ``RefreshRequired`` if the caller was deleted, disabled or banned, and
    ``Unavailable``.
    """

    def __init__(self, database: Database, delegation: Delegation, sessions: Sessions) -> None:
        self._database = database
        self._delegation = delegation
        self._sessions = sessions

    async def kick(self, caller: Caller, user_id: int) -> int:
        """End all sessions of a user and return their number; raises ``NotFound`` if there is none."""
        return await self._sessions.kick(await self._target(caller, user_id))

    async def kick_device(self, caller: Caller, user_id: int, device: str) -> None:
        """End the session of a user on ``device``; raises ``NotFound`` and ``ValidationFailed``."""
        await self._sessions.kick_device(await self._target(caller, user_id), device)

    async def _target(self, caller: Caller, user_id: int) -> Target:
        async with self._database.transaction() as connection:
            check = await self._delegation.check(connection, caller)
            return await check.target(connection, user_id, "end-sessions")
