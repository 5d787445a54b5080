"""The caller's own account, and what the caller may call: ``/api/user/info``, ``profile``, ``operations``."""

from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime
from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from service.administration.accounts import Accounts
from service.administration.own_credentials import OwnCredentials
from service.authz.engine.policy import Policy
from service.authz.publishing.live import LivePolicy
from service.authz.publishing.sync import any_request
from service.endpoints.record_endpoints import Endpoint
from service.endpoints.users import RecoveryEmail
from service.errors import Conflict, PreconditionFailed, RateLimited, RefreshRequired
from service.kernel.codes import HeldCodes
from service.kernel.identity import codes_shown
from service.kernel.services import PORTCULLIS
from service.records import accounts as users
from service.records import assignments
from service.records.database.transactions import Database
from service.records.user_list import UserValues, read_all
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import Operation, Responders, by_session, login, writes
from service.web.messages.preconditions import answer_tag, content_tag, unchanged, version_tag
from service.web.messages.record_schemas import answer_of, body_of
from service.web.messages.schema import Id, Moment, Revision, Schema, UpdatedBy
from service.web.requests.routes import Routes


class RoleEnd(Schema):
    """A role of the caller that expires, with its expiry."""

    role_code: Annotated[str, Meta(examples=["auditor"])]
    until: Moment


class UserInfo(Schema):
    """The caller's own account, with the current roles and permission codes.

    `permissions` are the codes of the roles, and may contain wildcards: `*` is everything.
    `GET /api/menu/mine` also has `codes`, with wildcards expanded. `endings` are the roles with an expiry,
    the earliest first. `mustChangePassword` is true in a session of an initial password, which allows little
    more than a change of the password.
    """

    user_id: Id
    user_name: Annotated[str, Meta(examples=["admin"])]
    nick_name: Annotated[str, Meta(examples=["Administrator"])]
    email: str | None
    avatar: str | None
    language: Annotated[str | None, Meta(examples=["zh-CN"])]
    time_zone: Annotated[str | None, Meta(examples=["Asia/Shanghai"])]
    roles: Annotated[list[str], Meta(examples=[["super"]])]
    permissions: Annotated[list[str], Meta(examples=[["*"]])]
    endings: list[RoleEnd]
    must_change_password: bool


class Info(Responders, at="/api/user/info"):
    def __init__(self, database: Database, instant: Callable[[], datetime]) -> None:
        """``instant`` returns that of which rights are read."""
        self._database = database
        self._instant = instant

    @login(name="getOwnAccount")
    async def on_get(self, context: RequestContext) -> UserInfo:
        """Read the caller's own account."""
        async with self._database.transaction() as connection:
            now = self._instant()
            info = await users.info(connection, context.user.user_id, now)
            ends = await assignments.endings(connection, context.user.user_id, now)
        if info is None:  # deleted while the token was valid
            raise RefreshRequired
        shown = asdict(info) | {"permissions": codes_shown(context.user, info.permissions)}
        session = context.user.authentication
        return UserInfo(
            **shown,
            endings=[RoleEnd.of(each) for each in ends],
            must_change_password=session is not None and session.initial,
        )


CurrentPassword = Annotated[str, Meta(min_length=1, max_length=1024, examples=["three wary herons"])]


@body_of(UserValues, "own", left_out="unset")
class ProfileEdit(Schema):
    """An edit of the caller's profile: omitted fields are unchanged, null clears a field.

    A change of `email` needs `currentPassword`.
    """

    current_password: CurrentPassword | UnsetType = UNSET


@answer_of(UserValues, "own")
class OwnProfile(Schema):
    """The caller's profile; its `ETag` is `version`."""

    id: Id
    user_name: Annotated[str, Meta(examples=["heron"])]
    nick_name: Annotated[str, Meta(examples=["Heron"])]
    email_verified: Annotated[bool, Meta(description="The caller has confirmed `email`.")]
    email_agreed: Annotated[bool, Meta(description="The caller has agreed to `email` for recovery.")]
    email_reached: Annotated[bool, Meta(description="A link that was mailed to `email` was opened.")]
    recovery_email: RecoveryEmail
    version: Annotated[int, Meta(ge=1, examples=[3])]
    updated_by: UpdatedBy


