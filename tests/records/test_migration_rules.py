"""Migrations expand or contract, and say which versions can work with the result (docs/guides/upgrade.md)."""

import re
from collections.abc import Iterator

from alembic.script import Script

from service import __version__
from service.authz.engine.rules import LAYERS
from service.features.command_line.commands_database import _cells
from service.features.command_line.store_pending_steps import pending_migration, statements_of
from service.records.installation.schema_revision import LEAST_VERSION, is_older
from service.records.installation.table_locks import locks_of
from service.records.migrations import running
from service.records.migrations.running import declared_kind, declared_least, least_version_of
from tests.records.test_schema_standing import execute
from tests.support.cases import with_each

FIRST_DECLARED = "v0021"
RELEASED = "v0015"
"""The schema of the last release, 0.2.0."""

# What an older version may still read or write would be gone, renamed, or refused.
NARROWING = (
    r"\bDROP (?!INDEX|CONSTRAINT|NOT NULL|TRIGGER)\w+",
    r"\bRENAME\b",
    r"(?<!AFTER )(?<!')\bTRUNCATE\b",  # a trigger may watch for it
    r"\bSET NOT NULL\b",
    r"\bALTER (?:COLUMN )?\S+ (?:SET DATA )?TYPE\b",
    r"\bADD COLUMN (?:(?!DEFAULT)[^,;])* NOT NULL(?:(?!DEFAULT)[^,;])*[,;]",
    r"\bADD (?:CONSTRAINT \S+ )?(?:CHECK|UNIQUE|FOREIGN KEY|EXCLUDE)\b",
    r"\bCREATE UNIQUE INDEX\b",
)


def steps() -> list[Script]:
    return sorted(running.steps().walk_revisions(), key=lambda step: step.revision)


def never_released() -> set[str]:
    """Return the tables that no release has had: they may go at once."""
    later = [statements_of(step) for step in steps() if step.revision > RELEASED]
    return set(re.findall(r"CREATE TABLE (\S+)", " ".join(later)))


def narrowing(statements: str) -> Iterator[str]:
    """Yield what SQL ``statements`` take from older releases; new tables are nothing that these use."""
    line = " ".join(re.sub(r"--.*", "", statements).split())
    created = set(re.findall(r"CREATE TABLE (\S+)", line))
    unlocked = re.findall(r"ALTER TABLE (\S+) DROP CONSTRAINT \w+_pkey", line)
    for statement in line.split(";"):
        if (dropped := re.fullmatch(r" ?DROP TABLE (\S+) ?", statement)) and dropped[1] in never_released():
            continue
        if statement.strip().startswith("CREATE TABLE") or any(f" {name} " in statement for name in created):
            continue
        # In place of a primary key, an index over more columns refuses less.
        if re.match(rf" CREATE UNIQUE INDEX \S+ ON ({'|'.join(unlocked) or '$'}) ", statement):
            continue
        for pattern in NARROWING:
            if match := re.search(pattern, f"{statement};", re.IGNORECASE):
                yield match[0]


@with_each("step", [candidate for candidate in steps() if candidate.revision >= FIRST_DECLARED])
def test_a_migration_declares_its_kind_and_the_least_version(step: Script) -> None:
    before = [earlier for earlier in steps() if earlier.revision < step.revision]
    least = declared_least(step)
    assert least is not None
    if declared_kind(step) == "expand":
        assert list(narrowing(statements_of(step))) == []
        # What was new enough for the step before is new enough for one that only adds.
        assert least == (least_version_of(before) if declared_least(before[-1]) else "0.2.0")
    else:
        assert declared_kind(step) == "contract"
        assert is_older(least_version_of(before), least)
        assert not is_older(__version__, least)


@with_each(
    "statement",
    [
        "ALTER TABLE sys.role DROP COLUMN description",
        "ALTER TABLE sys.role RENAME COLUMN a TO b",
        "ALTER TABLE sys.role ALTER COLUMN a SET NOT NULL",
        "ALTER TABLE sys.role ALTER a TYPE bigint",
        "ALTER TABLE sys.role ADD COLUMN a integer NOT NULL, ADD COLUMN b integer DEFAULT 1",
        "ALTER TABLE sys.role ADD CONSTRAINT x CHECK (a > 0)",
        "CREATE UNIQUE INDEX x ON sys.role (a)",
        "DROP TABLE sys.role",
        "TRUNCATE sys.role",
    ],
)
def test_what_takes_something_from_older_versions_is_noticed(statement: str) -> None:
    assert list(narrowing(f"CREATE TABLE sys.new (a integer NOT NULL);\n{statement};"))


