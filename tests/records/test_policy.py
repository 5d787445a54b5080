import asyncio

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from service.errors import Unavailable
from service.features.embedded.stores import EmbeddedStores
from service.records import bindings
from service.records.bindings import BoundButton
from service.records.database.transactions import Database
from service.records.installation.migrate import migrate
from service.records.published import policy_lines as casbin_rule
from service.records.published import policy_revisions
from service.records.published.policy_lines import ObjectKey, Stored
from service.records.published.policy_revisions import NewRevision

Changed = dict[ObjectKey, tuple[str, ...]]
OBJECT: ObjectKey = ("resource", "GET /a")
OTHER: ObjectKey = ("grant", "a:b")


async def publish(database: Database, changed: Changed, cause: str = "test", *, mend: bool = False) -> int:
    async with database.transaction() as connection:
        return await casbin_rule.publish(
            connection, changed, NewRevision(line_count=7, digest="digest", cause=cause), mend=mend
        )


async def stored(database: Database) -> Stored:
    async with database.snapshot() as connection:
        return await connection.run_sync(casbin_rule.stored)


async def ids(database: Database) -> list[int]:
    async with database.snapshot() as connection:
        return list((await connection.execute(text("SELECT id FROM sys.casbin_rule ORDER BY id"))).scalars())


async def test_before_the_first_publishing_there_is_no_revision_and_no_line(database: Database) -> None:
    async with database.snapshot() as connection:
        assert await policy_revisions.latest(connection) is None
    assert await stored(database) == ({}, 0)


async def test_publishing_replaces_the_lines_of_changed_objects_and_counts_up(database: Database) -> None:
    assert await publish(database, {OBJECT: ("b", "c"), OTHER: ("a:b",)}, "start") == 1
    before = await ids(database)
    assert await publish(database, {OBJECT: ("a", "b")}, "edit") == 2
    async with database.snapshot() as connection:
        latest = await policy_revisions.latest(connection)
    assert await stored(database) == ({"resource": {"GET /a": ("a", "b")}, "grant": {"a:b": ("a:b",)}}, 0)
    assert len({*before} & {*await ids(database)}) == 1
    assert latest is not None
    assert (latest.revision, latest.digest, latest.line_count, latest.cause) == (2, "digest", 7, "edit")


async def test_an_object_without_codes_has_no_line_any_more(database: Database) -> None:
    await publish(database, {OBJECT: ("a", "b"), OTHER: ("a:b",)})
    await publish(database, {OBJECT: ()})
    await publish(database, {})
    assert await stored(database) == ({"grant": {"a:b": ("a:b",)}}, 0)


@pytest.mark.parametrize(
    "values",
    [
        "('g', 'a', 'b', 'c', NULL)",
        "('p', 'a', 'b', NULL, NULL)",
        "('p', 'a', 'b', 'c', 'd')",
        "('p', 'a', 'b', E'c\\nd', NULL)",
    ],
)
async def test_rows_that_are_no_lines_are_counted_and_can_be_mended(database: Database, values: str) -> None:
    await publish(database, {OBJECT: ("a",)})
    async with database.transaction() as connection:
        await connection.execute(text(f"INSERT INTO sys.casbin_rule (ptype, v0, v1, v2, v3) VALUES {values}"))
    await publish(database, {})
    assert await stored(database) == ({"resource": {"GET /a": ("a",)}}, 1)
    await publish(database, {}, mend=True)
    assert await stored(database) == ({"resource": {"GET /a": ("a",)}}, 0)


async def test_repeated_lines_are_told(database: Database) -> None:
    await publish(database, {OBJECT: ("a", "a")})
    assert await stored(database) == ({"resource": {"GET /a": ("a", "a")}}, 0)


words = st.text(st.characters(blacklist_characters="\0\n", blacklist_categories=["Cs"]))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.tuples(words, words), st.lists(words, min_size=1, max_size=3), max_size=5))
async def test_whatever_a_line_holds_is_read_back_unchanged(
    database: Database, values: dict[ObjectKey, list[str]]
) -> None:
    changed: Changed = {place: tuple(sorted(codes)) for place, codes in values.items()}
    objects: dict[str, dict[str, tuple[str, ...]]] = {}
    for (layer, name), codes in changed.items():
        objects.setdefault(layer, {})[name] = codes
    await publish(
        database,
        {(layer, name): () for layer, names in (await stored(database)).objects.items() for name in names},
    )
    await publish(database, changed)
    assert await stored(database) == (objects, 0)


