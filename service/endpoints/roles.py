"""Roles: ``/api/role``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType

from service.administration.given_roles import Given
from service.administration.roles import RoleChanges
from service.errors import Conflict, NotFound, PreconditionFailed, ValidationFailed
from service.kernel.codes import MAX_CODE_LENGTH
from service.records import roles
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
    tagged,
)
from service.web.messages.partial_bodies import MergePatch, patch_of, replacement_of
from service.web.messages.preconditions import answer_tag, content_tag, require_match, version_tag
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

MOST = 10_000
"""The most menus and Buttons of a role in one request."""


@answer_of(roles.RoleValues)
class Role(Schema):
    """A named set of menus and Buttons. Each edit increments `version`, which is its `ETag`."""

    id: Id
    role_name: Annotated[str, Meta(examples=["Auditor"])]
    role_code: Annotated[str, Meta(examples=["auditor"])]
    version: Annotated[int, Meta(ge=1, examples=[3])]
    create_time: Moment
    update_time: Moment
    updated_by: UpdatedBy


Permission = Annotated[str, Meta(max_length=MAX_CODE_LENGTH, examples=["system:role:list"])]
MenuIds = Annotated[
    list[Id],
    Meta(max_length=MOST, examples=[[13]]),
    Meta(description="All menus and Buttons that the role gives, exactly these."),
]
Permissions = Annotated[
    list[Permission],
    Meta(max_length=MOST),
    Meta(
        description="The codes of all Buttons that the role gives, enabled or not. It keeps its Menus, and "
        "gets those above its new Buttons. With `menuIds`, both must name the same Buttons."
    ),
]


@body_of(roles.RoleValues)
class RoleFields(Schema):
    """The values of a role; `enabled` by default."""

    role_code: roles.RoleCode


class NewRole(RoleFields, kw_only=True):
    """A new role, enabled by default. To let it give something needs the permission for that too."""

    menu_ids: MenuIds | UnsetType = UNSET
    permissions: Permissions | UnsetType = UNSET


@replacement_of(RoleFields, fixed=["role_code"])
class RoleReplacement(Schema):
    """All values of a role; `roleCode` may be omitted, and must be the current one."""


@patch_of(NewRole)
class RolePatch(MergePatch):
    """The values of a role that change (RFC 7396). `null` removes one; `roleCode` can't change.

    To change what the role gives needs the permission for that too.
    """


class RoleMenus(Schema):
    """All menus and Buttons that the role gives, and the codes of these Buttons. Menus only show pages."""

    menu_ids: list[Id]
    permissions: list[Permission]


class RoleMenusEdit(Schema):
    """What the role is to give: one of the two, or both with the same Buttons."""

    menu_ids: MenuIds | UnsetType = UNSET
    permissions: Permissions | UnsetType = UNSET


@filters_of(roles.RoleFilter)
class RoleQuery(PageQuery):
    """Filters and order of roles."""

    sort: Annotated[str, sort_keys("RoleSort", roles.SORTS)] = "id"


def answer(context: RequestContext, role: roles.Role) -> Role:
    """Return a role, with its ``ETag``."""
    answer_tag(context, version_tag(role.version))
    return Role.of(role)


class RoleList:
    """``/api/role/list``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @needs("system:role:list", "system:user:create", "system:user:update")
    @named("listRoles")
    async def on_get(self, context: RequestContext, query: RoleQuery) -> Page[Role]:
        """List roles."""
        criteria = query.filter(roles.RoleFilter)
        async with self._database.snapshot() as connection:
            listed = await roles.page(connection, criteria, page=query.page, size=query.size, sort=query.sort)
        return page_answer(query, listed, Role)


class Roles:
    """``/api/role``."""

    def __init__(self, changes: RoleChanges) -> None:
        self._changes = changes

    @created("/api/role/{id}")
    @idempotent(answer)
    @needs("system:role:create")
    @dry_run
    @logged("role", "create", "INSERT")
    @refuses(Conflict)
    @example_body({"roleCode": "reporter", "roleName": "Reporter", "description": "Reads reports"})
    @tagged
    @named("createRole")
    async def on_post(self, context: RequestContext, body: NewRole) -> Role:
        """Create a role, which gives `permissions` or `menuIds`, and nothing without them.

        To give something, callers also need the permission `system:role:permission`, and all that they give.
        """
        values, given = _read(body)
        role_code = values.pop("role_code")
        saved = await self._changes.create(context.user, role_code, roles.RoleValues(**values), given)
        return answer(context, saved)


