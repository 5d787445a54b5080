"""Roles: ``/api/role``."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Final

from msgspec import UNSET, Meta, UnsetType

from service.administration import role_edits
from service.administration.changes import Changes
from service.administration.role_edits import Given
from service.authz.engine.rules import ASSURANCE
from service.endpoints.record_endpoints import RecordEndpoint, RecordKind
from service.errors import Conflict, NotFound, PermissionDenied, ValidationFailed, too_weak
from service.kernel.codes import MAX_CODE_LENGTH, MOST_LINKED
from service.kernel.core_sentences import sentence
from service.records import roles
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import needs
from service.web.messages.preconditions import answer_tag, content_tag, require_match
from service.web.messages.record_schemas import (
    MergePatch,
    answer_of,
    body_of,
    filters_of,
    patch_of,
    replacement_of,
)
from service.web.messages.schema import Id, PageQuery, Schema, sort_keys


@answer_of(roles.RoleValues)
class Role(Schema):
    """A named set of menus and Buttons. Each edit increments `version`, which is its `ETag`."""

    id: Id
    role_name: Annotated[str, Meta(examples=["Auditor"])]
    role_code: Annotated[str, Meta(examples=["auditor"])]


class ListedRole(Role, kw_only=True):
    """A role, the number of its users, and the number of Buttons that it gives."""

    user_count: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        Meta(examples=[12]),
        Meta(
            description="Users who have the role, or will from a later time; null for callers who may not"
            " list users."
        ),
    ]
    permission_count: Annotated[
        int, Meta(ge=0, examples=[7]), Meta(description="Buttons of the role, enabled or not.")
    ]


Permission = Annotated[str, Meta(max_length=MAX_CODE_LENGTH, examples=["system:role:list"])]
MenuIds = Annotated[
    list[Id],
    Meta(max_length=MOST_LINKED, examples=[[13]]),
    Meta(description="All menus and Buttons of the role."),
]
Permissions = Annotated[
    list[Permission],
    Meta(max_length=MOST_LINKED),
    Meta(
        description="The codes of all Buttons of the role, enabled or not. The role keeps its Menus, and gets"
        " those above its new Buttons. With `menuIds`, both must name the same Buttons."
    ),
]


@body_of(roles.RoleValues)
class RoleFields(Schema):
    """The values of a role; `enabled` by default."""

    role_code: roles.RoleCode


class NewRole(RoleFields, kw_only=True):
    """A new role, enabled by default. Giving it permissions also needs `system:role:permission`."""

    menu_ids: MenuIds | UnsetType = UNSET
    permissions: Permissions | UnsetType = UNSET


@replacement_of(RoleFields, fixed=["role_code"])
class RoleReplacement(Schema):
    """All values of a role; `roleCode` may be omitted, and must be the current one."""


@patch_of(NewRole)
class RolePatch(MergePatch):
    """The values of a role that change (RFC 7396). `null` removes one; `roleCode` can't change.

    Changing `menuIds` or `permissions` also needs `system:role:permission`.
    """


class RoleMenus(Schema):
    """All menus and Buttons of the role, and the codes of these Buttons. Menus only show pages."""

    menu_ids: list[Id]
    permissions: list[Permission]


class RoleMenusEdit(Schema):
    """The new menus and Buttons of the role, by one of the two members, or by both with the same Buttons."""

    menu_ids: MenuIds | UnsetType = UNSET
    permissions: Permissions | UnsetType = UNSET


@filters_of(roles.RoleFilter)
class RoleQuery(PageQuery):
    """Filters and order of roles."""

    sort: Annotated[str, sort_keys("RoleSort", roles.SORTS)] = "id"


def page_options(context: RequestContext, filters: roles.RoleFilter) -> dict[str, bool]:
    """Return whether to count users.

    Raises the refusal of the policy if a filter needs the right to list users, and the caller lacks it.
    """
    refusal = context.refusal_of(role_edits.LIST_USERS)
    if refusal is None or filters.has_user is None:
        return {"counts_users": refusal is None}
    if refusal.layer == ASSURANCE:
        raise too_weak(refusal, context.user)
    why = sentence("filter_needs_request", filter="hasUser", request=role_edits.LIST_USERS)
    raise PermissionDenied(why, refusal)


ROLE: Final = RecordKind(
    noun="role",
    shown=Role,
    listed=ListedRole,
    page=roles.counted_page,
    read=roles.read,
    matching=roles.RoleFilter,
    page_options=page_options,
    session_act="change-access",
)


class RoleList(RecordEndpoint[Changes], at="/api/role/list"):
    on_get = ROLE.lists(
        RoleQuery, "List roles.", "system:role:list", "system:user:create", "system:user:update"
    )


class Roles(RecordEndpoint[Changes], at="/api/role"):
    on_post = ROLE.creates(
        NewRole,
        """Create a role that gives `permissions` or `menuIds`; without them it gives nothing.

        To give permissions, callers need the permission `system:role:permission`, and each given one.
        """,
        "system:role:create",
        example={"roleCode": "reporter", "roleName": "Reporter", "description": "Reads reports"},
    )


class OneRole(RecordEndpoint[Changes], at="/api/role/{id}"):
    on_get = ROLE.reads("Read a role.", "system:role:list")
    on_put = ROLE.replaces(
        RoleReplacement,
        """Replace the values of a role; its menus stay.

        Callers can't edit roles with permissions that they lack. A disabled role gives nothing.
        """,
        "system:role:update",
        example={"roleName": "Reporter", "description": "Reads reports", "enabled": True},
    )
    on_patch = ROLE.replaces(
        RolePatch,
        """Change some values of a role, by the rules of a `PUT`, and its permissions.

        To change permissions, callers need the permission `system:role:permission`, and each added or removed
        one.
        """,
        "system:role:update",
        example={"description": "Reads reports and their sources"},
    )
    on_delete = ROLE.deletes(
        """Delete a role that no user has; a refusal names users to callers who may list users.

        Callers can't delete roles with permissions that they lack.
        """,
        "system:role:delete",
        refuses=[Conflict],
    )


class RolePermissions(RecordEndpoint[Changes], at="/api/role/{id}/permissions"):
    @needs("system:role:list", name="getRolePermissions", refuses=[NotFound], tagged=True)
    async def on_get(self, context: RequestContext, id: int) -> RoleMenus:
        """Read the menus and Buttons of a role."""
        async with self.database.snapshot() as connection:
            await roles.read(connection, id)
            menus = _shown(await roles.given(connection, id))
        answer_tag(context, content_tag(menus))
        return menus

    @ROLE.sets(
        "set the permissions",
        "setRolePermissions",
        "system:role:permission",
        refuses=[Conflict],
        example={"menuIds": [14]},
    )
    async def on_put(self, context: RequestContext, body: RoleMenusEdit, id: int) -> RoleMenus:
        """Replace the menus and Buttons of a role, by ids or by codes.

        Users of the role must refresh their tokens. Callers can't add or remove permissions that they lack.
        """

        def match(stored: list[roles.GivenMenu]) -> None:
            require_match(context, content_tag(_shown(stored)))

        given = Given(**body.given())
        if not given:
            raise ValidationFailed(("menuIds", sentence("menus_or_permissions")))
        saved = await self.changes.make(
            context.write,
            partial(sentence, "cause_permissions_replaced"),
            lambda unit: role_edits.set_menus(unit, id, given, match),
        )
        shown = _shown(saved.record)
        answer_tag(context, content_tag(shown))
        return shown


def _shown(given: Sequence[roles.GivenMenu]) -> RoleMenus:
    codes = sorted(menu.auth_mark for menu in given if menu.auth_mark is not None)
    return RoleMenus([menu.id for menu in given], codes)
