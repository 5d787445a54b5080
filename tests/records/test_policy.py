from __future__ import annotations

import asyncio

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from service.embedded import EmbeddedStores
from service.errors import Unavailable
from service.records.database.transactions import Database
from service.records.migrate import migrate
from service.records.policy import lines as casbin_rule
from service.records.policy import revisions as policy_revisions
from service.records.policy.lines import Line
from service.records.resources import bindings
from service.records.resources.bindings import BoundButton

pytestmark = pytest.mark.anyio

LINES: list[Line] = [
    ("p", "endpoint", "POST /api/auth/login", "@anyone"),
    ("p", "resource", "@unregistered", "@login"),
]


async def publish(database: Database, lines: list[Line], cause: str = "test") -> int:
    async with database.transaction() as connection:
        return await casbin_rule.publish(connection, lines, digest=f"digest of {len(lines)}", cause=cause)


async def stored(database: Database) -> list[Line]:
    async with database.snapshot() as connection:
        return await casbin_rule.all_lines(connection)


async def test_before_the_first_publishing_there_is_no_revision_and_no_line(database: Database) -> None:
    async with database.snapshot() as connection:
        assert await policy_revisions.latest(connection) is None
        assert await casbin_rule.all_lines(connection) == []


async def test_publishing_replaces_all_lines_in_order_and_counts_up(database: Database) -> None:
    assert [await publish(database, LINES, "start"), await publish(database, LINES[::-1], "edit")] == [1, 2]
    async with database.snapshot() as connection:
        assert await casbin_rule.all_lines(connection) == LINES[::-1]
        latest = await policy_revisions.latest(connection)
    assert latest is not None
    assert (latest.revision, latest.digest, latest.line_count, latest.cause) == (2, "digest of 2", 2, "edit")


async def test_an_empty_policy_can_be_published(database: Database) -> None:
    await publish(database, LINES)
    await publish(database, [])
    assert await stored(database) == []


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    values=st.lists(
        st.lists(
            st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"])),
            min_size=1,
            max_size=7,
        ).map(tuple),
        max_size=5,
    )
)
async def test_whatever_a_line_holds_is_read_back_unchanged(database: Database, values: list[Line]) -> None:
    await publish(database, values)
    assert await stored(database) == values


async def test_a_rolled_back_publishing_leaves_lines_and_revision(
    database: Database,
) -> None:
    async def fail() -> None:
        async with database.transaction() as connection:
            await casbin_rule.publish(connection, [], digest="none", cause="mistake")
            raise LookupError

    await publish(database, LINES)
    with pytest.raises(LookupError):
        await fail()
    assert await stored(database) == LINES
    assert await publish(database, LINES) == 2


async def test_a_revision_is_announced_when_it_is_committed(
    database: Database, seeded_database_url: str
) -> None:
    async with await psycopg.AsyncConnection.connect(seeded_database_url, autocommit=True) as listener:
        await listener.execute(f"LISTEN {casbin_rule.CHANNEL}")
        async with database.transaction() as connection:
            await casbin_rule.publish(connection, LINES, digest="one", cause="test")
            assert [note async for note in listener.notifies(timeout=0.2)] == []
        heard = [note.payload async for note in listener.notifies(timeout=10, stop_after=1)]
    assert heard == ["1"]


async def test_publishers_at_once_follow_one_another_and_none_loses_the_change_of_another(
    database: Database,
) -> None:
    async def change(number: int) -> int:
        async with database.transaction() as connection:
            await policy_revisions.lock(connection)
            lines = [*await casbin_rule.all_lines(connection), ("p", "endpoint", f"GET /{number}", "@login")]
            return await casbin_rule.publish(connection, lines, digest=str(number), cause="race")

    revisions = await asyncio.gather(*(change(number) for number in range(20)))
    assert sorted(revisions) == list(range(1, 21))
    found = await stored(database)
    assert sorted(found) == sorted(("p", "endpoint", f"GET /{number}", "@login") for number in range(20))


async def test_publishers_that_take_no_lock_of_their_own_do_not_mix_their_lines(database: Database) -> None:
    policies: list[list[Line]] = [[("p", str(number))] * 20 for number in range(10)]
    assert sorted(await asyncio.gather(*(publish(database, lines) for lines in policies))) == list(
        range(1, 11)
    )
    assert await stored(database) in policies


async def test_a_reader_sees_one_whole_policy_while_another_is_published(database: Database) -> None:
    async def read() -> tuple[int, set[str]]:
        async with database.snapshot() as connection:
            latest = await policy_revisions.latest(connection)
            assert latest is not None
            return latest.revision, {line[1] for line in await casbin_rule.all_lines(connection)}

    async def follow() -> None:
        while not done.is_set():
            revision, words = await read()
            assert words == {str(revision)}

    done = asyncio.Event()
    await publish(database, [("p", "1")] * 50)
    follower = asyncio.create_task(follow())
    for revision in range(2, 12):
        await publish(database, [("p", str(revision))] * 50)
    done.set()
    await follower


async def test_a_server_that_freezes_during_publishing_is_unavailable(fragile: EmbeddedStores) -> None:
    async def freeze_half_way() -> None:
        async with asyncio.timeout(10), database.transaction() as connection:
            await connection.execute(text("SELECT 1"))
            fragile.postgres.pause()
            await casbin_rule._copy(connection, many)

    migrate(fragile.database_url)
    database = Database(fragile.database_url, timeout=0.5)
    many: list[Line] = [("p", "x" * 100)] * 100_000
    try:
        with pytest.raises(Unavailable):
            await freeze_half_way()
    finally:
        fragile.postgres.resume()
    assert await publish(database, LINES) == 1
    await database.close()


async def test_bindings_are_told_with_the_state_of_their_buttons_for_enabled_resources_only(
    database: Database,
) -> None:
    async with database.transaction() as connection:
        for change in (
            "UPDATE sys.menu SET enabled = false WHERE auth_mark = 'system:user:create'",
            "UPDATE sys.resource SET enabled = false WHERE resource_code = 'menu.list'",
        ):
            await connection.execute(text(change))
        found = {f"{one.method} {one.path}": one.buttons for one in await bindings.bound(connection)}
    assert found["GET /api/role/list"] == (
        BoundButton("system:role:list", enabled=True),
        BoundButton("system:user:create", enabled=False),
        BoundButton("system:user:update", enabled=True),
    )
    assert found["POST /api/user"] == (BoundButton("system:user:create", enabled=False),)
    assert found["GET /api/user/info"] == ()
    assert "GET /api/menu/list" not in found
