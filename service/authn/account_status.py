"""Disabling and enabling accounts, and what follows at once."""

from __future__ import annotations

from typing import Literal

from service.authn.revocations import Revocations
from service.errors import Conflict, NotFound, PermissionDenied
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
        async with self._database.transaction() as connection:
            await users.lock_administrators(connection)
            account = await users.info(connection, user_id)
            if account is None:
                raise NotFound("There is no such user")
            beyond = [code for code in account.permissions if not caller.held.grants(code)]
            if beyond:
                raise PermissionDenied("The user holds permissions that you do not hold", required=beyond)
            last = "*" in account.permissions and not await users.has_administrator_besides(
                connection, user_id
            )
            if status == "disabled" and last:
                raise Conflict("This is the last enabled user who may do everything")
            await users.set_status(connection, user_id, status)
        # After the commit: a login that has read the old status then meets the ban.
        if status == "disabled":
            await self._revocations.ban(user_id, REASON)
        else:
            await self._revocations.unban(user_id)
