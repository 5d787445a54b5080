"""Users: ``/api/user``."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from service.administration.account_status import AccountStatus
from service.authn.password_change import PasswordChange
from service.errors import Conflict, NotFound, RateLimited, RefreshRequired
from service.records import users
from service.records.database import Database
from service.web.call import Call
from service.web.marks import logged, login, needs, refuses
from service.web.wire import Id, Wire


class UserInfo(Wire):
    """The caller's own account, with the roles and permission codes that are in force now."""

    user_id: Id
    user_name: Annotated[str, Meta(examples=["admin"])]
    nick_name: Annotated[str, Meta(examples=["Administrator"])]
    email: str | None
    avatar: str | None
    roles: Annotated[list[str], Meta(examples=[["super"]])]
    permissions: Annotated[list[str], Meta(examples=[["*"]])]


class Info:
    """``/api/user/info``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @login
    async def on_get(self, call: Call) -> UserInfo:
        """Return the caller's own account."""
        async with self._database.transaction() as connection:
            info = await users.info(connection, call.user.user_id)
        if info is None:  # deleted while the token lived
            raise RefreshRequired
        return UserInfo.of(info)


NewPassword = Annotated[str, Meta(min_length=1, max_length=1024, examples=["four wary herons"])]


class PasswordChangeOrder(Wire):
    """The password that is, and the one that shall be."""

    current_password: Annotated[str, Meta(min_length=1, max_length=1024, examples=["three wary herons"])]
    new_password: NewPassword


class PasswordResetOrder(Wire):
    """The password that shall be."""

    new_password: NewPassword


class OwnPassword:
    """``/api/user/profile/password``."""

    def __init__(self, passwords: PasswordChange) -> None:
        self._passwords = passwords

    @login
    @logged("user", "change own password", "UPDATE", params=False, response=False)
    @refuses(Conflict, RateLimited)
    async def on_put(self, call: Call, body: PasswordChangeOrder) -> None:
        """Change the caller's own password.

        Ends the sessions on all other devices; this one must refresh its access token.
        """
        await self._passwords.change(
            call.user,
            body.current_password,
            body.new_password,
            address=call.address,
            user_agent=call.user_agent,
        )


class UserPassword:
    """``/api/user/{id}/password``."""

    def __init__(self, passwords: PasswordChange) -> None:
        self._passwords = passwords

    @needs("system:user:reset-password")
    @logged("user", "reset a password", "UPDATE", params=False, response=False)
    @refuses(NotFound, Conflict)
    async def on_put(self, call: Call, id: int, body: PasswordResetOrder) -> None:
        """Set a user's password.

        Ends all sessions of the user. Nobody sets the password of a user who holds more than they do.
        """
        await self._passwords.reset(call.user, id, body.new_password)


class StatusOrder(Wire):
    """The status that the user shall have."""

    status: Literal["enabled", "disabled"]


class UserStatus:
    """``/api/user/{id}/status``."""

    def __init__(self, accounts: AccountStatus) -> None:
        self._accounts = accounts

    @needs("system:user:update")
    @logged("user", "set the status", "UPDATE")
    @refuses(NotFound, Conflict)
    async def on_put(self, call: Call, id: int, body: StatusOrder) -> None:
        """Enable or disable a user.

        Disabling ends all sessions and bans the user; enabling clears every ban. The last enabled user who
        may do everything can't be disabled, and nobody touches a user who holds more than they do.
        """
        await self._accounts.set(call.user, id, body.status)
