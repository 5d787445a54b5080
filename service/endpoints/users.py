"""Users, their passwords and their status, one by one: ``/api/user``."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, UnsetType

from service.administration.accounts import Accounts, PasswordReset
from service.administration.user_edits import MAX_ROLES
from service.endpoints.record_endpoints import Endpoint, RecordEndpoint, RecordKind
from service.errors import Conflict, NotFound
from service.kernel.identity import Kind
from service.kernel.text import name_fault, text_fault
from service.kernel.value_rules import bounds_of
from service.records import user_list
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import by_session, needs, writes
from service.web.messages.preconditions import answer_tag, unchanged, version_tag
from service.web.messages.record_schemas import (
    MergePatch,
    answer_of,
    body_of,
    filters_of,
    patch_of,
    replacement_of,
    shows,
)
from service.web.messages.schema import Id, Moment, PageQuery, Schema, sort_keys


@shows(user_list.GivenRole)
class RoleOfUser(Schema):
    """A role of the user, enabled or disabled."""


@shows(user_list.BanInForce)
class BanOfUser(Schema):
    """A ban in force; `until` is null for a ban without an end."""


RecoveryEmail = Annotated[
    str | None,
    Meta(
        examples=["heron@example.org"],
        description="The last address that the user has confirmed: links for a forgotten password go there.",
    ),
]


@answer_of(user_list.UserValues, before="service")
class User(Schema):
    """A user account. Each edit increments `version`, which is its `ETag`."""

    id: Id
    user_name: Annotated[str, Meta(examples=["heron"])]
    nick_name: Annotated[str, Meta(examples=["Heron"])]
    service: Annotated[
        str | None, Meta(description="The service that a service account is bound to; null for none.")
    ]
    roles: list[RoleOfUser]
    ban: BanOfUser | None
    last_login_time: Annotated[
        Moment | None,
        Meta(
            description="The last successful login; null for none. It does not count as an edit of the user."
        ),
    ]
    invited: Annotated[
        bool, Meta(description="True for a person without a password, who sets one by an invitation.")
    ]
    email_verified: Annotated[bool, Meta(description="The user has confirmed `email`.")]
    recovery_email: RecoveryEmail
    directory: Annotated[
        str | None,
        Meta(description="The directory that alone edits the account; null for none."),
    ]


Name = Annotated[str, bounds_of(text_fault), user_list.NAME]
UserName = Annotated[str, bounds_of(name_fault), user_list.USER_NAME]
RoleIds = Annotated[list[Id], Meta(max_length=MAX_ROLES, examples=[[3]])]
NewPassword = Annotated[str, Meta(min_length=1, max_length=1024, examples=["four wary herons"])]


@body_of(user_list.UserValues, before="kind", left_out="unset")
class UserBody(Schema):
    """A new user; a person, and enabled, by default.

    A person needs a `password`, or `invite`: then the person sets one, by an invitation. A service account
    (`kind` is `service`) has none; it may be bound to a `service`.
    """

    user_name: UserName
    nick_name: Name
    kind: Kind | UnsetType = UNSET
    password: NewPassword | UnsetType = UNSET
    invite: bool = False
    role_ids: RoleIds | None = None


@body_of(user_list.UserValues, before="role_ids", left_out="unset")
class UserEdit(Schema):
    """The editable values of a user."""

    role_ids: RoleIds | UnsetType = UNSET


@replacement_of(UserEdit)
class UserReplacement(Schema):
    """All values of a user; `roleIds` are all roles."""


@patch_of(UserEdit)
class UserPatch(MergePatch):
    """The values of a user that change (RFC 7396). `null` removes one; `roleIds` are all roles."""


@filters_of(user_list.UserFilter)
class UserQuery(PageQuery):
    """Filters and order of users; keyword, names, email and phone match by parts, in any case."""

    sort: Annotated[str, sort_keys("UserSort", user_list.SORTS)] = "id"


USER: Final = RecordKind(
    noun="user", shown=User, page=user_list.page, read=user_list.read, matching=user_list.UserFilter
)


class UserList(RecordEndpoint[Accounts], at="/api/user/list"):
    on_get = USER.lists(UserQuery, "List users with their roles.", "system:user:list")


class Users(RecordEndpoint[Accounts], at="/api/user"):
    on_post = USER.creates(
        UserBody,
        "Create a user; callers can assign only roles whose permissions they hold.",
        "system:user:create",
        example={
            "userName": "heron",
            "nickName": "Heron",
            "password": "four wary herons",
            "email": "heron@example.org",
            "status": "disabled",
            "roleIds": [3],
        },
    )


class OneUser(RecordEndpoint[Accounts], at="/api/user/{id}"):
    on_get = USER.reads(
        """Read a user.

        Never 304: bans, logins and edits of a role do not change the `ETag` of the user.
        """,
        "system:user:detail",
        shows_more=True,
    )
    on_put = USER.replaces(
        UserReplacement,
        """Replace the values and roles of a user, with effect from the user's next request.

        Callers can't edit users with more permissions than their own, assign or remove roles with permissions
        that they lack, or change their own roles.
        """,
        "system:user:update",
        example={
            "userName": "heron",
            "nickName": "Heron",
            "email": "heron@example.org",
            "phone": None,
            "gender": None,
            "avatar": None,
            "status": "enabled",
            "service": None,
            "roleIds": [3],
        },
    )
    on_patch = USER.replaces(
        UserPatch,
        "Change some values of a user, by the rules of a `PUT`.",
        "system:user:update",
        example={"nickName": "Heron", "phone": None},
    )
    on_delete = USER.deletes(
        """Delete a user and end all sessions. Files of the user are kept; the name becomes free.

        Callers can't delete themselves or users with more permissions than their own.
        """,
        "system:user:delete",
        refuses=[Conflict],
    )


class PasswordResetOrder(Schema):
    """The new password."""

    new_password: Annotated[str, Meta(min_length=1, max_length=1024, examples=["four wary herons"])]


class UserPassword(Endpoint[PasswordReset], at="/api/user/{id}/password"):
    @needs("system:user:reset-password", name="resetUserPassword", refuses=[NotFound, Conflict])
    @by_session("set-password")
    @writes("reset a password", "UPDATE", keeps="nothing", example={"newPassword": "five wary herons"})
    async def on_put(self, context: RequestContext, id: int, body: PasswordResetOrder) -> None:
        """Set a user's password.

        Ends all sessions of the user. Callers can't set the password of users with more permissions than
        their own. To change their own password, they need the current one: `PUT /api/user/profile/password`.
        """
        await self.part.reset(context.user, id, body.new_password)


class StatusOrder(Schema):
    """The new status of the user."""

    status: user_list.Status


class UserStatus(RecordEndpoint[Accounts], at="/api/user/{id}/status"):
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
        with more permissions than their own.
        """
        saved = await self.changes.set_status(context.write, id, body.status, unchanged(context))
        answer_tag(context, version_tag(saved.version))
