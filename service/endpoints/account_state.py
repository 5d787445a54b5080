"""Password and status of other users, and the same act on many of them: below ``/api/user``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar

from msgspec import Meta

from service.administration.accounts import Accounts, PasswordReset
from service.administration.bulk_acts import MAX_USERS, BulkActs, RoleChange
from service.administration.unit_of_work import Saved
from service.endpoints.record_endpoints import BulkReport, RecordEndpoint
from service.endpoints.users import USER
from service.errors import Conflict, NotFound, RowsRefused
from service.records.user_list import Status
from service.web.messages import operation_metadata
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import example_body, logged, named, needs, refuses
from service.web.messages.preconditions import answer_tag, unchanged, version_tag
from service.web.messages.schema import Id, Schema


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


F = TypeVar("F", bound=Callable[..., Any])

UserIds = Annotated[
    list[Id], Meta(min_length=1, max_length=MAX_USERS, description="Each user once.", examples=[[4, 7]])
]


class StatusOfUsersOrder(Schema):
    """The users, and the status that they are to have."""

    ids: UserIds
    status: Status


class RoleOfUsersOrder(Schema):
    """The users, and the role to give to them or to take from them."""

    ids: UserIds
    role_id: Id
    action: RoleChange


class SessionsOfUsersOrder(Schema):
    """The users whose sessions are to end."""

    ids: UserIds


def _report(_context: RequestContext, saved: Saved[Any]) -> BulkReport:
    return BulkReport.of(saved.record)


def _bulk(responder: F) -> F:
    """Declare what all bulk acts have in common."""
    operation_metadata.dry_run(responder)
    operation_metadata.idempotent(_report)(responder)
    operation_metadata.refuses(Conflict, RowsRefused)(responder)
    return responder


class BulkEndpoint:
    """Acts on many users: each needs the code of the same act on one user, and opens nothing more."""

    def __init__(self, acts: BulkActs) -> None:
        self._acts = acts


class StatusOfUsers(BulkEndpoint):
    """``/api/user/bulk/status``."""

    @needs("system:user:update")
    @logged("user", "set the status of many", "UPDATE")
    @named("setUserStatuses")
    @example_body({"ids": [2], "status": "disabled"})
    @_bulk
    async def on_post(self, context: RequestContext, body: StatusOfUsersOrder) -> BulkReport:
        """Enable or disable many users, all of them or none.

        By the rules of the same act on one user, for each. A refusal lists the users by their place in
        `ids`, as an import does.
        """
        return _report(context, await self._acts.set_status(context.write, body.ids, body.status))


class RoleOfUsers(BulkEndpoint):
    """``/api/user/bulk/role``."""

    @needs("system:user:update")
    @logged("user", "change a role of many", "UPDATE")
    @named("setRoleOfUsers")
    @example_body({"ids": [2], "roleId": 3, "action": "take"})
    @_bulk
    async def on_post(self, context: RequestContext, body: RoleOfUsersOrder) -> BulkReport:
        """Give a role to many users, or take it from them; from all of them or none.

        By the rules of an edit of one user, for each. Other roles of the users stay. A refusal lists the
        users by their place in `ids`, as an import does.
        """
        done = await self._acts.change_role(context.write, body.ids, body.role_id, body.action)
        return _report(context, done)


class SessionsOfUsers(BulkEndpoint):
    """``/api/user/bulk/end-sessions``."""

    @needs("system:online:kick")
    @logged("online", "kick many", "KICK")
    @named("kickUsers")
    @example_body({"ids": [2]})
    @_bulk
    async def on_post(self, context: RequestContext, body: SessionsOfUsersOrder) -> BulkReport:
        """End all sessions of many users, who hold no more permissions than the caller.

        A refusal lists the users by their place in `ids`, as an import does. Users without a session are
        among the unchanged.
        """
        return _report(context, await self._acts.end_sessions(context.write, body.ids))
