"""``sys.menu``: the tree of Menus and Buttons, and the references to a menu.

Callers that change one hold ``policy_revisions.lock`` and ``role_rights.lock``, so that their checks stay
true until the commit.
"""

from collections.abc import Collection
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Annotated, Any, Final, Literal, NamedTuple

from msgspec import Meta, Struct
from sqlalchemy import Select, func, insert, null, select
from sqlalchemy import delete as delete_from
from sqlalchemy import update as change
from sqlalchemy.ext.asyncio import AsyncConnection

from service.errors import Conflict, ValidationFailed
from service.kernel import value_rules
from service.kernel.codes import MAX_CODE_LENGTH
from service.kernel.core_sentences import sentence
from service.kernel.fields import ITS_EDIT, ITS_TYPE, Field, declared
from service.kernel.languages import TAG, titles_fault
from service.records.assignments import in_force, instant
from service.records.database.filters import contains, contains_folded, equals, one_of
from service.records.database.paging import RecordList, sorts_of
from service.records.database.row_mapper import RowMapper, RowWriter
from service.records.published import bit_positions
from service.records.schema.rights import action_resource, menu, resource, role, role_menu, user_role

MenuType = Literal["Menu", "Button"]


class Button(Struct, frozen=True):
    """The fields of a Button that bindings show."""

    id: value_rules.Id
    title: Annotated[str, Meta(examples=["List users"])]
    auth_mark: Annotated[str, Meta(examples=["system:user:list"])]
    enabled: bool


