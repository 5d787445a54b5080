"""Disabling and enabling accounts, and what follows at once."""

from __future__ import annotations

from typing import Literal

from service.administration.administrators import keeping_an_administrator
from service.administration.delegation import grantor
from service.authn.revocations import Revocations
from service.errors import NotFound
from service.kernel.identity import Caller
from service.records import users
from service.records.database import Database

REASON = "disabled"
"""What the ban of a disabled user is for."""


class AccountStatus:
    """Sets the status of accounts: a disabled user is banned and has no session, an enabled one no ban."""

    def __init__(self, database: Database, revocations: Revocations) -> None:
        self._database = database
        self._revocations = revocations

    async def set(self, caller: Caller, user_id: int, status: Literal["enabled", "disabled"]) -> None:
        """Set the status of a user; one that the user has already is confirmed.

        Raises ``NotFound``; ``PermissionDenied`` when the user holds a code that the caller does not;
        ``Conflict`` for the last enabled user who holds ``*``, also when two are disabled at once; and
        ``Unavailable``.
        """
        async with self._database.transaction() as connection, keeping_an_administrator(connection):
            giver = await grantor(connection, caller)
            if await users.credentials_of(connection, user_id) is None:
                raise NotFound("There is no such user")
            await giver.demand_over(connection, user_id)
            await users.set_status(connection, user_id, status)
        # After the commit: a login that has read the old status then meets the ban.
        if status == "disabled":
            await self._revocations.ban(user_id, REASON)
        else:
            await self._revocations.unban(user_id)
