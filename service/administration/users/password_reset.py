"""Setting somebody else's password: whoever does so can log in as that user."""

from __future__ import annotations

from service.administration.delegation import grantor
from service.authn.password_change import PasswordChange
from service.errors import PermissionDenied
from service.kernel.identity import Caller
from service.kernel.target import Target
from service.records.database.transactions import Connection


class PasswordReset:
    """Sets the passwords of users who hold nothing that the caller does not hold."""

    def __init__(self, passwords: PasswordChange) -> None:
        self._passwords = passwords

    async def reset(self, caller: Caller, user_id: int, new: str) -> None:
        """Set the password of another user and end all of that user's sessions.

        Raises ``NotFound``; ``PermissionDenied`` when the user holds a code that the caller does not, as of
        the transaction that saves, and for the caller's own password, which needs the current one;
        ``ValidationFailed``, ``Conflict`` and ``Unavailable``.
        """
        if user_id == caller.user_id:
            raise PermissionDenied("Your own password is changed with the current one, in your profile")

        async def authorize(connection: Connection) -> Target:
            giver = await grantor(connection, caller)
            return await giver.target(connection, user_id)

        await self._passwords.reset(new, authorize)
