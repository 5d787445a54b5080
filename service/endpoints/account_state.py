"""Password and status of other users: ``/api/user/{id}/password`` and ``/api/user/{id}/status``."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from service.administration.accounts import Accounts
from service.administration.password_reset import PasswordReset
from service.endpoints.record_endpoints import RecordEndpoint
from service.endpoints.users import USER
from service.errors import Conflict, NotFound
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import example_body, logged, named, needs, refuses
from service.web.messages.preconditions import answer_tag, unchanged, version_tag
from service.web.messages.schema import Schema


class PasswordResetOrder(Schema):
    """The new password."""

    new_password: Annotated[str, Meta(min_length=1, max_length=1024, examples=["four wary herons"])]


class UserPassword:
    """``/api/user/{id}/password``."""

    def __init__(self, passwords: PasswordReset) -> None:
        self._passwords = passwords

    @needs("system:user:reset-password")
    @logged("user", "reset a password", "UPDATE", params=False, response=False)
    @refuses(NotFound, Conflict)
    @example_body({"newPassword": "five wary herons"})
    @named("resetUserPassword")
    async def on_put(self, context: RequestContext, id: int, body: PasswordResetOrder) -> None:
        """Set a user's password.

        Ends all sessions of the user. Callers can't set the password of users who hold more permissions than
        they do, nor their own here, which needs the current one.
        """
        await self._passwords.reset(context.user, id, body.new_password)


class StatusOrder(Schema):
    """The new status of the user."""

    status: Literal["enabled", "disabled"]


class UserStatus(RecordEndpoint[Accounts]):
    """``/api/user/{id}/status``."""

    @USER.sets(
        "set the status",
        "setUserStatus",
        "system:user:update",
        refuses=[Conflict],
        example={"status": "enabled"},
    )
    async def on_put(self, context: RequestContext, id: int, body: StatusOrder) -> None:
        """Enable or disable a user.

        Disabling ends all sessions. Enabling lifts no ban. Callers can't disable themselves or change users
        who hold more permissions than they do.
        """
        saved = await self.changes.set_status(context.write, id, body.status, unchanged(context))
        answer_tag(context, version_tag(saved.version))
