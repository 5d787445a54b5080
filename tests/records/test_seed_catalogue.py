"""An upgraded database gets what a newer version brings, once."""

import secrets
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, text
from structlog.testing import capture_logs

from service.features.command_line.commands_database import COMMANDS
from service.kernel.permission_catalogue import CATALOGUE, permissions
from service.records.database.transactions import engine
from service.records.installation.migrate import Prepared, additions, migrate, prepare
from service.records.installation.seed_catalogue import Additions, bring, lacking, pending
from service.server.prepare import prepare_database
from service.settings import load
from tests.support.unstarted import COVERED, SHIPPED

NEW = "system:user:export"  # as if an older version had not known it


@pytest.fixture
def connection(shared_url: str) -> Iterator[Connection]:
    """A transaction in a seeded database, rolled back after the test."""
    with engine(shared_url).connect() as opened, opened.begin() as transaction:
        yield opened
        transaction.rollback()


def execute(connection: Connection, statement: str, **values: object) -> list[tuple[object, ...]]:
    done = connection.execute(text(statement), values)
    return [tuple(row) for row in done] if done.returns_rows else []


def delete_button(connection: Connection, code: str = NEW) -> None:
    subquery = "SELECT id FROM sys.menu WHERE auth_mark = :code"
    execute(connection, f"DELETE FROM sys.action_resource WHERE menu_id = ({subquery})", code=code)
    execute(connection, f"DELETE FROM sys.role_menu WHERE menu_id = ({subquery})", code=code)
    execute(connection, "DELETE FROM sys.menu WHERE auth_mark = :code", code=code)


def forget(connection: Connection, *codes: str) -> None:
    execute(connection, "DELETE FROM sys.seeded WHERE code = ANY(:codes)", codes=list(codes))


def never_had(connection: Connection) -> None:
    """Make the database one of a version without the code, its Button and its resource."""
    delete_button(connection)
    execute(connection, "DELETE FROM sys.resource WHERE resource_code = 'user.export'")
    forget(connection, NEW, "user.export")


def test_a_new_database_lacks_nothing(connection: Connection) -> None:
    assert pending(connection, COVERED, ()) == Additions()
    assert not pending(connection, COVERED, ())
    assert lacking(connection, ()) == []


def test_a_new_code_gets_its_button_below_its_page_and_its_resource(connection: Connection) -> None:
    never_had(connection)

    brought = bring(connection, COVERED, ())

    assert brought == Additions((NEW,), ("GET /api/user/export",), {"admin": (NEW,), "super": (NEW,)})
    placed = execute(
        connection,
        "SELECT parent.name, button.title, button.sort, button.bit_position IS NOT NULL FROM sys.menu button"
        " JOIN sys.menu parent ON parent.id = button.parent_id WHERE button.auth_mark = :code",
        code=NEW,
    )
    assert placed == [("user", "Export users", 8, True)]
    bound = execute(
        connection,
        "SELECT method, resource.path, auth_mark FROM sys.resource"
        " JOIN sys.action_resource ON resource_id = resource.id"
        " JOIN sys.menu ON menu_id = menu.id WHERE resource_code = 'user.export'",
    )
    assert bound == [("GET", "/api/user/export", NEW)]
    assert bring(connection, COVERED, ()) == Additions()


def test_what_an_operator_has_deleted_is_not_brought_again(connection: Connection) -> None:
    delete_button(connection)
    execute(connection, "DELETE FROM sys.resource WHERE resource_code = 'user.export'")

    assert bring(connection, COVERED, ()) == Additions()
    assert lacking(connection, ()) == [NEW]


def test_a_button_that_an_operator_has_made_stays_and_is_not_made_twice(connection: Connection) -> None:
    forget(connection, NEW)
    execute(connection, "UPDATE sys.menu SET title = 'Own' WHERE auth_mark = :code", code=NEW)

    assert bring(connection, COVERED, ()) == Additions()
    assert execute(connection, "SELECT title FROM sys.menu WHERE auth_mark = :code", code=NEW) == [("Own",)]


def test_a_disabled_button_counts_as_one_that_no_user_can_be_given(connection: Connection) -> None:
    execute(connection, "UPDATE sys.menu SET enabled = false WHERE auth_mark = :code", code=NEW)
    assert pending(connection, COVERED, ()) == Additions()
    assert lacking(connection, ()) == [NEW]


