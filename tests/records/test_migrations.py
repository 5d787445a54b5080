import subprocess
import sys
from importlib import import_module
from multiprocessing.queues import SimpleQueue
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import CheckConstraint, inspect, text

from service.errors import Unavailable
from service.features.embedded.stores import EmbeddedStores
from service.records.database.transactions import engine
from service.records.installation.migrate import migrate, prepare
from service.records.installation.schema_revision import expected_schema, known_schemas
from service.records.migrations import versions
from service.records.migrations.running import steps
from service.records.schema.all_tables import metadata
from service.records.schema.base import SCHEMA
from tests.support.forks import forks
from tests.support.unstarted import COVERED


def _prepare(url: str, number: int, found_new: SimpleQueue[bool]) -> None:
    found_new.put(prepare(url, lambda: f"hash of {number}", COVERED, ()).new)


def test_four_processes_starting_at_once_on_an_empty_database_all_succeed(empty_database_url: str) -> None:
    found_new: SimpleQueue[bool] = forks().SimpleQueue()
    starting = [
        forks().Process(target=_prepare, args=(empty_database_url, number, found_new)) for number in range(4)
    ]
    for process in starting:
        process.start()
    for process in starting:
        process.join()
    assert [process.exitcode for process in starting] == [0, 0, 0, 0]
    assert sorted(found_new.get() for _ in starting) == [False, False, False, True]
    with engine(empty_database_url).connect() as connection:
        assert connection.execute(text('SELECT count(*) FROM sys."user"')).scalar_one() == 1


def test_a_second_migration_finds_nothing_to_do(empty_database_url: str) -> None:
    assert migrate(empty_database_url, ()) is True
    assert migrate(empty_database_url, ()) is False


def comparable(name: str | None, kind: str, _parents: Any) -> bool:
    """Tell Alembic what the schema describes: everything but the partitions of its tables."""
    if kind == "schema":
        return name == SCHEMA
    return kind != "table" or name is None or not name.startswith(("operation_log_", "login_log_"))


def test_a_new_database_is_what_the_schema_describes(empty_database_url: str) -> None:
    migrate(empty_database_url, ())
    with engine(empty_database_url).connect() as connection:
        context = MigrationContext.configure(
            connection,
            opts={
                "include_schemas": True,
                "include_name": comparable,
                "version_table_schema": SCHEMA,
                "compare_server_default": True,
            },
        )
        assert compare_metadata(context, metadata) == []
        inspector = inspect(connection)
        for table in metadata.sorted_tables:
            constraints = table.constraints.union(*(column.constraints for column in table.columns))
            described = {check.name for check in constraints if isinstance(check, CheckConstraint)}
            built = {check["name"] for check in inspector.get_check_constraints(table.name, SCHEMA)}
            assert described == built, table.name


PUTS = """
INSERT INTO sys.resource (resource_name, resource_code, method, path, enabled) VALUES
    ('One user', 'one.user', 'PUT', '/api/user/7', true),
    ('Any menu', 'any.menu', 'PUT', '/api/menu/{menu}', false),
    ('Bindings', 'bindings', 'PUT', '/api/resource/{id}/buttons', true),
    ('Own', 'own', 'PUT', '/api/user/profile', true),
    ('Report', 'report', 'PUT', '/api/report/{id}', true),
    ('Any role', 'any.role', 'PUT', '/api/role/{id}', true),
    ('Guarded', 'guarded', 'PATCH', '/api/role/{role}', true);
INSERT INTO sys.menu (menu_type, title, auth_mark, bit_position) VALUES ('Button', 'B', 'x:y', 900);
INSERT INTO sys.action_resource (resource_id, menu_id)
    SELECT r.id, m.id FROM sys.resource r, sys.menu m WHERE r.method = 'PUT';
"""


def test_patches_are_guarded_by_what_guards_the_puts_of_the_same_records(empty_database_url: str) -> None:
    migrate(empty_database_url, ())
    with engine(empty_database_url).begin() as connection:
        connection.exec_driver_sql(PUTS)
        for _ in range(2):  # it finds nothing to do a second time
            connection.exec_driver_sql(import_module(f"{versions.__name__}.v0019_patches").GUARD)
        rows = connection.exec_driver_sql(
            "SELECT path, enabled, count(menu_id) FROM sys.resource LEFT JOIN sys.action_resource"
            " ON resource_id = id WHERE method = 'PATCH' GROUP BY id ORDER BY path"
        )
        assert [tuple(row) for row in rows] == [
            ("/api/menu/{menu}", False, 1),
            ("/api/role/{role}", True, 0),
            ("/api/user/7", True, 1),
        ]


