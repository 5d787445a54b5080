"""What roles gave and users held at any instant, past or future."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import insert, text
from sqlalchemy.ext.asyncio import AsyncConnection

from service.records import role_holdings, role_lives, role_rights, roles
from service.records.database.transactions import Database
from service.records.schema.rights import ended_assignment, role, role_code_life, user, user_role

HOUR = timedelta(hours=1)
CODES = [f"x:{name}" for name in "abcdef"]


def covers(begin: datetime | None, end: datetime | None, at: datetime) -> bool:
    return (begin is None or begin <= at) and (end is None or at < end)


async def user_named(connection: AsyncConnection, name: str) -> int:
    values = {"user_name": name, "user_name_key": name, "nick_name": name, "password_hash": "x"}
    made = insert(user).values(values | {"status": "enabled"}).returning(user.c.id)
    return int((await connection.execute(made)).scalar_one())


async def role_named(connection: AsyncConnection, code: str) -> int:
    values = {"role_name": code, "role_name_key": code, "role_code": code}
    return int((await connection.execute(insert(role).values(values).returning(role.c.id))).scalar_one())


@pytest.mark.parametrize("seed", range(2))
async def test_what_users_held_at_any_instant_is_what_their_intervals_say(
    connection: AsyncConnection, seed: int
) -> None:
    dice = random.Random(seed)
    now = datetime.now(UTC)
    users = [await user_named(connection, f"of-{seed}-{number}") for number in range(7)]
    held = [await role_named(connection, f"role-{seed}-{number}") for number in range(5)]
    await connection.execute(text("DELETE FROM sys.role_code_life"))
    lives: list[dict[str, Any]] = []
    for role_id in held:
        common = {"role_id": role_id, "role_code": f"role-{seed}-{held.index(role_id)}"}
        whole = {"menu_id": 0, "code": "", "begin_time": now - 100 * HOUR, "end_time": None}
        lives.append(common | whole)
        for number, code in enumerate(CODES):
            begin = now - dice.randint(1, 90) * HOUR
            end = min(begin + dice.randint(1, 60) * HOUR, now - HOUR / 2)
            of_code = {"menu_id": number + 1, "code": code, "begin_time": begin, "end_time": end}
            lives += [common | of_code] if dice.random() < 0.7 else []
    await connection.execute(insert(role_code_life), lives)
    windows: list[tuple[int, int, datetime | None, datetime | None]] = []
    for number in range(40):
        user_id, role_id = dice.choice(users), dice.choice(held)
        made = now - dice.randint(1, 95) * HOUR
        begin, end = made + dice.randint(-9, 20) * HOUR, made + dice.randint(21, 80) * HOUR
        common = {"user_id": user_id, "role_id": role_id, "valid_from": begin, "create_time": made}
        if end < now or dice.random() < 0.3:
            over = min(end, made + dice.randint(1, 60) * HOUR, now)
            ended = {"id": -number - 1 - 100 * seed, "role_code": "x", "source": "direct", "how": "revoked"}
            row = common | ended | {"valid_until": end, "end_time": over}
            await connection.execute(insert(ended_assignment).values(row))
            windows.append((user_id, role_id, max(made, begin), over))
        else:
            row = common | {"valid_until": end + timedelta(minutes=number)}
            await connection.execute(insert(user_role).values(row))
            windows.append((user_id, role_id, max(made, begin), end + timedelta(minutes=number)))
    compared = 0
    for _ in range(30):
        at = now - dice.randint(2, 5900) * timedelta(minutes=1)
        for user_id in users:
            having = {
                role_id for who, role_id, begin, end in windows if who == user_id and covers(begin, end, at)
            }
            gave = {
                life["code"]
                for life in lives
                if life["role_id"] in having
                and life["code"]
                and covers(life["begin_time"], life["end_time"], at)
            }
            assert set(await role_lives.held_by(connection, user_id, at)) == gave
            compared += len(CODES)
    assert compared > 1000


async def test_roles_that_begin_and_end_later_are_those_of_a_future_instant(
    connection: AsyncConnection,
) -> None:
    dice = random.Random(7)
    now = datetime.now(UTC)
    user_id = await user_named(connection, "later")
    held = {f"later-{number}": await role_named(connection, f"later-{number}") for number in range(6)}
    windows = []
    for number in range(24):
        code = dice.choice(list(held))
        begin = None if dice.random() < 0.2 else now + dice.randint(-50, 50) * HOUR
        end = None if begin and dice.random() < 0.2 else now + (51 + dice.randint(0, 50)) * HOUR
        end = end and end + timedelta(seconds=number)
        row = {"user_id": user_id, "role_id": held[code], "valid_from": begin, "valid_until": end}
        if (code, begin, end) not in windows:
            await connection.execute(insert(user_role).values(row))
            windows.append((code, begin, end))
    for _ in range(60):
        at = now + dice.randint(1, 110 * 60) * timedelta(minutes=1)
        expected = sorted({code for code, begin, end in windows if covers(begin, end, at)})
        assert list((await role_rights.of(connection, user_id, at)).roles) == expected


async def changed(database: Database, statement: str) -> None:
    async with database.transaction() as connection:
        await connection.execute(text(statement))


async def test_what_roles_gave_is_what_was_recorded_at_that_instant_whoever_changed_it(
    database: Database,
) -> None:
    dice = random.Random(3)
    edits = (
        (
            "DELETE FROM sys.role_menu WHERE (role_id, menu_id) IN"
            " (SELECT role_id, menu_id FROM sys.role_menu ORDER BY md5('{0}' || menu_id) LIMIT 2)"
        ),
        (
            "INSERT INTO sys.role_menu (role_id, menu_id) SELECT role.id, menu.id FROM sys.role, sys.menu"
            " ORDER BY md5('{0}' || role.id || ' ' || menu.id) LIMIT 3 ON CONFLICT DO NOTHING"
        ),
        (
            "UPDATE sys.menu SET enabled = NOT enabled WHERE id ="
            " (SELECT menu_id FROM sys.role_menu ORDER BY md5('{0}' || menu_id) LIMIT 1)"
        ),
        (
            "UPDATE sys.menu SET auth_mark = 'y:m{0}' WHERE id = (SELECT menu_id FROM sys.role_menu JOIN"
            " sys.menu ON menu.id = menu_id WHERE menu_type = 'Button'"
            " ORDER BY md5('{0}' || menu_id) LIMIT 1)"
        ),
        (
            "UPDATE sys.role SET enabled = NOT enabled WHERE id = (SELECT id FROM sys.role"
            " ORDER BY md5('{0}' || id) LIMIT 1)"
        ),
        (
            "UPDATE sys.role SET role_code = 'renamed-{0}' WHERE id = (SELECT id FROM sys.role"
            " ORDER BY md5('{0}' || id) LIMIT 1)"
        ),
        "INSERT INTO sys.role (role_name, role_name_key, role_code) VALUES ('n{0}', 'n{0}', 'new-{0}')",
        "DELETE FROM sys.role WHERE id NOT IN (SELECT role_id FROM sys.user_role) AND role_code LIKE 'new-%'",
        "UPDATE sys.role SET description = '{0}', version = version + 1",
        (
            "WITH gone AS (DELETE FROM sys.role_menu RETURNING role_id, menu_id)"
            " INSERT INTO sys.role_menu SELECT role_id, menu_id FROM gone WHERE false"
        ),
    )
    recorded = []
    for number in range(40):
        await changed(database, dice.choice(edits[:-1] if number < 35 else edits).format(number))
        async with database.snapshot() as connection:
            at = (await connection.execute(text("SELECT clock_timestamp()"))).scalar_one()
            recorded.append(
                (at, await role_holdings.read_codes(connection), await role_holdings.codes_by_id(connection))
            )
    async with database.snapshot() as connection:
        for at, codes, ids in recorded:
            assert await role_lives.held_codes(connection, at) == codes
            assert await role_lives.codes_by_id(connection, at) == ids


LIVES = "SELECT id, begin_time, end_time FROM sys.role_code_life ORDER BY id"


async def test_a_code_that_is_removed_and_given_again_at_once_goes_on(database: Database) -> None:
    async with database.snapshot() as connection:
        lives = (await connection.execute(text(LIVES))).all()
    async with database.transaction() as connection:
        before = await roles.held_codes(connection)
        kept = await connection.execute(text("SELECT role_id, menu_id FROM sys.role_menu"))
        rows = [dict(row._mapping) for row in kept]
        await connection.execute(text("DELETE FROM sys.role_menu"))
        await connection.execute(text("INSERT INTO sys.role_menu VALUES (:role_id, :menu_id)"), rows)
        moment = (await connection.execute(text("SELECT now()"))).scalar_one()
    async with database.snapshot() as connection:
        for shift in range(3):
            given = await role_lives.held_codes(connection, moment + shift * timedelta(milliseconds=1))
            assert {code: held for code, held in given.items() if held} == before
        assert (await connection.execute(text(LIVES))).all() == lives


async def test_only_differences_between_then_and_now_are_changes(database: Database) -> None:
    of_auditor = "FROM sys.role, sys.menu WHERE role_code = 'auditor' AND auth_mark = '{0}'"
    take = f"DELETE FROM sys.role_menu WHERE (role_id, menu_id) IN (SELECT role.id, menu.id {of_auditor})"
    give = f"INSERT INTO sys.role_menu (role_id, menu_id) SELECT role.id, menu.id {of_auditor}"
    async with database.snapshot() as connection:
        since = (await connection.execute(text("SELECT clock_timestamp()"))).scalar_one()

    for statement, code in (
        (take, "system:role:list"),  # and given again
        (give, "system:role:list"),
        (give, "system:role:delete"),  # and taken again
        (take, "system:role:delete"),
        (take, "system:user:list"),
        (give, "system:role:create"),
    ):
        await changed(database, statement.format(code))
    async with database.snapshot() as connection:
        changes = await role_lives.changed(connection, since)

    assert [(each.role_code, each.code, each.end_time is None) for each in changes] == [
        ("auditor", "system:role:create", True),
        ("auditor", "system:user:list", False),
    ]


async def test_no_truncated_table_leaves_a_code_that_goes_on(database: Database) -> None:
    await changed(database, "TRUNCATE sys.role_menu")
    async with database.snapshot() as connection:
        at = (await connection.execute(text("SELECT clock_timestamp()"))).scalar_one()
        assert not any((await role_lives.held_codes(connection, at)).values())
