import pytest
from sqlalchemy import Connection, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from service.kernel.codes import is_code
from service.records import accounts, bindings, menus, role_rights, roles
from service.records.database.transactions import engine
from service.records.installation.migrate import Prepared, prepare
from service.records.installation.seed_catalogue import Additions
from service.records.schema.rights import menu
from tests.support.seeded import ADMINISTRATOR
from tests.support.unstarted import COVERED

ACTIONS = {
    "online": "list kick ban introspect",
    "user": "list detail create update delete reset-password export import key factor verify erase",
    "role": "list create update delete permission export import",
    "menu": "list create update delete",
    "resource": "list create update delete bind open",
    "service": "list create update delete resources",
    "policy": "read evaluate follow reload restore sign-off",
    "operation-log": "list detail export",
    "login-log": "list export",
    "file": "upload list download delete share",
    "job": "list run update",
    "mail": "list",
    "chat": "list test",
    "agent": "list update switch end",
    "webhook": "list test replay",
    "doctor": "read",
    "activity": "list",
    "access-request": "list",
    "review": "list create decide evidence",
    "directory": "list update",
    "scim": "read users groups",
}
CODES = {f"system:{page}:{action}" for page, actions in ACTIONS.items() for action in actions.split()}
# What each seeded route asks of its caller by its own declaration; the empty set is "a login".
REQUIRED = {
    "GET /api/user/info": set(),
    "GET /api/user/operations": set(),
    "GET /api/user/profile": set(),
    "GET /api/user/list": {"system:user:list"},
    "GET /api/user/{id}": {"system:user:detail"},
    "GET /api/user/export": {"system:user:export"},
    "POST /api/user": {"system:user:create"},
    "GET /api/role/list": {"system:role:list", "system:user:create", "system:user:update"},
    "POST /api/role": {"system:role:create"},
    "PUT /api/role/{id}": {"system:role:update"},
    "PATCH /api/role/{id}": {"system:role:update"},
    "DELETE /api/role/{id}": {"system:role:delete"},
    "GET /api/menu/list": {"system:menu:list"},
    "GET /api/resource/list": {"system:resource:list", "system:service:resources"},
    "GET /api/policy": {"system:policy:read"},
}


async def test_there_is_a_button_for_every_permission_code_and_for_both_wildcards(
    connection: AsyncConnection,
) -> None:
    bits = await menus.permission_bits(connection)
    assert set(bits) == CODES | {"*", "system:*"}
    assert sorted(bits.values()) == list(range(len(bits)))
    assert all(is_code(code) for code in bits)


async def test_each_button_hangs_below_a_menu_and_there_is_one_root(connection: AsyncConnection) -> None:
    rows = (await connection.execute(select(menu))).all()
    kinds = {row.id: row.menu_type for row in rows}
    assert [row.title for row in rows if row.parent_id is None] == ["System"]
    assert all(kinds[row.parent_id] == "Menu" for row in rows if row.parent_id is not None)


@pytest.mark.parametrize(
    ("code", "held"),
    [
        ("super", {"*"}),
        ("admin", {"system:*"}),
        (
            "auditor",
            {code for code in CODES if code.endswith((":list", ":detail"))}
            | {
                "system:policy:read",
                "system:doctor:read",
                "system:review:evidence",
                "system:operation-log:export",
                "system:login-log:export",
            },
        ),
        ("user", set()),
    ],
)
async def test_a_seeded_role_holds_what_its_name_promises(
    connection: AsyncConnection, code: str, held: set[str]
) -> None:
    await connection.execute(
        text("UPDATE sys.user_role SET role_id = (SELECT id FROM sys.role WHERE role_code = :code)"),
        {"code": code},
    )
    account = await accounts.credentials(connection, ADMINISTRATOR)
    assert account is not None
    assert await role_rights.of(connection, account.user_id) == role_rights.Rights(
        (code,), tuple(sorted(held))
    )


async def test_there_are_four_roles_and_one_administrator_in_super(connection: AsyncConnection) -> None:
    listed = await roles.page(connection, roles.RoleFilter())
    assert [role.role_code for role in listed.items] == ["super", "admin", "auditor", "user"]
    names = (await connection.execute(text('SELECT user_name, status FROM sys."user"'))).all()
    assert names == [(ADMINISTRATOR, "enabled")]


async def test_each_seeded_resource_asks_for_the_codes_that_its_route_declares(
    connection: AsyncConnection,
) -> None:
    resources = await bindings.bound(connection)
    bound = {
        f"{resource.method} {resource.path}": {code for code, _ in resource.buttons} for resource in resources
    }
    assert bound == REQUIRED


def names(connection: Connection) -> list[str]:
    return list(connection.execute(text("SELECT role_code FROM sys.role ORDER BY id")).scalars())


def test_what_an_operator_deleted_stays_deleted(seeded_database_url: str) -> None:
    with engine(seeded_database_url).begin() as connection:
        connection.execute(text("DELETE FROM sys.role WHERE role_code = 'auditor'"))
        connection.execute(text("DELETE FROM sys.action_resource"))
        connection.execute(text("DELETE FROM sys.resource"))
        connection.execute(text('DELETE FROM sys."user"'))
    assert prepare(
        seeded_database_url, lambda: pytest.fail("no password is needed"), COVERED, ()
    ) == Prepared(new=False, additions=Additions())
    with engine(seeded_database_url).connect() as connection:
        assert names(connection) == ["super", "admin", "user"]
        assert connection.execute(text("SELECT count(*) FROM sys.resource")).scalar_one() == 0
        assert connection.execute(text('SELECT count(*) FROM sys."user"')).scalar_one() == 0
