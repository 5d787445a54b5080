"""Banning users and clearing bans: whoever is kept out by somebody must not hold more than they do."""

from __future__ import annotations

from typing import Final

from service.administration.delegation import grantor
from service.authn.sessions import Banned, Sessions
from service.errors import Conflict, NotFound, RefreshRequired
from service.kernel.identity import Caller
from service.keyspace import SessionStore
from service.records import users
from service.records.database import Database

WITHIN: Final = 10.0
"""Seconds that a ban may take: it waits for a change of rights that is under way."""


class Bans:
    """Bans users, for callers who hold all that the user holds: a ban is as good as disabling the account."""

    def __init__(self, database: Database, store: SessionStore, sessions: Sessions) -> None:
        self._database = database
        self._store = store
        self._sessions = sessions

    async def ban(self, caller: Caller, user_id: int, seconds: int | None, reason: str) -> Banned:
        """Ban a user for ``seconds``, or without end, and end all sessions.

        Raises ``NotFound``, ``PermissionDenied`` when the user holds a code that the caller does not,
        ``Conflict`` for the caller's own account, ``RefreshRequired`` when the caller has been banned
        meanwhile, and ``Unavailable``. So an administrator who is let in always remains.
        """
        async with self._database.transaction(within=WITHIN) as connection:
            giver = await grantor(connection, caller)
            known = await users.credentials_of(connection, user_id)
            if known is None:
                raise NotFound("There is no such user")
            if user_id == caller.user_id:
                raise Conflict("Nobody bans themselves")
            target = await giver.target(connection, user_id)
            # Behind the lock: of two who ban one another at once, the second is a caller no more.
            if await self._store.ban_of(caller.login_id) is not None:
                raise RefreshRequired
            return await self._sessions.ban(target, seconds, reason, user_name=known.user_name)

    async def unban(self, caller: Caller, user_id: int) -> None:
        """Clear the ban of a user, if there is one; refusals as for ``ban``, but for ``NotFound``."""
        async with self._database.transaction(within=WITHIN) as connection:
            giver = await grantor(connection, caller)
            known = await users.credentials_of(connection, user_id)
            target = await giver.target(connection, user_id)
        await self._sessions.unban(target, user_name=known.user_name if known else None)
