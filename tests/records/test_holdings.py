"""Which users have one of some sets of roles."""

import random
from collections import Counter

import pytest
from sqlalchemy import insert, text
from sqlalchemy.ext.asyncio import AsyncConnection

from service.records import role_holdings
from service.records.role_holdings import Roles
from service.records.schema.rights import role, user, user_ban, user_role

ROLES = ("one", "two", "three", "four")
BANNED, DISABLED = 3, 4


async def users_with_random_roles(connection: AsyncConnection, dice: random.Random) -> dict[str, Roles]:
    """Write users who may log in, a banned and a disabled one; return the roles of the first, by name."""
    for table in ("user_role", "user_ban", "role"):
        await connection.execute(text(f"DELETE FROM sys.{table}"))
    await connection.execute(text("UPDATE sys.\"user\" SET status = 'disabled'"))
    of_roles = [{"role_name": code, "role_name_key": code, "role_code": code} for code in ROLES]
    made = insert(role).values(of_roles).returning(role.c.role_code, role.c.id)
    role_ids = {row.role_code: row.id for row in await connection.execute(made)}
    given: dict[str, Roles] = {}
    for number in range(25):
        name = f"user-{dice.randrange(1000):03}-{number:02}"
        given[name] = tuple(sorted(dice.sample(ROLES, dice.choice((0, 1, 1, 2, 2, 3)))))
        values = {"user_name": name, "user_name_key": name, "nick_name": name}
        values |= {"password_hash": "x", "status": "disabled" if number == DISABLED else "enabled"}
        statement = insert(user).values(values).returning(user.c.id)
        user_id = (await connection.execute(statement)).scalar_one()
        if rows := [{"user_id": user_id, "role_id": role_ids[code]} for code in given[name]]:
            await connection.execute(insert(user_role), rows)
        if number == BANNED:
            ban = {"user_id": user_id, "reason": "test", "banned_by": 1}
            await connection.execute(insert(user_ban).values(ban))
    gone = {list(given)[number] for number in (BANNED, DISABLED)}
    return {name: roles for name, roles in sorted(given.items()) if name not in gone}


@pytest.mark.parametrize("seed", range(3))
async def test_the_users_of_some_sets_of_roles_are_those_whose_roles_are_one_of_them(
    connection: AsyncConnection, seed: int
) -> None:
    dice = random.Random(seed)
    given = await users_with_random_roles(connection, dice)
    known = (await role_holdings.read(connection)).users
    assert known == Counter(given.values())
    every = sorted(known)
    chosen: list[list[Roles]] = [
        every,
        [],
        [()],
        *(dice.sample(every, dice.randint(1, len(every))) for _ in range(6)),
    ]
    # What follows from one role, as most decisions do.
    chosen += [[role_set for role_set in every if code in role_set] for code in ROLES]

    for role_sets in chosen:
        expected = [(name, roles) for name, roles in given.items() if roles in role_sets]
        whole = await role_holdings.holders(connection, role_sets, known, page=1, size=100)
        second = await role_holdings.holders(
            connection, role_sets, known, page=2, size=4, total=len(expected)
        )

        assert [(holder.user_name, holder.roles) for holder in whole.items] == expected
        assert [(holder.user_name, holder.roles) for holder in second.items] == expected[4:8]
        assert (whole.total, second.total) == (len(expected), len(expected))


async def test_a_set_with_a_role_that_is_gone_has_no_users(connection: AsyncConnection) -> None:
    given = await users_with_random_roles(connection, random.Random(1))
    known = (await role_holdings.read(connection)).users

    result = await role_holdings.holders(
        connection, [("gone",), ("gone", "one")], [*known, ("gone",)], page=1, size=9
    )

    assert (result.items, result.total) == ((), 0)
    assert len(given) > 0
