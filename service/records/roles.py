"""``sys.role``: named sets of menus and Buttons.

Callers that change one hold ``role_rights.lock``, so that their checks stay valid until the commit.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final

from msgspec import Meta, Struct
from sqlalchemy import (
    ARRAY,
    BigInteger,
    Select,
    String,
    any_,
    bindparam,
    exists,
    func,
    insert,
    literal,
    select,
)
from sqlalchemy import delete as delete_from
from sqlalchemy import update as change
from sqlalchemy.dialects.postgresql import aggregate_order_by
from sqlalchemy.ext.asyncio import AsyncConnection

from service.errors import Conflict, ValidationFailed
from service.kernel.core_sentences import sentence
from service.kernel.fields import ITS_TYPE, Field, declared, values_of
from service.kernel.text import MAX_NAME_LENGTH, name_key, text_fault
from service.kernel.value_rules import DESCRIPTION, MAX_DURATION, bounds_of, one_line, whole
from service.records.assignments import instant, not_ended
from service.records.database.filters import any_of, conditions_of, contains, equals, whether
from service.records.database.paging import Page, RecordList, sorts_of
from service.records.database.row_mapper import PreparedSelect, RowMapper, RowWriter, Source
from service.records.schema.rights import menu, role, role_menu, user, user_role

RoleCode = Annotated[
    str,
    Meta(max_length=64, pattern=whole("[a-z0-9_-]+"), examples=["auditor"]),
    Meta(extra={"says": sentence("not_a_role_code")}),
    Meta(description="The unique, unchangeable name of the role for programs and tokens."),
]


@declared
@dataclass(frozen=True, slots=True, kw_only=True)
class RoleValues:
    """The editable fields of a role."""

    role_name: Annotated[
        str,
        Field(text_fault),
        bounds_of(one_line(MAX_NAME_LENGTH)),
        Meta(examples=["Auditor"]),
        Meta(description="Unique, ignoring the case and the Unicode form of letters."),
    ]
    description: Annotated[str | None, Field(DESCRIPTION)] = None
    enabled: Annotated[bool, Field(ITS_TYPE)] = True
    max_duration: Annotated[
        int | None,
        Field(MAX_DURATION, late=True),
        Meta(examples=[28_800]),
        Meta(description="The maximum duration of an assignment of the role, in seconds; null for no limit."),
    ] = None
    reason_required: Annotated[
        bool, Field(ITS_TYPE, late=True), Meta(description="Assignments of the role need a reason.")
    ] = False
    personal_keys: Annotated[
        bool,
        Field(ITS_TYPE, late=True),
        Meta(description="Holders of the role may make and use API keys of their own."),
    ] = True
    max_delegation: Annotated[
        int | None,
        Field(MAX_DURATION, late=True),
        Meta(examples=[172_800]),
        Meta(
            description="The maximum duration of a holder's delegation to an agent, in seconds, if longer "
            "than the setting `auth.delegation_max`; null for that of the setting."
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Role(RoleValues):
    """A role; ``version`` rises with each edit, but not when its menus change."""

    id: int
    role_code: str
    version: int
    create_time: datetime
    update_time: datetime
    updated_by: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRole(Role):
    """A role in a list, with the numbers of its Buttons and its users; None if users were not counted."""

    user_count: int | None
    permission_count: int


class GivenMenu(Struct, frozen=True):
    """A menu of a role; ``auth_mark`` is the code of a Button, enabled or not, and None for a Menu."""

    id: int
    title: str
    auth_mark: str | None


_NAME: Final = contains(role.c.role_name_key, name_key)
_CODE: Final = contains(role.c.role_code)
_HAS_USER: Final = exists().where(user_role.c.role_id == role.c.id, not_ended(instant(None)))


@dataclass(frozen=True, slots=True)
class RoleFilter:
    """A filter of roles: part of the name (by ``name_key``) or code, state, and use; None matches all."""

    keyword: Annotated[
        str | None, any_of(_NAME, _CODE), Meta(max_length=64, description="A part of the name or the code.")
    ] = None
    role_name: Annotated[
        str | None, _NAME, Meta(max_length=64, description="A part of the name, in any case.")
    ] = None
    role_code: Annotated[str | None, _CODE, Meta(max_length=64, description="A part of the code.")] = None
    enabled: Annotated[bool | None, equals(role.c.enabled)] = None
    has_user: Annotated[
        bool | None,
        whether(_HAS_USER),
        Meta(description="Roles with users, or only those without; for callers who may list users."),
    ] = None


SORTS: Final = sorts_of(role, "id", "role_name", "role_code", "enabled", "create_time", "update_time")
"""The columns by which a list of roles can be sorted."""

ROLE: Final = RowMapper(Role, role)
"""Reads roles."""

_GIVEN: Final = RowMapper(GivenMenu, menu)
_WRITER: Final = RowWriter(RoleValues, role)

_LIST: Final = RecordList[Role, RoleFilter]("role", ROLE, ROLE.select, SORTS)
page = _LIST.page
read = _LIST.read
every = _LIST.every


async def counted_page(
    connection: AsyncConnection,
    filters: RoleFilter,
    *,
    page: int,
    size: int,
    sort: str | None,
    counts_users: bool = True,
) -> Page[ListedRole]:
    """Return page ``page`` (from 1) of the matching roles with their counts; ValidationFailed as ``page``.

    Without ``counts_users`` the number of users is None.
    """
    listed = await _LIST.page(connection, filters, page=page, size=size, sort=sort)
    ids = [item.id for item in listed.items]
    users: Mapping[int, int] = {}
    if counts_users:
        users = await _counts(connection, _USERS_BY_ROLE.where(user_role.c.role_id.in_(ids)))
    permissions = await _counts(connection, _BUTTONS_BY_ROLE.where(role_menu.c.role_id.in_(ids)))
    counted = (
        ListedRole(
            **values_of(item),
            user_count=users.get(item.id, 0) if counts_users else None,
            permission_count=permissions.get(item.id, 0),
        )
        for item in listed.items
    )
    return Page(tuple(counted), listed.total)


_USERS_BY_ROLE: Final = (
    select(user_role.c.role_id, func.count(user_role.c.user_id.distinct()))
    .where(not_ended(instant(None)))
    .group_by(user_role.c.role_id)
)
_BUTTONS_BY_ROLE: Final = (
    select(role_menu.c.role_id, func.count())
    .join(menu, menu.c.id == role_menu.c.menu_id)
    .where(menu.c.menu_type == "Button")
    .group_by(role_menu.c.role_id)
)


async def _counts(connection: AsyncConnection, statement: Select[int, int]) -> dict[int, int]:
    """Return the numbers of a statement by id."""
    return dict((await connection.execute(statement)).all())


async def every_menu(connection: AsyncConnection) -> list[tuple[int, int]]:
    """Return the menus and Buttons of all roles, as ids of a role and of a menu."""
    statement = select(role_menu.c.role_id, role_menu.c.menu_id)
    return [(row.role_id, row.menu_id) for row in await connection.execute(statement)]


async def create(connection: AsyncConnection, role_code: str, values: RoleValues) -> Role:
    """Write a new role without menus.

    Conflict if the name, compared by ``name_key``, or the code belongs to another role.
    """
    await _refuse_taken(connection, values.role_name, role_code)
    stored = _WRITER.new(values, role_code=role_code)
    return await ROLE.returned(connection, insert(role).values(stored).returning(*ROLE.columns))


async def update(connection: AsyncConnection, role_id: int, values: Mapping[str, Any]) -> Role:
    """Store ``values``, some of the ``RoleValues`` by column, of an existing role.

    Conflict if the name belongs to another role. The code never changes: programs and tokens refer to it.
    """
    if "role_name" in values:
        await _refuse_taken(connection, values["role_name"], but=role_id)
    written = change(role).where(role.c.id == role_id).values(_WRITER.edited(values))
    return await ROLE.returned(connection, written.returning(*ROLE.columns))


async def delete(connection: AsyncConnection, role_id: int) -> None:
    """Delete a role that no user has, with its menus."""
    await connection.execute(delete_from(role).where(role.c.id == role_id))


async def users_of(connection: AsyncConnection, role_id: int, most: int) -> tuple[list[str], int]:
    """Return the names of the first ``most`` users who have the role, by id, and the number of all.

    Those of assignments that have not ended, or begin later.
    """
    assigned = select(user_role.c.user_id).where(user_role.c.role_id == role_id, not_ended(instant(None)))
    having = select(user.c.user_name).where(user.c.id.in_(assigned))
    number = (await connection.execute(select(func.count()).select_from(having.subquery()))).scalar_one()
    names = (await connection.execute(having.order_by(user.c.id).limit(most))).scalars()
    return list(names), number


async def demanding(connection: AsyncConnection, role_ids: Collection[int]) -> set[int]:
    """Return which of these roles are assigned with an end or a reason only."""
    demands = role.c.max_duration.is_not(None) | role.c.reason_required
    return set(
        (await connection.execute(select(role.c.id).where(role.c.id.in_(role_ids), demands))).scalars()
    )


async def given(connection: AsyncConnection, role_id: int) -> list[GivenMenu]:
    """Return the menus and Buttons of a role, by id."""
    statement = (
        _GIVEN.select.join(role_menu, role_menu.c.menu_id == menu.c.id)
        .where(role_menu.c.role_id == role_id)
        .order_by(menu.c.id)
    )
    return await _GIVEN.all(connection, statement)


async def set_menus(connection: AsyncConnection, role_id: int, menu_ids: Sequence[int]) -> None:
    """Replace the menus and Buttons of an existing role, whose version stays; it names the editor.

    Only the differences are written: kept menus retain their original time. ValidationFailed for unknown ids;
    it names their places in the list.
    """
    # An array is a single parameter; a list would be one parameter for each id.
    chosen = select(menu.c.id).where(menu.c.id == any_(literal(list(menu_ids), ARRAY(BigInteger))))
    known = set((await connection.execute(chosen)).scalars())
    if faults := [
        (f"menuIds[{place}]", sentence("no_such_menu"))
        for place, menu_id in enumerate(menu_ids)
        if menu_id not in known
    ]:
        raise ValidationFailed(*faults)
    of_role = role_menu.c.role_id == role_id
    await connection.execute(delete_from(role_menu).where(of_role, role_menu.c.menu_id.not_in(chosen)))
    had = select(role_menu.c.menu_id).where(of_role)
    rows = chosen.where(menu.c.id.not_in(had)).add_columns(literal(role_id)).order_by(menu.c.id)
    await connection.execute(insert(role_menu).from_select(["menu_id", "role_id"], rows))
    await connection.execute(change(role).where(role.c.id == role_id).values(update_time=func.now()))


_HELD_CODES = (
    select(role.c.role_code, func.array_agg(aggregate_order_by(menu.c.auth_mark, menu.c.auth_mark)))
    .join(role_menu, role_menu.c.role_id == role.c.id)
    .join(menu, menu.c.id == role_menu.c.menu_id)
    .where(role.c.enabled, menu.c.menu_type == "Button", menu.c.enabled)
    .group_by(role.c.role_code)
    .order_by(role.c.role_code)
)


async def held_codes(connection: AsyncConnection) -> dict[str, tuple[str, ...]]:
    """Return, by role code, the permission codes that each enabled role grants, sorted."""
    return {role_code: tuple(codes) for role_code, codes in await connection.execute(_HELD_CODES)}


_HELD_CODES_OF = PreparedSelect(
    _HELD_CODES.where(role.c.role_code == any_(bindparam("role_codes", type_=ARRAY(String)))),
    lambda row: (str(row[0]), tuple(row[1])),
)


async def held_codes_of(source: Source, role_codes: list[str]) -> list[tuple[str, tuple[str, ...]]]:
    """Return the result of ``held_codes`` for the enabled ones of ``role_codes``, by code.

    Given the database, raises ``Unavailable``.
    """
    return await _HELD_CODES_OF.all(source, role_codes=role_codes)


async def _refuse_taken(
    connection: AsyncConnection, role_name: str, role_code: str | None = None, *, but: int = 0
) -> None:
    """Raise Conflict, naming the other role, if a role other than ``but`` has that name or that code."""
    same_name = role.c.role_name_key == name_key(role_name)
    same_code = role.c.role_code == role_code  # None is the code of no role
    others = select(role.c.id, same_name).where(role.c.id != but, same_name | same_code)
    for role_id, named_alike in await connection.execute(others.order_by(role.c.id)):
        field, what = ("roleName", "name") if named_alike else ("roleCode", "code")
        raise Conflict(
            sentence("role_taken", what=what, role=role_id), rule="unique", field=field, roleId=role_id
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CodedRole(RoleValues):
    """A role; ``permissions`` are the codes of its Buttons, enabled or not, sorted."""

    id: int
    role_code: str
    permissions: tuple[str, ...]


class MenuTree(Struct, frozen=True):
    """``buttons`` are the ids of all Buttons by code; ``parents`` maps a menu to the menu above it."""

    buttons: Mapping[str, int]
    parents: Mapping[int, int]

    def with_menus_above(self, menu_ids: Iterable[int]) -> set[int]:
        """Return the menus and all menus above them."""
        reached: set[int] = set()
        for menu_id in menu_ids:
            above: int | None = menu_id
            while above is not None and above not in reached:
                reached.add(above)
                above = self.parents.get(above)
        return reached


_PERMISSIONS: Final = (
    select(menu.c.auth_mark)
    .join(role_menu, role_menu.c.menu_id == menu.c.id)
    .where(role_menu.c.role_id == role.c.id, menu.c.menu_type == "Button")
    .order_by(menu.c.auth_mark)
    .correlate(role)
)
_CODED: Final = RowMapper(CodedRole, role, permissions=func.array(_PERMISSIONS.scalar_subquery()))


async def after(
    connection: AsyncConnection, role_id: int, most: int, criteria: RoleFilter | None = None
) -> list[CodedRole]:
    """Return the first ``most`` matching roles whose id is greater than ``role_id``, in order."""
    conditions = () if criteria is None else conditions_of(criteria)
    following = _CODED.select.where(role.c.id > role_id, *conditions)
    return await _CODED.all(connection, following.order_by(role.c.id).limit(most))


async def by_code(connection: AsyncConnection, codes: Sequence[str]) -> dict[str, CodedRole]:
    """Return the existing roles, by code."""
    named = _CODED.select.where(role.c.role_code.in_(codes))
    return {coded.role_code: coded for coded in await _CODED.all(connection, named)}


async def menu_tree(connection: AsyncConnection) -> MenuTree:
    """Return the ids of all Buttons, enabled or not, and the parents of all menus."""
    rows = (
        await connection.execute(select(menu.c.id, menu.c.parent_id, menu.c.menu_type, menu.c.auth_mark))
    ).all()
    return MenuTree(
        {row.auth_mark: row.id for row in rows if row.menu_type == "Button"},
        {row.id: row.parent_id for row in rows if row.parent_id is not None},
    )