def test_without_its_page_a_new_button_stands_below_the_root_and_without_that_at_the_top(
    connection: Connection,
) -> None:
    never_had(connection)
    execute(connection, "UPDATE sys.menu SET name = 'mine' WHERE name = 'user'")
    bring(connection, COVERED, ())
    above = "SELECT name FROM sys.menu above WHERE above.id = button.parent_id"
    parent = f"SELECT ({above}) FROM sys.menu button WHERE auth_mark = :code"
    assert execute(connection, parent, code=NEW) == [("system",)]

    never_had(connection)
    execute(connection, "UPDATE sys.menu SET name = 'top' WHERE name = 'system'")
    bring(connection, COVERED, ())
    assert execute(connection, parent, code=NEW) == [(None,)]


def test_a_new_page_is_shown_to_the_roles_that_gain_it_and_to_no_others(connection: Connection) -> None:
    codes = [code for code in permissions(CATALOGUE) if code.startswith("system:file:")]
    for code in codes:
        delete_button(connection, code)
    execute(
        connection, "DELETE FROM sys.role_menu WHERE menu_id = (SELECT id FROM sys.menu WHERE name = 'file')"
    )
    execute(connection, "DELETE FROM sys.menu WHERE name = 'file'")
    forget(connection, "file", *codes)

    brought = bring(connection, COVERED, ())

    assert brought.codes == tuple(codes)
    shown = execute(
        connection,
        "SELECT role_code FROM sys.role_menu JOIN sys.role ON role.id = role_id"
        " WHERE menu_id = (SELECT id FROM sys.menu WHERE name = 'file') ORDER BY 1",
    )
    assert shown == [("admin",), ("super",)]


def test_a_resource_whose_codes_no_button_carries_is_not_registered(connection: Connection) -> None:
    """Bound to nothing it would be open to everybody who is logged in."""
    never_had(connection)
    execute(connection, "INSERT INTO sys.seeded (kind, code) VALUES ('button', :code)", code=NEW)

    bring(connection, COVERED, ())

    assert execute(connection, "SELECT id FROM sys.resource WHERE path = '/api/user/export'") == []


def test_a_resource_that_an_operator_has_registered_stays_as_it_is(connection: Connection) -> None:
    forget(connection, "user.detail")
    execute(
        connection,
        "UPDATE sys.resource SET resource_code = 'mine', path = '/api/user/{user}'"
        " WHERE resource_code = 'user.detail'",
    )

    assert bring(connection, COVERED, ()) == Additions()
    assert execute(connection, "SELECT path FROM sys.resource WHERE resource_code = 'mine'") == [
        ("/api/user/{user}",)
    ]


def test_a_start_brings_to_an_older_database_what_is_new_and_a_migration_only_tells(
    seeded_database_url: str,
) -> None:
    with engine(seeded_database_url).begin() as connection:
        never_had(connection)

    assert migrate(seeded_database_url, ()) is False
    planned = additions(seeded_database_url, COVERED, ())
    started = prepare(seeded_database_url, lambda: pytest.fail("no password is needed"), COVERED, ())
    again = prepare(seeded_database_url, lambda: pytest.fail("no password is needed"), COVERED, ())

    assert planned.codes == (NEW,)
    assert started == Prepared(new=False, additions=planned)
    assert again == Prepared(new=False, additions=Additions())


def test_a_database_that_was_never_seeded_is_told_nothing(empty_database_url: str) -> None:
    migrate(empty_database_url, ())
    assert additions(empty_database_url, COVERED, ()) == Additions()


def test_a_start_tells_the_log_and_a_migration_its_output_who_gains_what(
    seeded_database_url: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with engine(seeded_database_url).begin() as connection:
        never_had(connection)
    variables = {
        "PORTCULLIS_CONFIG": "",
        "PORTCULLIS_SERVER__DATA": str(tmp_path),
        "DATABASE_URL": seeded_database_url,
        "REDIS_URL": "redis://localhost:1",
        "JWT_SECRET": secrets.token_urlsafe(48),
    }

    _, migrate_database = COMMANDS["migrate"]
    assert migrate_database(Namespace(), variables) is None
    with capture_logs() as lines:
        prepare_database(load(variables), None, SHIPPED)

    assert capsys.readouterr().out.splitlines() == [
        "The database has this version's schema already.",
        f"The next start adds the Buttons of {NEW}.",
        "The next start registers GET /api/user/export.",
        f"The role admin gains by its wildcards: {NEW}.",
        f"The role super gains by its wildcards: {NEW}.",
    ]
    assert lines == [
        {
            "event": "this version has brought permissions",
            "log_level": "info",
            "codes": [NEW],
            "resources": ["GET /api/user/export"],
            "gained_by": {"admin": [NEW], "super": [NEW]},
        }
    ]
