"""Users: ``/api/user``."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from service.administration.accounts import Accounts
from service.administration.user_edits import MAX_ROLES, NewUser
from service.errors import Conflict, NotFound, PreconditionFailed
from service.kernel.identity import Kind
from service.records import user_list
from service.records.database.transactions import Database
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import (
    created,
    dry_run,
    example_body,
    idempotent,
    logged,
    named,
    needs,
    refuses,
    shows_more,
    tagged,
)
from service.web.messages.partial_bodies import MergePatch, patch_of, replacement_of
from service.web.messages.preconditions import answer_tag, unchanged, version_tag
from service.web.messages.record_schemas import answer_of, body_of, filters_of
from service.web.messages.schema import (
    Id,
    Moment,
    Page,
    PageQuery,
    Schema,
    UpdatedBy,
    page_answer,
    sort_keys,
)


class RoleOfUser(Schema):
    """A role of the user, enabled or disabled."""

    id: Id
    role_code: Annotated[str, Meta(examples=["auditor"])]
    role_name: Annotated[str, Meta(examples=["Auditor"])]


class BanOfUser(Schema):
    """A ban in force; `until` is null for one without an end."""

    until: Moment | None
    reason: Annotated[str, Meta(examples=["password shared"])]
    banned_by: Annotated[
        str | None,
        Meta(description="The name of the user who banned; null if deleted.", examples=["admin"]),
    ]
    create_time: Moment


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
    version: Annotated[int, Meta(ge=1, examples=[3])]
    create_time: Moment
    update_time: Moment
    updated_by: UpdatedBy


Name = Annotated[str, user_list.NAME]
RoleIds = Annotated[list[Id], Meta(max_length=MAX_ROLES, examples=[[3]])]
NewPassword = Annotated[str, Meta(min_length=1, max_length=1024, examples=["four wary herons"])]


@body_of(user_list.UserValues, before="kind", left_out="unset")
class UserBody(Schema):
    """A new user; a person, and enabled, by default.

    A person needs a `password`. A service account (`kind` is `service`) has none; it may be bound to a
    `service`.
    """

    user_name: Name
    nick_name: Name
    kind: Kind | UnsetType = UNSET
    password: NewPassword | UnsetType = UNSET
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
    """Filters and order of users; names, email and phone match by parts, in any case."""

    sort: Annotated[str, sort_keys("UserSort", user_list.SORTS)] = "id"


def answer(context: RequestContext, user: user_list.User) -> User:
    """Return a user, with its ``ETag``."""
    answer_tag(context, version_tag(user.version))
    return User.of(user)


class UserList:
    """``/api/user/list``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @needs("system:user:list")
    @named("listUsers")
    async def on_get(self, context: RequestContext, query: UserQuery) -> Page[User]:
        """List users with their roles."""
        criteria = query.filter(user_list.UserFilter)
        async with self._database.snapshot() as connection:
            listed = await user_list.page(
                connection, criteria, page=query.page, size=query.size, sort=query.sort
            )
        return page_answer(query, listed, User)


class Users:
    """``/api/user``."""

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts

    @created("/api/user/{id}")
    @idempotent(answer)
    @needs("system:user:create")
    @dry_run
    @logged("user", "create", "INSERT")
    @refuses(Conflict)
    @example_body(
        {
            "userName": "heron",
            "nickName": "Heron",
            "password": "four wary herons",
            "email": "heron@example.org",
            "status": "disabled",
            "roleIds": [3],
        }
    )
    @tagged
    @named("createUser")
    async def on_post(self, context: RequestContext, body: UserBody) -> User:
        """Create a user; callers can give only roles whose permissions they hold."""
        values = body.given()
        password, role_ids = values.pop("password", None), values.pop("role_ids")
        made = await self._accounts.create(context.user, NewUser(values, password, role_ids or ()))
        return answer(context, made)


class OneUser:
    """``/api/user/{id}``."""

    def __init__(self, database: Database, accounts: Accounts) -> None:
        self._database = database
        self._accounts = accounts

    @needs("system:user:detail")
    @refuses(NotFound)
    @tagged
    @shows_more
    @named("getUser")
    async def on_get(self, context: RequestContext, id: int) -> User:
        """Read a user.

        Never 304: a ban, and an edit of a role, leave the `ETag` of the user as it is.
        """
        async with self._database.snapshot() as connection:
            user = await user_list.read(connection, id)
        return answer(context, user)

    @needs("system:user:update")
    @dry_run
    @logged("user", "update", "UPDATE")
    @refuses(NotFound, Conflict, PreconditionFailed)
    @example_body(
        {
            "userName": "heron",
            "nickName": "Heron",
            "email": "heron@example.org",
            "phone": None,
            "gender": None,
            "avatar": None,
            "status": "enabled",
            "service": None,
            "roleIds": [3],
        }
    )
    @tagged
    @named("updateUser")
    async def on_put(self, context: RequestContext, body: UserReplacement, id: int) -> User:
        """Replace the values and roles of a user, with effect from the user's next request.

        Callers can't edit users who hold more permissions than they do, give or take roles with permissions
        that they lack, or change their own roles.
        """
        return answer(context, await self._edit(context, id, body))

    @needs("system:user:update")
    @dry_run
    @logged("user", "update", "UPDATE")
    @refuses(NotFound, Conflict, PreconditionFailed)
    @example_body({"nickName": "Heron", "phone": None})
    @tagged
    @named("patchUser")
    async def on_patch(self, context: RequestContext, body: UserPatch, id: int) -> User:
        """Change some values of a user, by the rules of a `PUT`."""
        return answer(context, await self._edit(context, id, body))

    async def _edit(
        self, context: RequestContext, id: int, body: UserReplacement | UserPatch
    ) -> user_list.User:
        values = body.given()
        role_ids = values.pop("role_ids", None)
        return await self._accounts.update(context.user, id, values, role_ids, unchanged(context))

    @needs("system:user:delete")
    @dry_run
    @logged("user", "delete", "DELETE")
    @refuses(NotFound, Conflict, PreconditionFailed)
    @named("deleteUser")
    async def on_delete(self, context: RequestContext, id: int) -> None:
        """Delete a user and end all sessions. Files of the user are kept; the name becomes free.

        Callers can't delete themselves or users who hold more permissions than they do.
        """
        await self._accounts.delete(context.user, id, unchanged(context))
