"""Seeds a new database, once: deleted rows stay deleted."""

from collections.abc import Callable, Sequence

from sqlalchemy import Connection, exists, func, insert, literal, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from service.kernel.extension import Extension
from service.kernel.permission_catalogue import CATALOGUE
from service.kernel.text import name_key
from service.records.accounts import GIVEN, WRITER
from service.records.installation.seed_catalogue import (
    ADMINISTRATOR,
    ADMINISTRATOR_ROLE,
    ROLES,
    ROOT,
    SeedRole,
    bring,
    insert_row,
)
from service.records.schema.rights import menu, role, role_menu, user, user_role


def is_new(connection: Connection) -> bool:
    """True if the database holds no user, no role and no menu."""
    used = or_(*(exists(select(table.c.id)) for table in (user, role, menu)))
    return not connection.execute(select(used)).scalar_one()


def seed(
    connection: Connection, administrator_hash: Callable[[], str], extensions: Sequence[Extension]
) -> None:
    """Write menus, roles, resources and the first administrator into a new database.

    Those of ``extensions`` as well.

    ``administrator_hash`` returns the Argon2 hash of the administrator's password. The caller holds the
    migration lock.
    """
    bring(connection, lambda _held, _codes: (), extensions)  # no role is there that could cover a code
    roles = {granted.code: _role(connection, granted) for granted in ROLES}
    values = WRITER.new(ADMINISTRATOR, password_hash=administrator_hash(), password_initial=GIVEN)
    administrator = insert_row(connection, user, **values)
    connection.execute(insert(user_role).values(user_id=administrator, role_id=roles[ADMINISTRATOR_ROLE]))


async def is_seeded(connection: AsyncConnection) -> bool:
    """True if the database has been seeded; False also if it has no tables yet."""
    if (
        await connection.execute(select(func.to_regclass(f"{role.schema}.{role.name}")))
    ).scalar_one() is None:
        return False
    return bool((await connection.execute(select(exists(select(role.c.id))))).scalar_one())


def _role(connection: Connection, granted: SeedRole) -> int:
    """Write a role with its Buttons and the Menus above them, or all Menus if it sees every page."""
    role_id = insert_row(
        connection,
        role,
        role_code=granted.code,
        role_name=granted.name,
        role_name_key=name_key(granted.name),
        description=granted.description,
    )
    pages = {
        page.name
        for page in CATALOGUE
        if granted.every_page or any(permission.code in granted.codes for permission in page.permissions)
    }
    shown = pages | {ROOT} if pages else pages
    given = or_(menu.c.auth_mark.in_(granted.codes), (menu.c.menu_type == "Menu") & menu.c.name.in_(shown))
    rows = select(literal(role_id), menu.c.id).where(given).order_by(menu.c.id)
    connection.execute(insert(role_menu).from_select(["role_id", "menu_id"], rows))
    return role_id
