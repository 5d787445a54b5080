"""Setting another user's password, which allows the caller to log in as that user."""

from __future__ import annotations

from service.administration import change_log
from service.administration.delegation import Delegation
from service.authn.password_change import PasswordChange
from service.kernel.identity import Caller
from service.kernel.target import Target
from service.records import accounts
from service.records.database.transactions import Connection


class PasswordReset:
    """Sets the passwords of users who hold no more than the caller."""

    def __init__(self, delegation: Delegation, passwords: PasswordChange) -> None:
        self._delegation = delegation
        self._passwords = passwords

    async def reset(self, caller: Caller, user_id: int, new: str) -> None:
        """Set the password of another user and end all sessions of that user.

        Raises ``NotFound``; ``PermissionDenied`` when the user holds a code that the caller does not, as of
        the transaction that saves, and for the caller's own password, which needs the current one;
        ``Conflict``, ``ValidationFailed`` and ``Unavailable``.
        """

        async def authorize(connection: Connection) -> Target:
            check = await self._delegation.check(connection, caller)
            target = await check.target(connection, user_id, "set-password")
            if (user := await accounts.standing_of(connection, user_id)) is not None:
                change_log.concerns(change_log.user_target(user.user_name))
            return target

        await self._passwords.reset(new, authorize)
