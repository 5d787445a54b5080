"""Which schemas this version starts on: its own, and newer ones that say that it may."""

import threading
from argparse import Namespace
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import psycopg
import pytest
from sqlalchemy import Connection, text

from service import __version__
from service.features.command_line.commands_database import COMMANDS
from service.features.command_line.store_pending_steps import pending_migration
from service.records.database.transactions import engine
from service.records.installation import migrate as migrations
from service.records.installation.migrate import Prepared, migrate, prepare
from service.records.installation.schema_revision import (
    SchemaError,
    expected_schema,
    is_older,
    record_support,
    require_current,
    schema_standing,
)
from service.records.installation.seed_catalogue import Additions
from tests.support.cases import with_each
from tests.support.seeded import seed_database
from tests.support.unstarted import COVERED

NOTHING = Prepared(new=False, additions=Additions())


def execute(url: str, *statements: str) -> None:
    with engine(url).begin() as connection:
        for statement in statements:
            connection.execute(text(statement))


def migrated_by_a_newer_version(url: str, least_version: str) -> None:
    """Leave the database as the migration of a version 9.1 would."""
    execute(
        url,
        "UPDATE sys.alembic_version SET version_num = 'v9001'",
        f"UPDATE sys.schema_support SET least_version = '{least_version}', migrated_by = '9.1.0'",
    )


def start(url: str, *, migrates: bool = True) -> Prepared:
    return prepare(url, lambda: pytest.fail("nothing is seeded"), COVERED, extensions=(), migrates=migrates)


@pytest.mark.parametrize("migrates", [True, False])
def test_a_newer_schema_that_this_version_can_work_with_is_left_as_it_is(
    seeded_database_url: str, *, migrates: bool
) -> None:
    migrated_by_a_newer_version(seeded_database_url, __version__)
    assert start(seeded_database_url, migrates=migrates) == NOTHING
    assert migrate(seeded_database_url, ()) is False
    require_current(seeded_database_url)
    assert pending_migration(seeded_database_url, ()).steps == ()
    with engine(seeded_database_url).connect() as connection:
        assert connection.execute(text("SELECT version_num FROM sys.alembic_version")).scalar_one() == "v9001"


def test_a_newer_schema_that_needs_a_newer_version_is_refused_with_both_versions_and_what_to_do(
    seeded_database_url: str,
) -> None:
    migrated_by_a_newer_version(seeded_database_url, "9.0.2")
    for step in (
        start,
        partial(migrate, extensions=()),
        require_current,
        partial(pending_migration, extensions=()),
    ):
        with pytest.raises(SchemaError) as refusal:
            step(seeded_database_url)
        assert str(refusal.value) == (
            "The database has schema v9001, made by version 9.1.0. It needs version 9.0.2 or later, and this "
            f"is {__version__}: start version 9.0.2 or later, or restore a backup from before version 9.1.0"
        )


def test_an_older_schema_is_for_a_backup_by_the_version_that_made_it(seeded_database_url: str) -> None:
    execute(
        seeded_database_url,
        "UPDATE sys.alembic_version SET version_num = 'v0020'",
        "UPDATE sys.schema_support SET migrated_by = '0.1.9'",
    )
    with pytest.raises(SchemaError, match=r"backup by the version that made its schema, 0\.1\.9, and start"):
        require_current(seeded_database_url)


@pytest.mark.parametrize("merged", ["v0031", "v0045", "v0065"])
def test_a_step_of_the_development_that_was_merged_is_refused_with_the_commit_that_migrates_it(
    seeded_database_url: str, merged: str
) -> None:
    execute(seeded_database_url, f"UPDATE sys.alembic_version SET version_num = '{merged}'")
    for step in (
        start,
        partial(start, migrates=False),
        partial(migrate, extensions=()),
        require_current,
        partial(pending_migration, extensions=()),
    ):
        with pytest.raises(SchemaError, match=rf"schema {merged}, .* of commit \w{{8}} once") as refusal:
            step(seeded_database_url)
        assert "Nothing was changed" in str(refusal.value)
    with engine(seeded_database_url).connect() as connection:
        assert connection.execute(text("SELECT version_num FROM sys.alembic_version")).scalar_one() == merged


def test_a_check_of_an_empty_database_tells_that_it_will_be_made(empty_database_url: str) -> None:
    (step,) = pending_migration(empty_database_url, ()).steps
    assert (step.revision, step.kind, step.locks) == (expected_schema(), "expand", ())
    assert migrate(empty_database_url, ()) is True
    assert pending_migration(empty_database_url, ()).steps == ()


@pytest.mark.parametrize(("schema", "is_told"), [("v0015", True), ("v0028", False)])
def test_a_check_says_whether_the_version_before_could_start_again(
    seeded_database_url: str, capsys: pytest.CaptureFixture[str], schema: str, *, is_told: bool
) -> None:
    execute(seeded_database_url, f"UPDATE sys.alembic_version SET version_num = '{schema}'")
    secret = "kX7-Qw2zPv9_LrT4mNb8sYc1HjD6gUfEoAi3ZxKlVtR"
    environ = {"PORTCULLIS_CONFIG": "", "DATABASE_URL": seeded_database_url, "JWT_SECRET": secret}
    assert COMMANDS["check"][1](Namespace(), environ | {"REDIS_URL": "redis://127.0.0.1:1"}) == 3
    assert ("starts on its own schema alone" in capsys.readouterr().out) is is_told