@with_each(
    "statement",
    [
        "ALTER TABLE sys.role ADD COLUMN a integer NOT NULL DEFAULT 0",
        "ALTER TABLE sys.role ADD COLUMN a integer",
        "CREATE TABLE sys.new (a integer NOT NULL CHECK (a > 0)); CREATE UNIQUE INDEX x ON sys.new (a)",
        "CREATE INDEX x ON sys.role (a)",
        "ALTER TABLE sys.role DROP CONSTRAINT role_pkey; CREATE UNIQUE INDEX x ON sys.role (a, b)",
        "ALTER TABLE sys.role ALTER COLUMN a DROP NOT NULL",
    ],
)
def test_what_only_adds_is_an_expansion(statement: str) -> None:
    assert not list(narrowing(f"{statement};"))


def test_a_new_database_needs_the_version_that_all_migrations_need() -> None:
    assert least_version_of(steps()) == LEAST_VERSION


def test_every_migration_can_be_told_as_sql() -> None:
    assert all(statements_of(step).strip() for step in steps())


def test_the_strongest_lock_that_statements_take_on_a_table_is_told() -> None:
    assert locks_of(
        "CREATE INDEX a_idx ON sys.a (x); -- ALTER TABLE sys.b\n"
        "ALTER TABLE sys.c\n  ADD COLUMN d integer REFERENCES sys.e (id);\n"
        "UPDATE sys.c SET d = 1; INSERT INTO sys.f (x) VALUES (1);"
    ) == {
        "sys.a": "SHARE",
        "sys.c": "ACCESS EXCLUSIVE",
        "sys.e": "SHARE ROW EXCLUSIVE",
        "sys.f": "ROW EXCLUSIVE",
    }


def test_pending_steps_name_tables_that_exist_with_their_locks_and_sizes(seeded_database_url: str) -> None:
    assert pending_migration(seeded_database_url, ()).steps == ()
    execute(
        seeded_database_url, "ANALYZE sys.resource", "UPDATE sys.alembic_version SET version_num = 'v0018'"
    )
    first, *rest, functions = pending_migration(seeded_database_url, ()).steps
    assert [first.revision, *(step.revision for step in rest)] == [
        step.revision for step in steps() if step.revision > "v0018"
    ]
    assert (first.kind, first.least_version) == (None, None)
    (resources,) = [lock for lock in first.locks if lock.table == "sys.resource"]
    assert resources.lock == "ROW EXCLUSIVE"
    assert resources.rows
    assert resources.size.endswith(" kB")
    assert rest[-1].kind == "expand"
    assert (functions.revision, functions.kind, functions.least_version) == (
        "functions.sql",
        "expand",
        LEAST_VERSION,
    )
    assert {"sys.role_menu": "SHARE ROW EXCLUSIVE"}.items() <= {
        lock.table: lock.lock for lock in functions.locks
    }.items()


def test_the_rows_of_a_table_that_was_never_analysed_are_not_known(seeded_database_url: str) -> None:
    execute(
        seeded_database_url,
        "CREATE TABLE sys.new AS SELECT generate_series(1, 10)",
        "DROP TABLE sys.resource CASCADE",
        "ALTER TABLE sys.new RENAME TO resource",
        "UPDATE sys.alembic_version SET version_num = 'v0018'",
    )
    (resources,) = [
        lock
        for step in pending_migration(seeded_database_url, ()).steps[:1]
        for lock in step.locks
        if lock.table == "sys.resource"
    ]
    assert resources.rows is None
    cells = dict(zip(("table", "lock", "rows", "size"), next(_cells([resources])), strict=True))
    assert cells["rows"] == "rows not known: never analysed (ANALYZE)"


COUNTED: list[str] = [
    *("resource", "endpoint", "grant", "permission", "service"),
    *("account", "assurance", "request", "approve", "review"),
]
"""The layers before the rule about their order."""


def test_a_new_layer_stands_where_nodes_of_the_version_before_look_for_it() -> None:
    assert list(LAYERS[: len(COUNTED)]) == COUNTED
    # They put the layers that they do not know behind the others, by name; the digest depends on the order.
    assert list(LAYERS[len(COUNTED) :]) == sorted(LAYERS[len(COUNTED) :])
