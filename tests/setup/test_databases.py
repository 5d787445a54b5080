"""A database that tests have used is as new for the next one, or is not used again."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from service.features.embedded.stores import EmbeddedStores
from tests.support.cases import with_each
from tests.support.databases import database
from tests.support.recycled import Recycled

EVERYTHING = """
SELECT 'user', to_jsonb(u)::text FROM sys.user u
UNION ALL SELECT 'role', to_jsonb(r)::text FROM sys.role r
UNION ALL SELECT 'menu', to_jsonb(m)::text FROM sys.menu m
UNION ALL SELECT 'role_menu', to_jsonb(m)::text FROM sys.role_menu m
UNION ALL SELECT 'sequence ' || sequencename, last_value::text FROM pg_sequences
ORDER BY 1, 2
"""
ROLE = "INSERT INTO sys.role (role_name, role_name_key, role_code) VALUES ('x', 'x', 'x') RETURNING id"

MADE = """
SELECT oid::regclass::text FROM pg_class WHERE oid >= 16384
UNION ALL SELECT nspname FROM pg_namespace WHERE oid >= 16384
UNION ALL SELECT proname FROM pg_proc WHERE oid >= 16384
"""
"""What somebody has made in a database."""

MANY_USERS = """
INSERT INTO sys.user (user_name, user_name_key, nick_name, password_hash)
SELECT i, i, i, repeat('x', 900) FROM generate_series(1, 6000) AS i; DELETE FROM sys.user WHERE id > 1
"""
"""Dead rows, by which scans of the next test would be slow."""


@pytest.fixture(scope="module")
def template(stores: EmbeddedStores, seeded_template: str) -> Iterator[str]:
    """A template that no other module copies: which of its copies is used again is known."""
    name = f"{seeded_template}_of_this_module"
    with psycopg.connect(stores.url_of("postgres", administrator=True), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {seeded_template}".encode())
        yield name
        connection.execute(f"DROP DATABASE {name}".encode())


def number_of(url: str) -> int:
    """Return the number that PostgreSQL has for the database: a new one has a new number."""
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT oid FROM pg_database WHERE datname = current_database()").fetchone()
    assert row is not None
    return int(row[0])


def test_a_database_is_used_again_with_the_rows_and_the_next_ids_of_its_template(
    stores: EmbeddedStores, template: str
) -> None:
    with database(stores, template) as url, psycopg.connect(url) as connection:
        before = connection.execute(EVERYTHING).fetchall()
        first_id = connection.execute(ROLE).fetchone()
        connection.execute("DELETE FROM sys.role_menu")
        connection.execute("UPDATE sys.user SET nick_name = 'changed', version = version + 1")
        connection.commit()
        number = number_of(url)
    with database(stores, template) as again, psycopg.connect(again) as connection:
        assert (number_of(again), again == url) == (number, False)
        assert connection.execute(EVERYTHING).fetchall() == before
        assert connection.execute(ROLE).fetchone() == first_id


@pytest.fixture(scope="module")
def changed(stores: EmbeddedStores, template: str) -> Iterator[tuple[Recycled, psycopg.Connection[Any]]]:
    """Copies of the template, and a connection of the administrator to one of them."""
    name = f"{template}_changed"
    with (
        database(stores, template, name),
        psycopg.connect(stores.url_of(name, administrator=True), autocommit=True) as connection,
    ):
        copies = Recycled(stores)
        copies.made(name)
        yield copies, connection


@with_each(
    "change",
    [
        "ALTER TABLE sys.user ADD COLUMN height integer",
        "CREATE TABLE public.left_over (id integer)",
        "CREATE INDEX left_over ON sys.user (nick_name)",
        "ALTER TABLE sys.role DISABLE TRIGGER ALL",
        "CREATE SCHEMA left_over",
        "CREATE FUNCTION public.left_over() RETURNS integer LANGUAGE sql RETURN 1",
        "ALTER TABLE sys.user ALTER COLUMN nick_name DROP NOT NULL",
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET work_mem = 64', current_database()); END $$",
        "ANALYZE sys.user",
    ],
)
def test_a_database_that_has_more_than_other_rows_is_not_restored(
    changed: tuple[Recycled, psycopg.Connection[Any]], change: str
) -> None:
    copies, connection = changed
    with connection.transaction(force_rollback=True):
        assert copies.restored(connection, {})
        connection.execute(change.encode())
        assert not copies.restored(connection, {})


def test_a_database_that_has_grown_too_large_is_not_used_again(stores: EmbeddedStores, template: str) -> None:
    with database(stores, template) as url:
        with psycopg.connect(url) as connection:
            connection.execute(MANY_USERS.encode())
        number = number_of(url)
    with database(stores, template) as another:
        assert number_of(another) != number


def test_an_empty_database_is_used_again_and_is_empty(stores: EmbeddedStores) -> None:
    with database(stores) as url, psycopg.connect(url) as connection:
        connection.execute("CREATE SCHEMA left_over CREATE TABLE things (id serial PRIMARY KEY)")
        connection.execute("CREATE FUNCTION public.left_over() RETURNS integer LANGUAGE sql RETURN 1")
        connection.commit()
        number = number_of(url)
    with database(stores) as again, psycopg.connect(again) as connection:
        assert (number_of(again), again == url) == (number, False)
        assert connection.execute(MADE).fetchall() == []


def test_what_goes_on_after_its_test_is_cut_off(stores: EmbeddedStores, template: str) -> None:
    with database(stores, template) as url:
        late = psycopg.connect(url)
    with late, pytest.raises(psycopg.OperationalError):
        late.execute("SELECT 1")
    with (
        database(stores, template),
        pytest.raises(psycopg.OperationalError, match="does not exist"),
    ):
        psycopg.connect(url)


READ = (
    "SELECT * FROM sys.role ORDER BY id",
    "SELECT * FROM sys.user_role ORDER BY 1, 2",
    "SELECT last_value, is_called FROM sys.role_id_seq",
)


def rows(url: str) -> list[list[tuple[object, ...]]]:
    with psycopg.connect(url) as connection:
        return [connection.execute(query.encode()).fetchall() for query in READ]


@with_each(
    "change",
    [
        "UPDATE sys.role SET description = 'changed' WHERE id = 1",
        "DELETE FROM sys.user_role",
        "INSERT INTO sys.role (role_name, role_name_key, role_code) VALUES ('new', 'new', 'new')",
        "SELECT nextval('sys.role_id_seq')",
        "TRUNCATE sys.user_role",
        "ALTER TABLE sys.role DROP COLUMN description",
    ],
)
def test_rows_that_a_test_has_changed_are_back_for_the_next(
    stores: EmbeddedStores, seeded_template: str, change: str
) -> None:
    for _ in range(2):  # from then on it is known how much is written to it
        with database(stores, seeded_template):
            pass
    with database(stores, seeded_template) as url:
        before = rows(url)
        with psycopg.connect(url) as connection:
            connection.execute(change.encode())
        assert rows(url) != before

    for _ in range(2):  # the second finds what the first has put back, and leaves it
        with database(stores, seeded_template) as url:
            assert rows(url) == before