class OneRole:
    """``/api/role/{id}``."""

    def __init__(self, database: Database, changes: RoleChanges) -> None:
        self._database = database
        self._changes = changes

    @needs("system:role:list")
    @refuses(NotFound)
    @tagged
    @named("getRole")
    async def on_get(self, context: RequestContext, id: int) -> Role:
        """Read a role."""
        async with self._database.transaction() as connection:
            role = await roles.read(connection, id)
        return answer(context, role)

    @needs("system:role:update")
    @dry_run
    @logged("role", "update", "UPDATE")
    @refuses(NotFound, Conflict, PreconditionFailed)
    @example_body({"roleName": "Reporter", "description": "Reads reports", "enabled": True})
    @tagged
    @named("updateRole")
    async def on_put(self, context: RequestContext, body: RoleReplacement, id: int) -> Role:
        """Replace the values of a role; its menus stay.

        Callers can't edit roles with permissions that they lack. A disabled role gives nothing.
        """
        return answer(context, await self._edit(context, id, body))

    @needs("system:role:update")
    @dry_run
    @logged("role", "update", "UPDATE")
    @refuses(NotFound, Conflict, PreconditionFailed)
    @example_body({"description": "Reads reports and their sources"})
    @tagged
    @named("patchRole")
    async def on_patch(self, context: RequestContext, body: RolePatch, id: int) -> Role:
        """Change some values of a role, by the rules of a `PUT`, and what it gives.

        To change what it gives, callers also need the permission `system:role:permission`, and all that they
        give or take away.
        """
        return answer(context, await self._edit(context, id, body))

    async def _edit(self, context: RequestContext, id: int, body: RoleReplacement | RolePatch) -> roles.Role:
        values, given = _read(body)
        seen = _as_seen(context, values.pop("role_code", None))
        return await self._changes.update(context.user, id, values, seen, given)

    @needs("system:role:delete")
    @dry_run
    @logged("role", "delete", "DELETE")
    @refuses(NotFound, Conflict, PreconditionFailed)
    @named("deleteRole")
    async def on_delete(self, context: RequestContext, id: int) -> None:
        """Delete a role that no user has.

        Callers can't delete roles with permissions that they lack.
        """
        await self._changes.delete(context.user, id, _as_seen(context))


class RolePermissions:
    """``/api/role/{id}/permissions``."""

    def __init__(self, database: Database, changes: RoleChanges) -> None:
        self._database = database
        self._changes = changes

    @needs("system:role:list")
    @refuses(NotFound)
    @tagged
    @named("getRolePermissions")
    async def on_get(self, context: RequestContext, id: int) -> RoleMenus:
        """Read the menus and Buttons that a role gives."""
        async with self._database.snapshot() as connection:
            await roles.read(connection, id)
            menus = _shown(await roles.given(connection, id))
        answer_tag(context, content_tag(menus))
        return menus

    @needs("system:role:permission")
    @dry_run
    @logged("role", "set the permissions", "UPDATE")
    @refuses(NotFound, Conflict, PreconditionFailed)
    @example_body({"menuIds": [13]})
    @tagged
    @named("setRolePermissions")
    async def on_put(self, context: RequestContext, body: RoleMenusEdit, id: int) -> RoleMenus:
        """Replace the menus and Buttons that a role gives, said by ids or by codes.

        Its users must refresh their tokens. Callers can't give or take away permissions that they lack.
        """

        def match(stored: list[roles.GivenMenu]) -> None:
            require_match(context, content_tag(_shown(stored)))

        given = Given(**body.given())
        if not given:
            raise ValidationFailed(("menuIds", "Give this field or permissions"))
        saved = _shown(await self._changes.set_menus(context.user, id, given, match))
        answer_tag(context, content_tag(saved))
        return saved


def _read(body: Schema) -> tuple[dict[str, Any], Given]:
    """Return the values of a role that ``body`` has, and what the role is to give."""
    values = body.given()
    grants = {name: values.pop(name) for name in ("menu_ids", "permissions") if name in values}
    return values, Given(**grants)


def _shown(given: Sequence[roles.GivenMenu]) -> RoleMenus:
    codes = sorted(menu.auth_mark for menu in given if menu.auth_mark is not None)
    return RoleMenus([menu.id for menu in given], codes)


def _as_seen(context: RequestContext, role_code: str | None = None) -> Callable[[roles.Role], None]:
    """Return a check that the role is unchanged since the client read it, and has ``role_code``, if given."""

    def match(stored: roles.Role) -> None:
        require_match(context, version_tag(stored.version))
        if role_code not in (None, stored.role_code):
            raise ValidationFailed(("roleCode", "The code of a role can't be changed"))

    return match