async def test_a_rolled_back_publishing_leaves_lines_and_revision(
    database: Database,
) -> None:
    async def fail() -> None:
        async with database.transaction() as connection:
            await casbin_rule.publish(
                connection, {OBJECT: ()}, NewRevision(line_count=0, digest="none", cause="mistake")
            )
            raise LookupError

    await publish(database, {OBJECT: ("a",)})
    with pytest.raises(LookupError):
        await fail()
    assert await stored(database) == ({"resource": {"GET /a": ("a",)}}, 0)
    assert await publish(database, {}) == 2


async def test_a_revision_is_announced_when_it_is_committed(
    database: Database, seeded_database_url: str
) -> None:
    async with await psycopg.AsyncConnection.connect(seeded_database_url, autocommit=True) as listener:
        await listener.execute(f"LISTEN {casbin_rule.CHANNEL}")
        async with database.transaction() as connection:
            await casbin_rule.publish(connection, {}, NewRevision(line_count=0, digest="one", cause="test"))
            assert [note async for note in listener.notifies(timeout=0.2)] == []
        heard = [note.payload async for note in listener.notifies(timeout=10, stop_after=1)]
    assert heard == ["1"]


async def test_publishers_at_once_follow_one_another_and_none_loses_the_change_of_another(
    database: Database,
) -> None:
    async def change(number: int) -> int:
        async with database.transaction() as connection:
            await policy_revisions.lock(connection)
            objects = (await connection.run_sync(casbin_rule.stored)).objects
            codes = (*objects.get("resource", {}).get("GET /a", ()), f"{number:02}")
            return await casbin_rule.publish(
                connection,
                {OBJECT: codes},
                NewRevision(line_count=len(codes), digest=str(number), cause="race"),
            )

    revisions = await asyncio.gather(*(change(number) for number in range(20)))
    assert sorted(revisions) == list(range(1, 21))
    codes = tuple(f"{number:02}" for number in range(20))
    assert await stored(database) == ({"resource": {"GET /a": codes}}, 0)


async def test_publishers_that_take_no_lock_of_their_own_do_not_mix_their_lines(database: Database) -> None:
    policies = [(str(number),) * 20 for number in range(10)]
    published = await asyncio.gather(*(publish(database, {OBJECT: codes}) for codes in policies))
    assert sorted(published) == list(range(1, 11))
    assert (await stored(database)).objects["resource"]["GET /a"] in policies


async def test_a_reader_sees_one_whole_policy_while_another_is_published(database: Database) -> None:
    async def read() -> tuple[int, set[str]]:
        async with database.snapshot() as connection:
            latest = await policy_revisions.latest(connection)
            assert latest is not None
            objects = (await connection.run_sync(casbin_rule.stored)).objects
            return latest.revision, {code for codes in objects["resource"].values() for code in codes}

    def of_all(code: str) -> Changed:
        return {("resource", f"GET /{number}"): (code,) for number in range(50)}

    async def follow() -> None:
        while not done.is_set():
            revision, words = await read()
            assert words == {str(revision)}

    done = asyncio.Event()
    await publish(database, of_all("1"))
    follower = asyncio.create_task(follow())
    for revision in range(2, 12):
        await publish(database, of_all(str(revision)))
    done.set()
    await follower


async def test_a_server_that_freezes_during_publishing_is_unavailable(fragile: EmbeddedStores) -> None:
    async def freeze_half_way() -> None:
        async with asyncio.timeout(10), database.transaction() as connection:
            await connection.execute(text("SELECT 1"))
            fragile.postgres.pause()
            await casbin_rule._copy(connection, many)

    migrate(fragile.database_url, ())
    database, patient = Database(fragile.database_url, timeout=0.8), Database(fragile.database_url)
    many = [("resource", "x" * 100, "a")] * 100_000
    try:
        with pytest.raises(Unavailable):
            await freeze_half_way()
    finally:
        fragile.postgres.resume()
    assert await publish(patient, {}) == 1
    await patient.close()
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
        by_request = {
            f"{resource.method} {resource.path}": resource.buttons
            for resource in await bindings.bound(connection)
        }
    assert by_request["GET /api/role/list"] == (
        BoundButton("system:role:list", enabled=True),
        BoundButton("system:user:create", enabled=False),
        BoundButton("system:user:update", enabled=True),
    )
    assert by_request["POST /api/user"] == (BoundButton("system:user:create", enabled=False),)
    assert by_request["GET /api/user/info"] == ()
    assert "GET /api/menu/list" not in by_request
