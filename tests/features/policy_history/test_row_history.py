"""The kept rows of a revision are those that were stored when it ended, whatever changed before and after."""

import random
from typing import Any

from sqlalchemy import func, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from service.features.policy_history import store_row_history as policy_row_history
from service.features.policy_history.schema import (
    binding_history,
    button_history,
    opening_history,
    resource_history,
    service_history,
)
from service.records.published import policy_revisions
from service.records.published.policy_revisions import NewRevision
from service.records.schema.policy import policy_revision

STORED = {
    resource_history: "SELECT id, resource_name, resource_code, method, path, description, enabled,"
    " service FROM sys.resource",
    button_history: "SELECT id, parent_id, title, name, icon, sort, auth_mark, enabled FROM sys.menu"
    " WHERE menu_type = 'Button'",
    binding_history: "SELECT resource_id, menu_id FROM sys.action_resource",
    service_history: "SELECT id, name, description, ignore_case, ignore_trailing_slash, allow_preflight"
    " FROM sys.service",
    opening_history: "SELECT id, service, resource_id, code, end_time FROM sys.opening",
}
CHANGES = (
    "UPDATE sys.resource SET resource_name = 'R' || :n, enabled = :n % 2 = 0 WHERE id % 3 = :n % 3",
    """UPDATE sys.menu SET title = 'B' || :n, enabled = :n % 2 = 1
    WHERE menu_type = 'Button' AND id % 4 = :n % 4""",
    "UPDATE sys.resource SET path = '/api/moved/' || :n WHERE id = (SELECT min(id) FROM sys.resource)",
    "DELETE FROM sys.resource WHERE id = (SELECT max(id) FROM sys.resource)",
    """INSERT INTO sys.resource (resource_name, resource_code, method, path)
    VALUES ('R', 'r' || :n, 'GET', '/api/made/' || :n)""",
    "INSERT INTO sys.service (name) VALUES ('s' || :n % 3) ON CONFLICT DO NOTHING",
    """UPDATE sys.service SET ignore_case = NOT ignore_case, description = 'd' || :n
    WHERE name = 's' || :n % 3""",
    """UPDATE sys.resource SET service = 's1'
    WHERE id % 5 = :n % 5 AND EXISTS (SELECT FROM sys.service WHERE name = 's1')""",
    """INSERT INTO sys.opening (resource_id, code) SELECT id, '@login' FROM sys.resource WHERE id % 4 = :n % 4
    ON CONFLICT DO NOTHING""",
    "INSERT INTO sys.opening (service, code) SELECT name, '@anyone' FROM sys.service ON CONFLICT DO NOTHING",
    "DELETE FROM sys.opening WHERE id % 3 = :n % 3",
    "DELETE FROM sys.action_resource WHERE menu_id % 5 = :n % 5",
    """INSERT INTO sys.action_resource SELECT r.id, m.id FROM sys.resource r, sys.menu m
    WHERE m.menu_type = 'Button' AND (r.id + m.id) % 7 = :n % 7 ON CONFLICT DO NOTHING""",
)


async def stored(connection: AsyncConnection) -> dict[str, set[Any]]:
    return {
        table.name: {tuple(row) for row in await connection.execute(text(statement))}
        for table, statement in STORED.items()
    }


async def kept(connection: AsyncConnection, revision: int) -> dict[str, set[Any]]:
    by_table = {}
    for table in STORED:
        columns = [column for column in table.c if column.name not in ("id", "since", "until")]
        until = table.c.until
        at = (table.c.since <= revision) & (until.is_(None) | (until > revision))
        by_table[table.name] = {tuple(row) for row in await connection.execute(select(*columns).where(at))}
    return by_table


async def rows(connection: AsyncConnection) -> int:
    counts = [
        (await connection.execute(select(func.count()).select_from(table))).scalar_one() for table in STORED
    ]
    return sum(counts)


async def revise(connection: AsyncConnection) -> int:
    return await policy_revisions.add(connection, NewRevision(digest="d", line_count=0, cause="test"))


async def test_the_rows_of_every_revision_are_kept_as_they_were_last(connection: AsyncConnection) -> None:
    dice = random.Random(3)
    seen: dict[int, dict[str, set[Any]]] = {}
    for number in range(40):
        newest = await revise(connection) if dice.random() < 0.5 or not seen else max(seen)
        for statement in dice.sample(CHANGES, 2):
            await connection.execute(text(statement.replace(":n", str(number))))
        await policy_row_history.record(connection, newest)
        seen[newest] = await stored(connection)

    for revision, expected in seen.items():
        assert await kept(connection, revision) == expected, revision


async def test_a_change_costs_one_row_for_each_row_that_it_changes(connection: AsyncConnection) -> None:
    await policy_row_history.record(connection, await revise(connection))
    before = await rows(connection)

    await policy_row_history.record(connection, second := await revise(connection))
    assert await rows(connection) == before

    for name in ("one", "two"):
        await connection.execute(text(f"UPDATE sys.resource SET resource_name = '{name}' WHERE id = 1"))
        await policy_row_history.record(connection, second)
    assert await rows(connection) == before + 1


async def test_it_is_known_of_which_revisions_rows_are_kept(connection: AsyncConnection) -> None:
    older = await revise(connection)
    newer = await revise(connection)
    await policy_row_history.record(connection, newer)

    c = policy_revision.c
    selected = await connection.execute(select(c.revision, c.rows_kept).where(c.revision >= older))
    assert {row.revision: row.rows_kept for row in selected} == {older: False, newer: True}


async def test_rows_of_revisions_that_were_deleted_are_forgotten(connection: AsyncConnection) -> None:
    first = await revise(connection)
    await policy_row_history.record(connection, first)
    expected = await stored(connection)
    await connection.execute(text(CHANGES[0].replace(":n", "1")))
    await policy_row_history.record(connection, first + 1)

    await policy_row_history.forget_from(connection, first + 1)

    assert await kept(connection, first + 1) == expected
