"""An erasure takes a person out of every table of the schema, and leaves only what the page names."""

from collections.abc import Iterator

import psycopg
import pytest

from service.audit.key_chain import Chain
from service.features.embedded.stores import EmbeddedStores
from service.features.personal_data import store_persons, store_tables
from service.features.personal_data.erasures import Passes
from service.features.personal_data.inventory import inventory
from service.records.database.transactions import Database
from tests.features.personal_data.searching import EMAIL, NAME, NICK, NUMBER, PHONE, Search, fill
from tests.support.databases import NewDatabase

SEALED = {(kept.table, name) for kept in inventory() for name in kept.sealed.split()}
RUNNING = {("erasure", name) for name in ("names", "searched", "pattern")}
ACCOUNT = (
    'INSERT INTO sys."user" (id, user_name, user_name_key, nick_name, email, phone)'
    " OVERRIDING SYSTEM VALUE VALUES (%s, %s, %s, %s, %s, %s)"
)


@pytest.fixture
def everywhere(
    stores: EmbeddedStores, new_database: NewDatabase, published_template: str
) -> Iterator[tuple[str, psycopg.Connection]]:
    """A database with the person in every table, and a superuser's connection to it."""
    url = new_database(published_template)
    name = str(psycopg.conninfo.conninfo_to_dict(url)["dbname"])
    with psycopg.connect(stores.url_of(name, administrator=True), autocommit=True) as connection:
        fill(connection)
        yield url, connection


async def ended(_login_id: str) -> None:
    """End no session: there is no store."""


async def test_an_erasure_leaves_only_what_a_seal_covers(
    everywhere: tuple[str, psycopg.Connection],
) -> None:
    url, connection = everywhere
    connection.execute(ACCOUNT, [NUMBER, NAME, NAME, NICK, EMAIL, PHONE])
    before = Search(connection).columns()
    expected = {
        (kept.table, name)
        for kept in inventory()
        for name in f"{kept.names} {kept.texts} {kept.sealed}".split()
        if kept.table != "user"
    }
    assert expected <= before, expected - before

    async with Database(url, pool_size=2) as database:
        async with database.transaction() as own:
            person = await store_persons.person(own, NUMBER)
            planned = await store_tables.all_held(own, person)
            await store_persons.begin(own, person, None)
        connection.execute('DELETE FROM sys."user" WHERE id = %s', [NUMBER])
        changed = await Passes(database, Chain(), ended).run(NUMBER)

        assert Search(connection).columns() - RUNNING <= SEALED
        assert changed
        targets = "SELECT CAST(entry AS jsonb) #> '{entry,targets}' FROM sys.log_set_aside"
        assert connection.execute(targets).fetchall() == [([f"user:#{NUMBER}"],)]
        counted = {each.table for each in planned if each.deleted or each.redacted}
        assert {table for table, _ in before - SEALED} <= counted | {"user"}
        assert await Passes(database, Chain(), ended).run(NUMBER) == 0

        connection.execute("UPDATE sys.erasure SET begin_time = now() - interval '10 minutes'")
        assert await Passes(database, Chain(), ended).run(NUMBER) == 0
        assert Search(connection).columns() <= SEALED
        async with database.snapshot() as own:
            assert await store_persons.running(own) == []


KEPT_ROWS = {
    "access_request": ("reason = 'other'", "user_name = 'eve'", "role_code = 'other'", "ended_by = '#4712'"),
    "review": ("title = 'other'", "author_name = 'eve'", "deadline = now()", "scope = '{}'"),
    "review_item": ("reason = NULL", "user_name = 'eve'", "outcome = 'revoked'", "given_by = '#4712'"),
    "policy_sign_off": ("note = 'other'", "user_name = 'eve'", "revision = 1"),
}


async def test_kept_rows_refuse_all_changes_but_those_of_a_running_erasure(
    everywhere: tuple[str, psycopg.Connection],
) -> None:
    url, connection = everywhere
    mark = {
        table: ("author_name" if table == "review" else "user_name") + " = '#4711'" for table in KEPT_ROWS
    }

    def refused(table: str, assignment: str) -> bool:
        try:
            with connection.transaction(force_rollback=True):
                connection.execute(f"UPDATE sys.{table} SET {assignment}".encode())
        except psycopg.errors.RaiseException:
            return True
        return False

    def all_refused(*, running: bool) -> list[str]:
        tried = {(table, each) for table, listed in KEPT_ROWS.items() for each in listed}
        return sorted(
            f"{table}: {each}"
            for table, each in tried | {*mark.items()}
            if not refused(table, each) and not (running and each == mark[table])
        )

    connection.execute(
        "UPDATE sys.erasure SET pattern = NULL, names = NULL, searched = NULL, end_time = now()"
    )
    assert all_refused(running=False) == []
    async with Database(url, pool_size=2) as database, database.transaction() as own:
        await store_persons.begin(own, await store_persons.person(own, NUMBER), None)
    assert all_refused(running=True) == []
    assert not any(refused(*each) for each in mark.items())