class Profile(Responders, at="/api/user/profile"):
    def __init__(self, database: Database, accounts: Accounts, own: OwnCredentials) -> None:
        self._database = database
        self._accounts = accounts
        self._own = own

    @login(name="getOwnProfile", tagged=True)
    async def on_get(self, context: RequestContext) -> OwnProfile:
        """Read the caller's own profile, to edit it."""
        async with self._database.transaction() as connection:
            stored = await read_all(connection, [context.user.user_id])
        if not stored:  # deleted while the token was valid
            raise RefreshRequired
        answer_tag(context, version_tag(stored[0].version))
        return OwnProfile.of(stored[0])

    @login(name="updateOwnProfile", refuses=[PreconditionFailed, Conflict, RateLimited], tagged=True)
    @writes(
        "edit own profile",
        "UPDATE",
        example={
            "nickName": "Admin",
            "email": "admin@example.org",
            "phone": "+49 30 1234567",
            "language": "zh-CN",
            "timeZone": "Asia/Shanghai",
            "currentPassword": "your current one",
        },
    )
    async def on_put(self, context: RequestContext, body: ProfileEdit) -> OwnProfile:
        """Edit the caller's own account, except user name, status and roles.

        A new address needs the current password, or a second factor if the caller has no password. Callers
        with a second factor also need a session by two factors. A link is mailed to the new address. Until
        the caller opens it, the former address stays the one for recovery. The former address is notified,
        and can undo the change for a day. Access tokens stay valid, and get a new nick name when they are
        refreshed.
        """
        values = body.given()
        current = values.pop("current_password", None)
        match = unchanged(context)
        client = {"address": context.address, "user_agent": context.user_agent}
        await self._own.prove(context.user, current, **client)
        saved = await self._accounts.update(context.write, context.user.user_id, values, match)
        answer_tag(context, version_tag(saved.record.version))
        return OwnProfile.of(saved.record)


class PasswordChangeOrder(Schema):
    """The current password and the new one."""

    current_password: CurrentPassword
    new_password: Annotated[str, Meta(min_length=1, max_length=1024, examples=["four wary herons"])]


class OwnPassword(Endpoint[OwnCredentials], at="/api/user/profile/password"):
    @login(name="changeOwnPassword", refuses=[Conflict, RateLimited])
    @by_session("change-credentials")
    @writes(
        "change own password",
        "UPDATE",
        keeps="nothing",
        example={"currentPassword": "your current one", "newPassword": "five wary otters"},
    )
    async def on_put(self, context: RequestContext, body: PasswordChangeOrder) -> None:
        """Change the caller's own password; callers with a second factor need a session by two factors.

        Ends the sessions on all other devices; this one must refresh its access token.
        """
        await self.part.change_password(
            context.user,
            body.current_password,
            body.new_password,
            address=context.address,
            user_agent=context.user_agent,
        )


class OwnOperations(Schema):
    """The operations allowed for the caller by this policy revision, by method and path.

    Paths are those of this document. An operation with parameters is listed if the policy allows it for
    values that no other resource names.
    """

    revision: Revision
    operations: list[Annotated[str, Meta(examples=["GET /api/user/{id}"])]]


class OwnOperationList(Responders, at="/api/user/operations"):
    def __init__(self, live: LivePolicy, routes: Routes) -> None:
        self._live = live
        self._routes = routes

    @login(name="listOwnOperations", tagged=True)
    async def on_get(self, context: RequestContext) -> OwnOperations:
        """List the operations that the caller may call now, decided by both layers.

        User interfaces offer the listed operations. 304 if `If-None-Match` names the current `ETag`.
        """
        policy = context.policy or self._live.current
        held = context.user.held
        passed = [
            f"{operation.method} {operation.shown_path}"
            for operation in self._routes.operations
            if _passes(policy, operation, held)
        ]
        answer = OwnOperations(policy.revision, passed)
        answer_tag(context, content_tag(answer))
        return answer


def _passes(policy: Policy, operation: Operation, held: HeldCodes) -> bool:
    path = any_request(operation.template)
    return policy.judge_route(PORTCULLIS, operation.method, path, held).allowed