ROLE = "(SELECT id FROM sys.role ORDER BY id LIMIT 1)"
USER = """(SELECT id FROM sys."user" ORDER BY id LIMIT 1)"""
RESOURCE = "(SELECT id FROM sys.resource ORDER BY id LIMIT 1)"
APP = "INSERT INTO sys.user_factor (user_id, kind, factor_name, sealed_secret, confirm_time) VALUES"
RULE = """
    INSERT INTO sys.request_rule (role_id, requestable_by, stage_codes, stage_approvals, max_duration,
        pending_timeout, reason_required, grant_needed, emergency)
    VALUES ({role}, '@login', '{{a:b:c}}', '{{1}}', 60, 60, false, true, false)
"""
REVIEW = """
    INSERT INTO sys.review (title, scope, on_silence, apply, deadline, author_id, author_name, roles,
        policy_revision, create_time)
    VALUES ('yearly', '{}', 'keep', 'at_end', now(), 1, 'ada', '{}', 1, now())
"""
KEY = "INSERT INTO sys.api_key (user_id, key_name, hint, digest, created_by) VALUES"
OPENING = "INSERT INTO sys.opening (resource_id, code, end_time) VALUES"
FORMS = {
    "assignments with a beginning or an end": (
        "UPDATE sys.user_role SET valid_until = now() + interval '1 day'",
        "UPDATE sys.user_role SET valid_until = NULL",
    ),
    "second factors": (f"{APP} ({USER}, 'totp', 'phone', 'x', now())", "DELETE FROM sys.user_factor"),
    "initial passwords": (
        """UPDATE sys."user" SET password_initial = 'given'""",
        """UPDATE sys."user" SET password_initial = NULL""",
    ),
    "rules of requests for access": (RULE.format(role=ROLE), "DELETE FROM sys.request_rule"),
    "open reviews": (
        REVIEW,
        "UPDATE sys.review SET state = 'closed', close_time = now(), end_time = now()",
    ),
    "demands on authentication": (
        f"UPDATE sys.resource SET assurance = 'login' WHERE id = {RESOURCE}",
        "UPDATE sys.resource SET assurance = NULL WHERE assurance IS NOT NULL",
    ),
    "public access with an end": (
        f"{OPENING} ({RESOURCE}, '@login', date_trunc('second', now()))",
        "TRUNCATE sys.opening",
    ),
    "API keys of people": (
        f"{KEY} ({USER}, 'script', 'none', sha256('x'), 1)",
        "DELETE FROM sys.api_key",
    ),
}
VERSIONS = {"API keys of people": "0.4.0"}
"""Those that need another version than 0.3.0."""
"""How the first row of each form that older versions would misread comes, and how the last one goes."""
SETTLED = """UPDATE sys."user" SET password_initial = NULL"""
"""Of a seeded database: the first administrator has an initial password."""


def least(url: str) -> tuple[str, tuple[str, ...]]:
    with engine(url).connect() as connection:
        standing = schema_standing(connection)
    return standing.least_version or "", standing.forms


@pytest.mark.parametrize("form", FORMS)
def test_the_first_row_that_older_versions_misread_raises_the_least_version_and_the_last_lowers_it(
    seeded_database_url: str, form: str
) -> None:
    comes, goes = FORMS[form]
    assert least(seeded_database_url) == ("0.3.0", ("initial passwords",))
    execute(seeded_database_url, SETTLED)
    assert least(seeded_database_url) == ("0.2.0", ())
    execute(seeded_database_url, comes)
    assert least(seeded_database_url) == (VERSIONS.get(form, "0.3.0"), (form,))
    execute(seeded_database_url, goes)
    assert least(seeded_database_url) == ("0.2.0", ())


def test_an_app_without_a_code_yet_and_recovery_codes_alone_are_no_second_factor(
    seeded_database_url: str,
) -> None:
    execute(
        seeded_database_url,
        SETTLED,
        f"{APP} ({USER}, 'totp', 'phone', 'x', NULL), ({USER}, 'recovery_codes', 'codes', NULL, now())",
    )
    assert least(seeded_database_url) == ("0.2.0", ())
    execute(seeded_database_url, "UPDATE sys.user_factor SET confirm_time = now() WHERE kind = 'totp'")
    assert least(seeded_database_url) == ("0.3.0", ("second factors",))


def test_a_version_is_not_lowered_beside_a_writer_whose_rows_may_need_it(seeded_database_url: str) -> None:
    with engine(seeded_database_url).connect() as writer:
        writer.execute(text(FORMS["second factors"][0]))
        execute(seeded_database_url, SETTLED)  # the last row that this one sees
        assert least(seeded_database_url) == ("0.3.0", ())
        writer.commit()
    assert least(seeded_database_url) == ("0.3.0", ("second factors",))


