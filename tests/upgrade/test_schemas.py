"""All ways to today's schema lead to the same: a new database, all steps, and each kept installation.

Also after a process that makes or migrates the schema was killed in the middle.
"""

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import text

from service.features.embedded.stores import EmbeddedStores
from service.records.database.transactions import engine
from service.records.installation.migrate import migrate, prepare
from service.records.installation.schema_revision import expected_schema, record_support, schema_standing
from service.records.migrations.running import upgrade
from tests.support.databases import NewDatabase, database
from tests.support.forks import forks
from tests.support.schema_dump import dump_of, schema_of
from tests.support.unstarted import COVERED
from tests.support.waiting import eventually
from tests.upgrade.earlier import COMMITS, RELEASE, unpacked
from tests.upgrade.installations import restore, run_dump

NEWEST: Final = [*COMMITS][-1]
CHOSEN: Final = [
    pytest.param(name, marks=[] if name in (RELEASE, NEWEST) else [pytest.mark.extended]) for name in COMMITS
]
"""All kept installations; the usual run takes the oldest and the newest, with the steps of those between."""


@pytest.fixture(scope="module")
def new_schema(stores: EmbeddedStores) -> Iterator[list[str]]:
    """The schema of a new database."""
    with database(stores) as url:
        migrate(url, ())
        yield schema_of(url)


def test_a_new_database_has_the_schema_and_the_rows_that_all_steps_lead_to(
    new_database: NewDatabase, new_schema: list[str]
) -> None:
    migrated, new = new_database(), new_database()
    with engine(migrated).begin() as connection:
        connection.execute(text("CREATE SCHEMA sys"))
        record_support(connection, upgrade(connection))
    migrate(new, ())
    assert schema_of(migrated) == new_schema
    assert rows_of(migrated) == rows_of(new) != {}


def rows_of(url: str) -> dict[str, int]:
    """Return the number of rows of each table that has any, with the facts that must be alike in the name."""
    with engine(url).connect() as connection:
        tables = connection.execute(text(TABLES)).scalars()
        counts = {
            each: connection.execute(text(f"SELECT count(*) FROM {each}")).scalar_one() for each in tables
        }
        standing = schema_standing(connection)
    return {each: count for each, count in counts.items() if count} | {repr(standing): 1}


def restored(url: str, new_database: NewDatabase, dump: Path) -> list[str]:
    """Return the schema of a copy that is made by a dump, which drops parentheses of conditions."""
    dump.write_text(dump_of(url))
    copy = new_database()
    run_dump(dump, copy)
    return schema_of(copy)


@pytest.mark.parametrize("name", CHOSEN)
def test_a_kept_installation_gets_the_schema_of_a_new_database(
    new_database: NewDatabase, tmp_path: Path, name: str
) -> None:
    kept, url = unpacked(name, tmp_path), new_database()
    restore(kept, url)
    with engine(url).connect() as connection:
        users = connection.execute(USERS).all()
    assert migrate(url, ()) is (kept.facts.schema != expected_schema())
    new = new_database()
    migrate(new, ())
    assert restored(url, new_database, tmp_path / "kept.sql") == restored(
        new, new_database, tmp_path / "new.sql"
    )
    with engine(url).connect() as connection:
        assert connection.execute(USERS).all() == users
        assert len(users) == kept.facts.counts["users"]


TABLES: Final = """
SELECT oid::regclass::text FROM pg_class WHERE relkind = 'r' AND relnamespace = 'sys'::regnamespace
"""
USERS: Final = text('SELECT id, user_name, password_hash, email, status, version FROM sys."user" ORDER BY id')

HOLD: Final = """
SELECT pg_advisory_lock(1);
CREATE FUNCTION public.hold() RETURNS event_trigger LANGUAGE plpgsql SET lock_timeout = 0 AS $$
BEGIN
    IF EXISTS (SELECT FROM pg_event_trigger_ddl_commands() WHERE object_identity = 'sys.review') THEN
        PERFORM pg_advisory_xact_lock(1);
    END IF;
END $$;
CREATE EVENT TRIGGER hold ON ddl_command_end EXECUTE FUNCTION public.hold()
"""
HELD: Final = """
SELECT FROM pg_locks JOIN pg_database ON pg_database.oid = database AND datname = current_database()
WHERE locktype = 'advisory' AND objid = 1 AND NOT granted
"""
IN_WORK: Final = """
SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
    AND state <> 'idle' AND backend_type = 'client backend'
"""


def start(url: str) -> None:
    """Make or migrate the schema, as the first step of a start does."""
    prepare(url, lambda: "hash", COVERED, ())


def kill_in_the_middle(stores: EmbeddedStores, url: str) -> None:
    """Kill a start while it makes the table of reviews; return when its transaction has ended."""
    name = conninfo_to_dict(url)["dbname"]
    with psycopg.connect(stores.url_of(str(name), administrator=True), autocommit=True) as administrator:
        administrator.execute(HOLD)
        process = forks().Process(target=start, args=(url,))
        process.start()
        assert eventually(lambda: administrator.execute(HELD).fetchone() is not None)
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        administrator.execute("SELECT pg_advisory_unlock(1)")
        assert eventually(lambda: administrator.execute(IN_WORK).fetchone() is None)
        administrator.execute("DROP EVENT TRIGGER hold")
        administrator.execute("DROP FUNCTION public.hold")


@pytest.mark.parametrize("name", [RELEASE, pytest.param("8879af6", marks=pytest.mark.extended)])
def test_a_migration_that_is_killed_in_the_middle_changes_nothing_and_the_next_start_completes_it(
    stores: EmbeddedStores, empty_database_url: str, tmp_path: Path, new_schema: list[str], name: str
) -> None:
    restore(unpacked(name, tmp_path), empty_database_url)
    before = schema_of(empty_database_url)
    kill_in_the_middle(stores, empty_database_url)
    assert schema_of(empty_database_url) == before
    start(empty_database_url)
    assert schema_of(empty_database_url) == new_schema


def test_a_first_start_that_is_killed_in_the_middle_leaves_nothing_and_the_next_one_completes_it(
    stores: EmbeddedStores, empty_database_url: str, new_schema: list[str]
) -> None:
    before = schema_of(empty_database_url)
    kill_in_the_middle(stores, empty_database_url)
    assert schema_of(empty_database_url) == before
    start(empty_database_url)
    assert schema_of(empty_database_url) == new_schema
