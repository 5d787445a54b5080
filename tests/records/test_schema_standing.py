"""Which schemas this version starts on: its own, and newer ones that say that it may."""

from __future__ import annotations

from argparse import Namespace

import pytest
from sqlalchemy import Connection, text

from service import __version__
from service.cli.database import COMMANDS
from service.records import migrate as migrations
from service.records.database.transactions import engine
from service.records.migrate import Prepared, migrate, prepare
from service.records.pending_steps import pending_migration
from service.records.schema_revision import SchemaError, is_older, require_current
from service.records.seed_catalogue import Additions
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
    return prepare(url, lambda: pytest.fail("nothing is seeded"), COVERED, migrates=migrates)


@pytest.mark.parametrize("migrates", [True, False])
def test_a_newer_schema_that_this_version_can_work_with_is_left_as_it_is(
    seeded_database_url: str, *, migrates: bool
) -> None:
    migrated_by_a_newer_version(seeded_database_url, __version__)
    assert start(seeded_database_url, migrates=migrates) == NOTHING
    assert migrate(seeded_database_url) is False
    require_current(seeded_database_url)
    assert pending_migration(seeded_database_url).steps == ()
    with engine(seeded_database_url).connect() as connection:
        assert connection.execute(text("SELECT version_num FROM sys.alembic_version")).scalar_one() == "v9001"


def test_a_newer_schema_that_needs_a_newer_version_is_refused_with_both_versions_and_what_to_do(
    seeded_database_url: str,
) -> None:
    migrated_by_a_newer_version(seeded_database_url, "9.0.2")
    for step in (start, migrate, require_current, pending_migration):
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


@pytest.mark.parametrize(("schema", "is_told"), [("v0015", True), ("v0028", False)])
def test_a_check_says_whether_the_version_before_could_start_again(
    seeded_database_url: str, capsys: pytest.CaptureFixture[str], schema: str, *, is_told: bool
) -> None:
    execute(seeded_database_url, f"UPDATE sys.alembic_version SET version_num = '{schema}'")
    secret = "kX7-Qw2zPv9_LrT4mNb8sYc1HjD6gUfEoAi3ZxKlVtR"
    environ = {"PORTCULLIS_CONFIG": "", "DATABASE_URL": seeded_database_url, "JWT_SECRET": secret}
    assert COMMANDS["check"][1](Namespace(), environ | {"REDIS_URL": "redis://127.0.0.1:1"}) == 3
    assert ("starts on its own schema alone" in capsys.readouterr().out) is is_told


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
    migrate(empty_database_url)
    assert prepare(empty_database_url, lambda: "hash", COVERED, migrates=False).new


def test_a_migration_gives_up_a_table_that_others_hold_and_says_so(
    empty_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed_database(empty_database_url)
    execute(empty_database_url, "UPDATE sys.alembic_version SET version_num = 'v0020'")
    attempts = []

    def upgrade(connection: Connection, _scripts: str) -> str:
        attempts.append(1)
        connection.execute(text("ALTER TABLE sys.role ADD COLUMN remark text"))
        return "0.2.0"

    monkeypatch.setattr("service.records.migrations.running.upgrade", upgrade)
    monkeypatch.setattr(migrations, "LOCK_WITHIN", 0.05)
    monkeypatch.setattr(migrations, "LOCK_ATTEMPTS", 3)
    monkeypatch.setattr(migrations, "LOCK_PAUSE", 0.0)
    with engine(empty_database_url).connect() as report:
        report.execute(text("SELECT count(*) FROM sys.role"))
        with pytest.raises(SchemaError, match="another transaction holds it"):
            migrate(empty_database_url)
    assert len(attempts) == 3
    assert migrate(empty_database_url) is True  # the report has ended


@pytest.mark.parametrize(
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