def test_an_end_of_a_role_does_not_wait_for_a_writer_that_lowers_the_version(
    seeded_database_url: str,
) -> None:
    with engine(seeded_database_url).connect() as writer:
        writer.execute(text(SETTLED))
        execute(seeded_database_url, "SET LOCAL lock_timeout = 1000", "DELETE FROM sys.user_role")
        writer.commit()
    assert least(seeded_database_url) == ("0.2.0", ())


def test_a_migration_keeps_what_rows_need(seeded_database_url: str) -> None:
    with engine(seeded_database_url).begin() as connection:
        record_support(connection, "0.2.0")
    assert least(seeded_database_url)[0] == "0.3.0"
    with engine(seeded_database_url).begin() as connection:
        record_support(connection, "0.10.0")
    assert least(seeded_database_url) == ("0.10.0", ())


def test_a_newer_schema_that_names_no_version_is_refused(seeded_database_url: str) -> None:
    migrated_by_a_newer_version(seeded_database_url, "0")
    execute(seeded_database_url, "DROP TABLE sys.schema_support")
    with pytest.raises(SchemaError, match=r"schema v9001.*newer version"):
        start(seeded_database_url)


def test_a_start_without_migration_is_refused_on_an_older_schema_and_changes_nothing(
    empty_database_url: str,
) -> None:
    message = r"has schema \(none\).*portcullis db migrate"
    with pytest.raises(SchemaError, match=message):
        start(empty_database_url, migrates=False)
    with engine(empty_database_url).connect() as connection:
        assert connection.execute(text("SELECT to_regnamespace('sys')")).scalar_one() is None


def test_a_start_without_migration_seeds_a_database_that_was_migrated_before(empty_database_url: str) -> None:
    migrate(empty_database_url, ())
    assert prepare(empty_database_url, lambda: "hash", COVERED, extensions=(), migrates=False).new


def test_a_migration_gives_up_a_table_that_others_hold_and_says_so(
    empty_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed_database(empty_database_url)
    execute(empty_database_url, "UPDATE sys.alembic_version SET version_num = 'v0020'")
    attempts = []

    def upgrade(connection: Connection) -> str:
        attempts.append(1)
        connection.execute(text("ALTER TABLE sys.role ADD COLUMN remark text"))
        return "0.2.0"

    monkeypatch.setattr("service.records.migrations.running.upgrade", upgrade)
    monkeypatch.setattr(migrations, "LOCK_WITHIN", 0.05)
    monkeypatch.setattr(migrations, "LOCK_ATTEMPTS", 3)
    monkeypatch.setattr(migrations, "LOCK_PAUSE", 0.0)
    with engine(empty_database_url).connect() as report:
        report.execute(text("SET application_name = 'monthly report'"))
        pid = report.execute(text("SELECT pg_backend_pid() FROM sys.role LIMIT 1")).scalar_one()
        held = (
            rf"lock sys\.role in 3 attempts: process {pid} \(user \w+, monthly report, .*\) holds sys\.role\."
        )
        with pytest.raises(SchemaError, match=held):
            migrate(empty_database_url, ())
    assert len(attempts) == 1  # afterwards the table is tried before the work begins
    assert migrate(empty_database_url, ()) is True  # the report has ended


def test_a_migration_gets_its_tables_beside_requests_that_take_them_in_another_order(
    empty_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed_database(empty_database_url)
    execute(empty_database_url, "UPDATE sys.alembic_version SET version_num = 'v0020'")

    def upgrade(connection: Connection) -> str:
        tables = ('sys."user"', "sys.menu", "sys.file")
        connection.execute(text("".join(f"ALTER TABLE {each} ADD COLUMN w text;" for each in tables)))
        return "0.2.0"

    monkeypatch.setattr("service.records.migrations.running.upgrade", upgrade)
    monkeypatch.setattr(migrations, "LOCK_PAUSE", 0.1)
    monkeypatch.setattr(migrations, "LOCK_ATTEMPTS", 8)
    ended, begun = threading.Event(), threading.Barrier(4)

    def read() -> int:
        """Look at files, then at users, without a pause; return how often."""
        times = 0
        with psycopg.connect(empty_database_url, autocommit=True) as reader:
            begun.wait()
            while times == 0 or not ended.is_set():
                with reader.transaction():
                    reader.execute("SELECT FROM sys.file LIMIT 1")
                    reader.execute('SELECT FROM sys."user" LIMIT 1')
                times += 1
        return times

    with ThreadPoolExecutor(3) as requests:
        reading = [requests.submit(read) for _ in range(3)]
        begun.wait()
        try:
            assert migrate(empty_database_url, ()) is True
        finally:
            ended.set()
        assert min(each.result() for each in reading) > 0


@with_each(
    ("version", "than", "older"),
    [
        ("0.2.0", "0.3.0", True),
        ("0.9.0", "0.10.0", True),
        ("0.3", "0.3.0", False),
        ("0.3.0", "0.3", False),
        ("1.0.0rc1", "1.0.0", False),
        ("0.3.1", "0.3.0", False),
    ],
)
def test_versions_are_compared_by_their_numbers(version: str, than: str, *, older: bool) -> None:
    assert is_older(version, than) is older
