"""A table has the columns of the record that it stores, and what is said of it besides."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal
from uuid import UUID

import pytest
import sqlalchemy as sa
from msgspec import Struct
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.schema import CreateTable

from service.records.database.portions import delete_some, write_records
from service.records.database.row_mapper import RowMapper
from service.records.schema import base
from service.records.schema.base import filled, identity, table_of
from service.records.schema.installation import seeded


class Mooring(Struct, frozen=True, kw_only=True):
    """A record with fields of all kinds."""

    id: int
    berth: str
    side: Literal["port", "starboard"] | None
    lines: tuple[int, ...]
    crew: Sequence[str] | None
    since: datetime
    day: date | None
    event_id: UUID
    lit: bool
    seal: bytes
    facts: Mapping[str, Any]
    owner_name: str


@pytest.fixture(autouse=True)
def _apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the tables of these tests out of the schema of the service."""
    monkeypatch.setattr(base, "metadata", sa.MetaData(naming_convention=base.metadata.naming_convention))


def test_a_table_has_the_fields_of_its_record_with_what_is_said_of_them() -> None:
    table = table_of(
        Mooring, "mooring", identity(), filled("berth"), sa.Column("kept", sa.Text), without=("owner_name",)
    )

    created = CreateTable(table).compile(dialect=PGDialect_psycopg())  # type: ignore[no-untyped-call]
    lines = [line.strip("\t ,").partition(" ") for line in str(created).splitlines()]
    assert {name: rest for name, _, rest in lines if name in table.c} == {
        "id": "BIGINT GENERATED ALWAYS AS IDENTITY",
        "berth": "TEXT NOT NULL CONSTRAINT mooring_berth_check CHECK (berth <> '')",
        "kept": "TEXT",
        "side": "TEXT CONSTRAINT mooring_side_check CHECK (side IN ('port', 'starboard'))",
        "lines": "BIGINT[] NOT NULL",
        "crew": "TEXT[]",
        "since": "TIMESTAMP WITH TIME ZONE NOT NULL",
        "day": "DATE",
        "event_id": "UUID NOT NULL",
        "lit": "BOOLEAN NOT NULL",
        "seal": "BYTEA NOT NULL",
        "facts": "JSONB NOT NULL",
    }


class Vague(Struct):
    """A record whose columns nobody can tell."""

    value: Any


class Either(Struct):
    """As above."""

    value: int | str


class Nested(Struct):
    """As above."""

    value: list[Vague]


@pytest.mark.parametrize("record", [Vague, Either, Nested])
def test_a_field_that_says_no_column_stops_every_start(record: type) -> None:
    with pytest.raises(TypeError, match="has no column type"):
        table_of(record, "vague")
    assert table_of(record, "explicit", sa.Column("value", sa.Text)).columns.keys() == ["value"]


async def test_only_some_of_what_is_over_is_deleted_at_once(connection: AsyncConnection) -> None:
    codes = [f"test:{number}" for number in range(5)]
    await connection.execute(sa.insert(seeded), [{"kind": "button", "code": code} for code in codes])
    over = seeded.c.code.like("test:%") & (seeded.c.code != "test:3")

    assert await delete_some(connection, seeded, over, 3) == 3
    assert await delete_some(connection, seeded, over, 3) == 1
    assert await delete_some(connection, seeded, over, 3) == 0
    left = await connection.execute(sa.select(seeded.c.code).where(seeded.c.code.like("test:%")))
    assert [*left.scalars()] == ["test:3"]


class Note(Struct, frozen=True):
    """A record with values that a text could spoil."""

    words: str | None
    since: datetime | None
    day: date | None
    number: int
    lit: bool


async def test_records_that_are_written_together_are_stored_as_they_are(connection: AsyncConnection) -> None:
    table = table_of(Note, "note", identity(), sa.Column("place", sa.Text))
    await connection.execute(CreateTable(table))
    words = [None, "", "null", 'it\'s "so" \\ %(x)s %', "\u2028\U0001f989\t"]
    begun = datetime(2026, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
    notes = [
        Note(
            words[number % 5],
            begun + timedelta(days=number) if number % 2 else None,
            date(2026, 2, 28) if number % 3 else None,
            number - 2**62,
            lit=number % 4 == 0,
        )
        for number in range(2_001)
    ]

    await write_records(connection, table, notes, place="quay")

    written = await RowMapper(Note, table).where(connection, table.c.place == "quay", order=table.c.id)
    assert written == notes
