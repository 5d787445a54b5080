"""Whether the database can be read and written, as the readiness check finds out."""

from collections.abc import AsyncIterator

import psycopg
import pytest

from service.records.database.server_facts import database_health
from service.records.database.transactions import Database
from service.records.published import policy_workers


@pytest.fixture
async def database(seeded_database_url: str) -> AsyncIterator[Database]:
    async with Database(seeded_database_url) as database:
        yield database


def tell(url: str, statement: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement.encode())


def name_of(url: str) -> str:
    with psycopg.connect(url) as connection:
        return connection.info.dbname


async def test_a_seeded_database_is_up_and_tells_its_version(database: Database) -> None:
    health = await database_health(database, "worker")
    assert health.state == "up"
    assert (health.details["standby"], health.details["missing"]) == (False, [])
    assert int(health.details["version"].split(".")[0]) >= 17


async def test_a_database_that_refuses_writes_is_read_only(
    database: Database, seeded_database_url: str
) -> None:
    tell(
        seeded_database_url,
        f"ALTER DATABASE {name_of(seeded_database_url)} SET default_transaction_read_only = on",
    )
    assert (await database_health(database, "worker")).state == "read_only"


async def test_a_database_whose_tables_are_gone_is_down(database: Database, seeded_database_url: str) -> None:
    tell(seeded_database_url, "DROP SCHEMA sys CASCADE")
    health = await database_health(database, "worker")
    assert health.state == "down"
    assert "sys.user" in health.details["missing"]


async def test_a_database_that_is_known_to_have_lost_its_rows_is_down(database: Database) -> None:
    database.emptied = True
    assert (await database_health(database, "worker")).state == "down"


async def test_the_row_of_the_worker_is_really_written(database: Database, seeded_database_url: str) -> None:
    async with database.transaction() as connection:
        await policy_workers.report(connection, "worker", 1, None, own_digest=None)
    tell(
        seeded_database_url,
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = 'disk_full'; END $$; "
        "CREATE TRIGGER refuse BEFORE UPDATE ON sys.policy_worker FOR EACH ROW EXECUTE FUNCTION refuse()",
    )
    with pytest.raises(Exception, match="is unavailable"):
        await database_health(database, "worker")