LOGINS = """
INSERT INTO sys."user" (user_name, user_name_key, nick_name, password_hash)
    SELECT name, name, name, 'x' FROM unnest(ARRAY['ada', 'bob', 'eve']) name;
INSERT INTO sys.login_log (create_time, event_id, event, outcome, user_id)
    SELECT now() - age, gen_random_uuid(), event, outcome, coalesce(u.id, 4711)
    FROM (VALUES ('ada', interval '2 days', 'login', 'success'), ('ada', '9 days', 'login', 'success'),
        ('ada', '1 day', 'login', 'failure'), ('ada', '1 day', 'refresh', 'success'),
        ('bob', '40 days', 'login', 'success'), ('gone', '1 day', 'login', 'success'))
        AS entry (name, age, event, outcome)
    LEFT JOIN sys."user" u ON u.user_name = entry.name;
"""


def test_the_last_logins_of_the_month_before_are_brought_from_the_log(empty_database_url: str) -> None:
    migrate(empty_database_url, ())
    with engine(empty_database_url).begin() as connection:
        connection.exec_driver_sql(LOGINS)
        connection.exec_driver_sql(import_module(f"{versions.__name__}.v0065b_accounts").LOGINS)
        rows = connection.exec_driver_sql(
            "SELECT user_name, last_login_time = now() - interval '2 days' FROM sys.user_login"
            ' LEFT JOIN sys."user" ON id = user_id'
        )
        assert [tuple(row) for row in rows] == [("ada", True)]


KEYS = """
INSERT INTO sys."user" (user_name, user_name_key, nick_name) VALUES ('boss', 'boss', 'boss');
INSERT INTO sys."user" (user_name, user_name_key, nick_name, kind)
    VALUES ('robot', 'robot', 'robot', 'service');
INSERT INTO sys.api_key (user_id, key_name, hint, digest, created_by)
    SELECT robot.id, number, '', sha256(number::bytea), creator.id
    FROM sys."user" robot, sys."user" creator, unnest(ARRAY ['1', '2']) number
    WHERE robot.user_name = 'robot';
"""


def test_who_has_created_api_keys_controls_their_accounts(empty_database_url: str) -> None:
    migrate(empty_database_url, ())
    with engine(empty_database_url).begin() as connection:
        connection.exec_driver_sql(KEYS)
        connection.exec_driver_sql(import_module(f"{versions.__name__}.v0065b_accounts").KNOWN)
        edges = connection.exec_driver_sql(
            "SELECT holder.user_name, account.user_name, act FROM sys.account_control"
            ' JOIN sys."user" holder ON holder.id = holder_id'
            ' JOIN sys."user" account ON account.id = account_id'
        )
        assert [tuple(row) for row in edges] == [("boss", "robot", "key")]


def test_the_names_of_the_files_tell_the_revisions_and_the_newest_one() -> None:
    assert known_schemas() == tuple(reversed([step.revision for step in steps().walk_revisions()]))
    assert expected_schema() == steps().get_current_head()


def test_a_migrated_database_is_found_in_order_without_alembic(empty_database_url: str) -> None:
    program = (
        "import sys; from service.records.installation.migrate import migrate; "
        "print(migrate(sys.argv[1], ()), 'alembic' in sys.modules)"
    )
    migrate(empty_database_url, ())
    command = [sys.executable, "-c", program, empty_database_url]
    assert subprocess.check_output(command, text=True) == "False False\n"


def test_a_step_that_fails_leaves_the_database_as_it_was(empty_database_url: str) -> None:
    with engine(empty_database_url).begin() as connection:
        connection.execute(text("CREATE SCHEMA sys"))
        connection.execute(text("CREATE TABLE sys.login_log (in_the_way integer)"))
    with pytest.raises(Exception, match="login_log"):
        migrate(empty_database_url, ())
    with engine(empty_database_url).connect() as connection:
        assert inspect(connection).get_table_names(SCHEMA) == ["login_log"]


def test_a_seed_that_fails_leaves_the_database_as_it_was(empty_database_url: str) -> None:
    with pytest.raises(ZeroDivisionError):
        prepare(empty_database_url, lambda: str(1 // 0), COVERED, ())
    with engine(empty_database_url).connect() as connection:
        assert SCHEMA not in inspect(connection).get_schema_names()


def test_a_database_out_of_reach_is_unavailable(stores: EmbeddedStores) -> None:
    with pytest.raises(Unavailable):
        migrate(stores.url_of("no_such_database"), ())
