"""Users and roles of a test's database, and those who call as them."""

from typing import Any

from tests.support.inside import Inside

PASSWORD = "four wary herons"
HERON = {"userName": "heron", "nickName": "Heron", "password": PASSWORD}

Row = tuple[Any, ...]


def execute(service: Inside, statement: str, *values: object) -> list[Row]:
    """Run a statement behind the service's back; return the rows, if it gives any."""
    done = service.beside().execute(statement.encode(), values or None)
    return done.fetchall() if done.description else []


def new_role(service: Inside, code: str, *codes: str) -> int:
    """Write a role that gives ``codes``, for which there must be Buttons; return the id."""
    ((role_id,),) = execute(
        service,
        "INSERT INTO sys.role (role_code, role_name, role_name_key) VALUES (%s, %s, %s) RETURNING id",
        code,
        code,
        code,
    )
    given = execute(
        service,
        "INSERT INTO sys.role_menu SELECT %s, id FROM sys.menu WHERE auth_mark = ANY (%s) RETURNING 1",
        role_id,
        list(codes),
    )
    assert len(given) == len(codes)
    return int(role_id)


def role_id(service: Inside, code: str) -> int:
    """Return the id of a role."""
    ((number,),) = execute(service, "SELECT id FROM sys.role WHERE role_code = %s", code)
    return int(number)


async def made(service: Inside, name: str = "heron", *role_ids: int, **changes: Any) -> Any:
    """Create a user as the administrator; return what is answered."""
    body = HERON | {"userName": name, "nickName": name, "roleIds": list(role_ids)} | changes
    return await service.data("POST", "/api/user", body)


async def caller(service: Inside, name: str, *codes: str) -> str:
    """Make a user who holds ``codes`` and log in; return the access token."""
    await made(service, name, new_role(service, f"role-of-{name}", *codes))
    return await service.log_in(name, PASSWORD)
