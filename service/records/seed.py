"""Fill a new database, once: what an operator deletes later stays deleted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import Connection, Table, exists, func, insert, null, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from service.kernel.names import name_key
from service.records.schema import action_resource, menu, resource, role, role_menu, user, user_role
from service.records.seed_data import (
    ADMINISTRATOR,
    ADMINISTRATOR_ROLE,
    PAGES,
    RESOURCES,
    ROLES,
    WILDCARDS,
    SeedRole,
)


def seed(connection: Connection, administrator_hash: Callable[[], str]) -> bool:
    """Write menus, roles, resources and the first administrator into a new database; tell whether it was new.

    A database is new while it holds no user, no role and no menu. ``administrator_hash`` is called only then
    and returns the Argon2 hash of the administrator's password. The caller holds the migration lock.
    """
    used = or_(*(exists(select(table.c.id)) for table in (user, role, menu)))
    if connection.execute(select(used)).scalar_one():
        return False
    pages, buttons = _menus(connection)
    roles = {granted.code: _role(connection, granted, pages, buttons) for granted in ROLES}
    _resources(connection, buttons)
    administrator = _insert(
        connection,
        user,
        user_name=ADMINISTRATOR,
        user_name_key=name_key(ADMINISTRATOR),
        nick_name="Administrator",
        password_hash=administrator_hash(),
    )
    connection.execute(insert(user_role).values(user_id=administrator, role_id=roles[ADMINISTRATOR_ROLE]))
    return True


async def is_seeded(connection: AsyncConnection) -> bool:
    """Tell whether a first start has filled the database; False also when it has no tables yet."""
    if (
        await connection.execute(select(func.to_regclass(f"{role.schema}.{role.name}")))
    ).scalar_one() is None:
        return False
    return bool((await connection.execute(select(exists(select(role.c.id))))).scalar_one())


def _menus(connection: Connection) -> tuple[dict[str, list[int]], dict[str, int]]:
    """Write the tree; return the Menus above each code, and the Button of each code."""
    root = _menu(connection, None, title="System", name="system", path="/system", icon="settings")
    above: dict[str, list[int]] = {}
    buttons = {
        code: _button(connection, root, title, code, sort) for sort, (code, title) in enumerate(WILDCARDS)
    }
    for sort, page in enumerate(PAGES):
        page_id = _menu(
            connection,
            root,
            title=page.title,
            name=page.name,
            path=f"/system/{page.name}",
            component=f"system/{page.name}/index",
            icon=page.icon,
            sort=sort,
        )
        for place, (code, (_, title)) in enumerate(zip(page.codes, page.buttons, strict=True)):
            buttons[code] = _button(connection, page_id, title, code, place)
            above[code] = [root, page_id]
    return above, buttons


def _menu(connection: Connection, parent: int | None, **values: Any) -> int:
    return _insert(connection, menu, parent_id=parent, menu_type="Menu", bit_position=null(), **values)


def _button(connection: Connection, parent: int, title: str, code: str, sort: int) -> int:
    return _insert(
        connection, menu, parent_id=parent, menu_type="Button", title=title, auth_mark=code, sort=sort
    )


def _role(
    connection: Connection, granted: SeedRole, above: dict[str, list[int]], buttons: dict[str, int]
) -> int:
    role_id = _insert(
        connection,
        role,
        role_code=granted.code,
        role_name=granted.name,
        role_name_key=name_key(granted.name),
        description=granted.description,
    )
    seen = above if granted.every_page else granted.codes
    menus = {buttons[code] for code in granted.codes} | {page for code in seen for page in above[code]}
    _join(connection, role_menu, [{"role_id": role_id, "menu_id": menu_id} for menu_id in sorted(menus)])
    return role_id


def _resources(connection: Connection, buttons: dict[str, int]) -> None:
    for route in RESOURCES:
        resource_id = _insert(
            connection,
            resource,
            resource_code=route.code,
            resource_name=route.name,
            method=route.method,
            path=route.path,
        )
        bound = [{"resource_id": resource_id, "menu_id": buttons[code]} for code in route.codes]
        _join(connection, action_resource, bound)


def _insert(connection: Connection, table: Table, **values: Any) -> int:
    made: int = connection.execute(insert(table).values(**values).returning(table.c.id)).scalar_one()
    return made


def _join(connection: Connection, table: Table, rows: Sequence[dict[str, int]]) -> None:
    if rows:
        connection.execute(insert(table), rows)
