import pytest
from sqlalchemy import insert, text
from sqlalchemy.ext.asyncio import AsyncConnection

from service.errors import ValidationFailed
from service.kernel.text import name_key
from service.records import roles
from service.records.roles import RoleFilter
from service.records.schema.rights import role
from tests.support.cases import with_each

NAMES = ["Alpha", "beta", "Gamma 100%", "GAMMA_rays", "Ωmega"]


async def five_roles(connection: AsyncConnection) -> None:
    await connection.execute(text("DELETE FROM sys.user_role"))
    await connection.execute(text("DELETE FROM sys.role"))
    for number, name in enumerate(NAMES):
        values = {
            "role_name": name,
            "role_name_key": name_key(name),
            "role_code": f"r_{number}",
            "enabled": number != 1,
        }
        await connection.execute(insert(role).values(values))


async def listed(connection: AsyncConnection, criteria: RoleFilter, sort: str = "id") -> list[str]:
    roles_page = await roles.page(connection, criteria, sort=sort)
    assert roles_page.total == len(roles_page.items)
    return [listed_role.role_name for listed_role in roles_page.items]


async def test_roles_that_nobody_has_are_those_without_a_user(connection: AsyncConnection) -> None:
    held = await listed(connection, RoleFilter(has_user=True))

    assert held == ["Super administrator"]
    assert await listed(connection, RoleFilter(has_user=False)) == ["Administrator", "Auditor", "User"]


@with_each(
    ("criteria", "names"),
    [
        (RoleFilter(), NAMES),
        (RoleFilter(role_name="gamma"), ["Gamma 100%", "GAMMA_rays"]),
        (RoleFilter(role_name="ωM"), ["Ωmega"]),
        (RoleFilter(role_name="%"), ["Gamma 100%"]),
        (RoleFilter(role_name="a_r"), ["GAMMA_rays"]),
        (RoleFilter(role_name="' OR ''='"), []),
        (RoleFilter(role_name="\\"), []),
        (RoleFilter(role_code="r_3"), ["GAMMA_rays"]),
        (RoleFilter(role_code="r%"), []),
        (RoleFilter(enabled=False), ["beta"]),
        (RoleFilter(role_name="a", enabled=True), ["Alpha", "Gamma 100%", "GAMMA_rays", "Ωmega"]),
    ],
)
async def test_a_list_of_roles_has_those_that_fit_taken_literally(
    connection: AsyncConnection, criteria: RoleFilter, names: list[str]
) -> None:
    await five_roles(connection)
    assert await listed(connection, criteria) == names


@pytest.mark.parametrize(
    ("sort", "first", "last"),
    [
        ("id", "Alpha", "Ωmega"),
        ("-id", "Ωmega", "Alpha"),
        ("roleName", "Alpha", "Ωmega"),
        ("-roleCode", "Ωmega", "Alpha"),
        ("enabled", "beta", "Ωmega"),
        ("-createTime", "Ωmega", "Alpha"),
    ],
)
async def test_a_list_of_roles_is_sorted_as_asked_and_ties_by_id(
    connection: AsyncConnection, sort: str, first: str, last: str
) -> None:
    await five_roles(connection)
    names = await listed(connection, RoleFilter(), sort)
    assert (names[0], names[-1]) == (first, last)


@pytest.mark.parametrize("sort", ["", "-", "role_name", "--id", "id desc", "roleName;", "passwordHash"])
async def test_a_list_of_roles_refuses_any_other_sort(connection: AsyncConnection, sort: str) -> None:
    with pytest.raises(ValidationFailed):
        await roles.page(connection, RoleFilter(), sort=sort)


async def test_pages_of_roles_cut_the_list_and_count_all_of_it(connection: AsyncConnection) -> None:
    await five_roles(connection)
    cut = [await roles.page(connection, RoleFilter(), page=number, size=2) for number in (1, 2, 3, 4)]
    assert [[listed_role.role_name for listed_role in page.items] for page in cut] == [
        NAMES[:2],
        NAMES[2:4],
        NAMES[4:],
        [],
    ]
    assert {page.total for page in cut} == {5}