@declared
@dataclass(frozen=True, slots=True)
class MenuValues:
    """The editable fields of a menu.

    The operation log has the title of the parent Menu in place of its id.
    """

    title: Annotated[str, Field(value_rules.SHORT_LINE), Meta(examples=["Users"])]
    parent_id: Annotated[int | None, Field(ITS_EDIT, audited=False, in_state=False)] = None
    name: Annotated[str | None, Field(value_rules.SHORT_LINE)] = None
    path: Annotated[str | None, Field(value_rules.MENU_PATH), Meta(examples=["/system/user"])] = None
    component: Annotated[str | None, Field(value_rules.COMPONENT)] = None
    icon: Annotated[str | None, Field(value_rules.SHORT_LINE)] = None
    auth_mark: Annotated[
        str | None,
        Field(value_rules.code_fault, in_state=False),
        Meta(max_length=MAX_CODE_LENGTH, examples=["system:user:list"]),
        Meta(
            description="The permission code of a Button, unique: segments of `[a-z0-9_-]+` joined by `:`; a "
            "`*` stands for a whole segment. A Menu has none."
        ),
    ] = None
    sort: Annotated[int, Field(value_rules.SORT), Meta(description="Smaller values come first.")] = 0
    enabled: Annotated[bool, Field(ITS_TYPE)] = True
    hidden: Annotated[bool, Field(ITS_TYPE, late=True), Meta(description="Not shown in navigation.")] = False
    keep_alive: Annotated[bool, Field(ITS_TYPE, late=True), Meta(description="Keeps its state.")] = False
    redirect: Annotated[
        str | None, Field(value_rules.OWN_PATH, late=True), Meta(examples=["/system/user"])
    ] = None
    link: Annotated[
        str | None, Field(value_rules.LINK, late=True), Meta(examples=["https://example.org"])
    ] = None
    badge: Annotated[str | None, Field(value_rules.BADGE, late=True), Meta(examples=["new"])] = None
    meta: Annotated[
        dict[str, Any] | None,
        Field(value_rules.free_object_fault, late=True),
        Meta(
            extra_json_schema={"propertyNames": {"pattern": value_rules.KEY}},
            examples=[{"layout": "wide"}],
            description=f"A free object for the front end: at most {value_rules.MOST_BYTES} bytes as JSON, "
            f"{value_rules.MOST_LEVELS} levels, and {value_rules.MOST_KEYS} keys in each object. `PATCH` "
            "replaces it as a whole.",
        ),
    ] = None
    titles: Annotated[
        dict[str, str] | None,
        Field(titles_fault, late=True),
        Meta(
            extra_json_schema={"propertyNames": {"pattern": TAG}},
            examples=[{"zh-CN": "用户"}],
            description="Titles by language tag, of which `GET /api/menu/mine` answers the best one. `PATCH` "
            "replaces them as a whole.",
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Menu(MenuValues):
    """A Menu or a Button; ``version`` rises with each edit."""

    id: int
    menu_type: MenuType
    bit_position: int | None
    version: int
    create_time: datetime
    update_time: datetime
    updated_by: str | None


@dataclass(frozen=True, slots=True)
class MenuFilter:
    """A filter of menus: part of the title or code, the parent, the type, the state; None matches all."""

    title: Annotated[str | None, contains_folded(menu.c.title_folded), Meta(max_length=128)] = None
    auth_mark: Annotated[str | None, contains(menu.c.auth_mark), Meta(max_length=MAX_CODE_LENGTH)] = None
    parent_id: Annotated[int | None, equals(menu.c.parent_id), value_rules.ID] = None
    menu_type: Annotated[Collection[MenuType] | None, one_of(menu.c.menu_type)] = None
    enabled: Annotated[bool | None, equals(menu.c.enabled)] = None


SORTS: Final = sorts_of(menu, "id", "parent_id", "title", "auth_mark", "sort")
"""The columns by which a list of menus can be sorted."""

MENU: Final = RowMapper(Menu, menu)
"""Reads Menus and Buttons."""

BUTTON: Final = RowMapper(Button, menu)
"""Reads Buttons for bindings."""

_LIST: Final = RecordList[Menu, MenuFilter]("menu", MENU, MENU.select, SORTS)
page = _LIST.page
read = _LIST.read


async def every(connection: AsyncConnection) -> list[Menu]:
    """Return all menus, disabled ones too, by ``sort`` and id."""
    return await MENU.all(connection, MENU.select.order_by(menu.c.sort, menu.c.id))


async def given_to(connection: AsyncConnection, user_id: int, at: datetime | None = None) -> set[int]:
    """Return the ids of the menus and Buttons granted by a user's enabled roles, disabled ones too.

    As of the instant ``at``.
    """
    statement = (
        select(role_menu.c.menu_id)
        .join(role, role.c.id == role_menu.c.role_id)
        .join(user_role, user_role.c.role_id == role.c.id)
        .where(user_role.c.user_id == user_id, role.c.enabled, in_force(instant(at)))
    )
    return set((await connection.execute(statement.distinct())).scalars())


class ButtonCode(NamedTuple):
    """The code of a Button, its bit position, and whether the Button is enabled."""

    auth_mark: str
    bit_position: int
    enabled: bool


async def button_codes(connection: AsyncConnection) -> list[ButtonCode]:
    """Return the codes of all Buttons, disabled ones too."""
    statement = select(menu.c.auth_mark, menu.c.bit_position, menu.c.enabled).where(
        menu.c.menu_type == "Button"
    )
    return [ButtonCode(*row) for row in await connection.execute(statement)]


async def permission_bits(connection: AsyncConnection) -> dict[str, int]:
    """Return the bit positions of all enabled Buttons, by code."""
    buttons = await button_codes(connection)
    return {button.auth_mark: button.bit_position for button in buttons if button.enabled}


async def button(connection: AsyncConnection, menu_id: int) -> Button:
    """Return the Button with that id; NotFound if it does not exist, ValidationFailed for a Menu."""
    stored = await read(connection, menu_id)
    if stored.menu_type != "Button" or stored.auth_mark is None:
        raise ValidationFailed(("id", sentence("not_a_button")))
    return Button(stored.id, stored.title, stored.auth_mark, stored.enabled)


async def enabled_buttons(connection: AsyncConnection) -> list[Button]:
    """Return all enabled Buttons, by code."""
    conditions = (menu.c.menu_type == "Button", menu.c.enabled)
    return await BUTTON.all(connection, BUTTON.select.where(*conditions).order_by(menu.c.auth_mark))


async def with_codes(connection: AsyncConnection, codes: Collection[str]) -> dict[str, Menu]:
    """Return the Buttons that carry these codes, disabled ones too, by code."""
    conditions = (menu.c.menu_type == "Button", menu.c.auth_mark.in_(codes))
    buttons = await MENU.all(connection, MENU.select.where(*conditions))
    return {record.auth_mark: record for record in buttons if record.auth_mark is not None}


async def buttons_by_code(connection: AsyncConnection) -> dict[str, int]:
    """Return the ids of all enabled Buttons, by code."""
    return {button.auth_mark: button.id for button in await enabled_buttons(connection)}


_WRITER: Final = RowWriter(MenuValues, menu)


async def create(
    connection: AsyncConnection, menu_type: MenuType, values: MenuValues, user_id: int | None
) -> Menu:
    """Write a new menu, enabled unless ``values`` say otherwise; a Button gets its own bit position.

    ``user_id`` is the user who asks for it, if any. Conflict if the code belongs to another Button;
    RateLimited as ``bit_positions.give``.
    """
    stored = _WRITER.new(values, menu_type=menu_type)
    if menu_type == "Button":
        await _refuse_taken(connection, values)
        stored["bit_position"] = await bit_positions.give(connection, user_id)
    else:
        stored["bit_position"] = null()
    written = insert(menu).values(stored).returning(*MENU.columns)
    return await MENU.returned(connection, written)


async def update(connection: AsyncConnection, before: Menu, values: MenuValues, user_id: int | None) -> Menu:
    """Store ``values`` in the existing menu ``before``; ``user_id`` is the user who asks for it, if any.

    A Button whose code changes gets another bit: a token with the old bit must not grant the new code.
    Conflict if the code belongs to another Button; RateLimited as ``bit_positions.give``.
    """
    stored = _WRITER.edited(asdict(values))
    if before.menu_type == "Button" and values.auth_mark != before.auth_mark:
        await _refuse_taken(connection, values)
        stored["bit_position"] = await bit_positions.give(connection, user_id)
        await _retire(connection, before, user_id)
    written = change(menu).where(menu.c.id == before.id).values(stored).returning(*MENU.columns)
    return await MENU.returned(connection, written)


async def delete(connection: AsyncConnection, before: Menu, user_id: int | None) -> None:
    """Delete a menu that nothing refers to; ``user_id`` is the user who asks for it, if any."""
    await connection.execute(delete_from(menu).where(menu.c.id == before.id))
    await _retire(connection, before, user_id)


async def _retire(connection: AsyncConnection, before: Menu, user_id: int | None) -> None:
    if before.bit_position is not None:
        await bit_positions.retire(connection, before.bit_position, user_id)


async def _refuse_taken(connection: AsyncConnection, values: MenuValues) -> None:
    taken = select(menu.c.id).where(menu.c.menu_type == "Button", menu.c.auth_mark == values.auth_mark)
    other = (await connection.execute(taken)).scalar_one_or_none()
    if other is not None:
        raise Conflict(
            sentence("permission_code_taken", menu=other), rule="unique", field="authMark", menuId=other
        )


class Uses(Struct, frozen=True):
    """The first few references of each kind, and their number."""

    children: list[str]
    child_count: int
    roles: list[str]
    role_count: int
    resources: list[str]
    resource_count: int

    def __bool__(self) -> bool:
        return bool(self.child_count or self.role_count or self.resource_count)


async def uses_of(connection: AsyncConnection, menu_id: int, most: int) -> Uses:
    """Return the titles of menus below, the codes of roles and the codes of resources, ``most`` of each."""
    below = select(menu.c.title).where(menu.c.parent_id == menu_id).order_by(menu.c.sort, menu.c.id)
    roles = (
        select(role.c.role_code)
        .join(role_menu, role_menu.c.role_id == role.c.id)
        .where(role_menu.c.menu_id == menu_id)
        .order_by(role.c.role_code)
    )
    bound = (
        select(resource.c.resource_code)
        .join(action_resource, action_resource.c.resource_id == resource.c.id)
        .where(action_resource.c.menu_id == menu_id)
        .order_by(resource.c.resource_code)
    )
    return Uses(
        *await _first_names(connection, below, most),
        *await _first_names(connection, roles, most),
        *await _first_names(connection, bound, most),
    )


async def _first_names(connection: AsyncConnection, names: Select[Any], most: int) -> tuple[list[str], int]:
    number = select(func.count()).select_from(names.order_by(None).subquery())
    rows = await connection.execute(names.limit(most))
    return list(rows.scalars()), (await connection.execute(number)).scalar_one()
