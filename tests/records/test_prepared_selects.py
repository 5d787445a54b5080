import asyncio
from collections.abc import AsyncIterator
from typing import Any, Final

import psycopg
import pytest
from sqlalchemy import (
    ARRAY,
    BigInteger,
    Column,
    MetaData,
    Numeric,
    Table,
    Text,
    any_,
    bindparam,
    select,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from service.errors import Unavailable
from service.features.embedded.stores import EmbeddedStores
from service.records.database.row_mapper import PreparedSelect, compiled_of
from service.records.database.transactions import SINGLE_READS, Database
from tests.support.cases import with_each

KEPT = Table("kept", MetaData(), Column("id", BigInteger), Column("word", Text))
OTHER = Table("other", MetaData(), Column("facts", JSONB), Column("price", Numeric))
BY_ID: Final = PreparedSelect(
    select(KEPT.c.id, KEPT.c.word).where(KEPT.c.id == bindparam("id", type_=BigInteger())), tuple
)
SOME: Final = PreparedSelect(
    select(KEPT.c.id, KEPT.c.word)
    .where(KEPT.c.id == any_(bindparam("ids", type_=ARRAY(BigInteger()))), KEPT.c.word != "100%")
    .order_by(KEPT.c.id.desc()),
    tuple,
)
SHORT: Final = PreparedSelect(select(text("1, pg_sleep(0.3)")), tuple)
SLOW: Final = PreparedSelect(select(text("1, pg_sleep(30)")), tuple)


@pytest.fixture
async def database(empty_database_url: str) -> AsyncIterator[Database]:
    async with Database(empty_database_url) as opened:
        async with opened.transaction() as connection:
            await connection.execute(text("CREATE TABLE kept (id bigint, word text)"))
            await connection.execute(text("INSERT INTO kept VALUES (1, 'one'), (2, 'two'), (3, '100%')"))
        yield opened


async def test_a_select_finds_the_same_in_a_transaction_and_by_itself(database: Database) -> None:
    async def both(*ids: int) -> list[list[tuple[Any, ...]]]:
        async with database.transaction() as connection:
            return [await SOME.all(source, ids=list(ids)) for source in (connection, database)]

    assert await both(1, 2, 3) == [[(2, "two"), (1, "one")]] * 2
    assert await both() == [[], []]
    assert await BY_ID.one_or_none(database, id=4) is None


async def test_a_select_by_itself_sees_what_is_committed_only(database: Database) -> None:
    async with database.transaction() as connection:
        await connection.execute(text("UPDATE kept SET word = 'uno' WHERE id = 1"))
        assert await BY_ID.one_or_none(connection, id=1) == (1, "uno")
        assert await BY_ID.one_or_none(database, id=1) == (1, "one")
    assert await BY_ID.one_or_none(database, id=1) == (1, "uno")


@with_each(
    "statement",
    [
        select(OTHER.c.facts),
        select(OTHER.c.price),
        select(KEPT.c.id).where(KEPT.c.id.in_(bindparam("ids", expanding=True))),
        select(KEPT.c.id).where(OTHER.c.facts == bindparam("facts", type_=JSONB())),
    ],
)
async def test_a_select_that_sqlalchemy_must_convert_is_refused(statement: Any) -> None:
    with pytest.raises(TypeError, match="needs SQLAlchemy"):
        compiled_of(statement)


async def test_a_select_of_one_row_that_finds_several_raises(database: Database) -> None:
    with pytest.raises(ValueError, match="several"):
        await SOME.one_or_none(database, ids=[1, 2])


async def test_a_column_that_gets_another_type_goes_unnoticed(database: Database) -> None:
    for _ in range(SINGLE_READS):
        assert await BY_ID.one_or_none(database, id=1) == (1, "one")
    async with database.transaction() as connection:
        await connection.execute(text("ALTER TABLE kept ALTER word TYPE varchar(9)"))
    assert await BY_ID.one_or_none(database, id=1) == (1, "one")


async def test_a_missing_table_is_unavailable(database: Database) -> None:
    async with database.transaction() as connection:
        await connection.execute(text("DROP TABLE kept"))
    with pytest.raises(Unavailable, match="lacks"):
        await BY_ID.one_or_none(database, id=1)


async def test_cancelled_selects_leave_the_others_as_many_connections_as_before(
    database: Database,
) -> None:
    slow = [asyncio.create_task(SLOW.all(database)) for _ in range(3 * SINGLE_READS)]
    await asyncio.sleep(0.1)
    for task in slow:
        task.cancel()
    ended = await asyncio.gather(*slow, return_exceptions=True)
    assert all(isinstance(end, asyncio.CancelledError) for end in ended)
    rows = await asyncio.gather(*(BY_ID.one_or_none(database, id=1) for _ in range(5 * SINGLE_READS)))
    assert rows == [(1, "one")] * (5 * SINGLE_READS)


async def test_a_select_ends_when_the_server_is_silent_and_works_once_it_answers(
    fragile: EmbeddedStores,
) -> None:
    prepared = PreparedSelect(select(text("1")), tuple)
    async with Database(fragile.database_url, timeout=0.8) as database:
        assert await prepared.all(database) == [(1,)]
        fragile.postgres.pause()
        try:
            ends = await asyncio.gather(*(prepared.all(database) for _ in range(8)), return_exceptions=True)
        finally:
            fragile.postgres.resume()
        assert [type(end) for end in ends] == [Unavailable] * 8
        assert await prepared.all(database) == [(1,)]
        fragile.postgres.stop()
        with pytest.raises(Unavailable):
            await prepared.all(database)
        fragile.postgres.start()
        assert await prepared.all(database) == [(1,)]


async def test_a_database_known_to_be_emptied_is_not_read(database: Database) -> None:
    database.emptied = True
    with pytest.raises(Unavailable):
        await BY_ID.one_or_none(database, id=1)


async def test_a_select_that_outlasts_the_closing_of_the_database_leaves_no_connection(
    database: Database, empty_database_url: str
) -> None:
    others = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    with psycopg.connect(empty_database_url, autocommit=True) as connection:
        reading = asyncio.create_task(SHORT.all(database))
        await asyncio.sleep(0.1)
        await database.close()
        assert await reading == [(1, "")]
        for _ in range(100):
            if connection.execute(others).fetchone() == (0,):
                break
            await asyncio.sleep(0.05)
        else:
            pytest.fail("a connection is left")
