from __future__ import annotations

import multiprocessing
import subprocess
import sys
from importlib import import_module
from multiprocessing.queues import SimpleQueue
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import CheckConstraint, inspect, text

from service.embedded import EmbeddedStores
from service.errors import Unavailable
from service.records.database.transactions import engine
from service.records.installation.migrate import _SCRIPTS, migrate, prepare
from service.records.installation.schema_revision import expected_schema, known_schemas
from service.records.migrations import versions
from service.records.schema import metadata
from service.records.schema.base import SCHEMA
from tests.support.unstarted import COVERED

_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(["tests.support.command_imports"])


def _prepare(url: str, number: int, found_new: SimpleQueue[bool]) -> None:
    found_new.put(prepare(url, lambda: f"hash of {number}", COVERED, ()).new)


def test_four_processes_starting_at_once_on_an_empty_database_all_succeed(empty_database_url: str) -> None:
    found_new: SimpleQueue[bool] = _processes.SimpleQueue()
    starting = [
        _processes.Process(target=_prepare, args=(empty_database_url, number, found_new))
        for number in range(4)
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


def test_the_migrated_database_is_what_the_schema_describes(empty_database_url: str) -> None:
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
        connection.exec_driver_sql(import_module(f"{versions.__name__}.v0034_last_logins").LOGINS)
        rows = connection.exec_driver_sql(
            "SELECT user_name, last_login_time = now() - interval '2 days' FROM sys.user_login"
            ' LEFT JOIN sys."user" ON id = user_id'
        )
        assert [tuple(row) for row in rows] == [("ada", True)]


GONE = "v0057_no_access_tasks"
REQUESTS = """
INSERT INTO sys.access_request (user_id, user_name, role_id, role_code, duration, asked_decision_id,
    stage_codes, stage_approvals, grant_needed, create_time, deadline)
    SELECT id, name, 7, 'auditor', 60, 'd', '{x:y}', '{1}', false, now(), now() + interval '1 hour'
    FROM (VALUES (1, 'by_service'), (2, 'by_herself')) AS author (id, name);
INSERT INTO sys.access_task SELECT 'random', id, 9, 'gateway', '', 'digest'
    FROM sys.access_request WHERE user_name = 'by_service';
"""


def test_requests_that_services_have_made_in_the_name_of_persons_end(empty_database_url: str) -> None:
    migrate(empty_database_url, ())
    before, step = (import_module(f"{versions.__name__}.{name}") for name in ("v0049_access_tasks", GONE))
    with engine(empty_database_url).begin() as connection:
        for statement in (before.TABLE, REQUESTS, step.PENDING, step.TABLE):
            connection.exec_driver_sql(statement)
        rows = connection.exec_driver_sql(
            "SELECT user_name, state FROM sys.access_request ORDER BY user_name"
        )
        assert [tuple(row) for row in rows] == [("by_herself", "pending"), ("by_service", "failed")]


CONTROL = "v0063_account_control"
BEHIND = """
INSERT INTO sys."user" (user_name, user_name_key, nick_name) VALUES ('boss', 'boss', 'boss');
INSERT INTO sys."user" (user_name, user_name_key, nick_name, password_hash, made_by)
    SELECT name, name, name, hash, maker FROM (VALUES ('ann', 'x', 1), ('bob', NULL, 1), ('cid', 'x', 1),
        ('own', 'x', NULL)) AS made (name, hash, maker);
INSERT INTO sys.directory_account (source, issuer, subject, user_id, managed)
    SELECT 'entra', '', user_name, id, user_name = 'cid' FROM sys."user" WHERE user_name IN ('cid', 'ann');
INSERT INTO sys.account_token (digest, purpose, user_id, email, created_by, expires_time)
    SELECT sha256(user_name::bytea), purpose, id, link.email, 1, now() + interval '1 hour'
    FROM sys."user" JOIN (VALUES ('bob', 'invitation', NULL), ('own', 'password_reset', 'a@b.example'))
        AS link (name, purpose, email) ON name = user_name;
INSERT INTO sys.review (title, scope, on_silence, apply, deadline, author_id, author_name, roles,
    policy_revision, create_time)
    VALUES ('Q4', '{}', 'keep', 'at_end', now(), 1, 'admin', '{}', 1, now());
INSERT INTO sys.review_takeover SELECT review.id, "user".id, 1 FROM sys.review, sys."user"
    WHERE user_name = 'own';
INSERT INTO sys.access_request (user_id, user_name, role_id, role_code, duration, asked_decision_id,
    stage_codes, stage_approvals, grant_needed, create_time, deadline)
    SELECT id, user_name, 7, 'auditor', 60, 'd', '{x:y}', '{1}', false, now(), now() FROM sys."user"
    WHERE user_name = 'ann';
INSERT INTO sys.access_request_exclusion (request_id, user_id, why)
    SELECT access_request.id, "user".id, why FROM sys.access_request, sys."user"
    JOIN (VALUES ('own', 'credentials'), ('bob', 'codes')) AS kept (name, why) ON name = user_name;
"""


def test_what_was_known_of_who_is_behind_whom_goes_on_counting(empty_database_url: str) -> None:
    step = import_module(f"{versions.__name__}.{CONTROL}")
    requests = import_module(f"{versions.__name__}.v0047_access_requests")
    takeovers = import_module(f"{versions.__name__}.v0052_review_takeovers")
    exclusions = requests.DECISIONS[requests.DECISIONS.index("CREATE TABLE sys.access_request_exclusion") :]
    migrate(empty_database_url, ())
    with engine(empty_database_url).begin() as connection:
        for statement in (exclusions, takeovers.TAKEOVERS, BEHIND):
            connection.exec_driver_sql(statement)
        for statement in (step.KNOWN, step.APPOINTED, step.LINKED, step.GONE):
            connection.exec_driver_sql(statement)
        edges = connection.exec_driver_sql(
            "SELECT holder.user_name, account.user_name, act FROM sys.account_control"
            ' JOIN sys."user" holder ON holder.id = holder_id'
            ' JOIN sys."user" account ON account.id = account_id ORDER BY 2, 1'
        )
        assert [tuple(row) for row in edges] == [
            ("boss", "ann", "made"),
            ("boss", "bob", "link"),
            ("ann", "own", "take_over"),
            ("boss", "own", "take_over"),
        ]
        appointed = connection.exec_driver_sql("SELECT count(*) FROM sys.access_request_appointee")
        assert appointed.scalar_one() == 1
        linked = connection.exec_driver_sql("SELECT linked_by FROM sys.directory_account ORDER BY subject")
        assert [row[0] for row in linked] == [[1], []]


def test_the_names_of_the_files_tell_the_revisions_and_the_newest_one() -> None:
    steps = ScriptDirectory(_SCRIPTS)
    assert known_schemas() == tuple(reversed([step.revision for step in steps.walk_revisions()]))
    assert expected_schema() == steps.get_current_head()


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
