"""Common parts of the tables: the schema, the names of constraints, and a few columns."""

from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ColumnElement,
    DateTime,
    Identity,
    Integer,
    LargeBinary,
    MetaData,
    Text,
    func,
    literal,
    text,
)

from service.kernel.origin import acting

SCHEMA: Final = "sys"

metadata = MetaData(
    schema=SCHEMA,
    naming_convention={
        "pk": "%(table_name)s_pkey",
        "fk": "%(table_name)s_%(column_0_name)s_fkey",
        "uq": "%(table_name)s_%(column_0_N_name)s_key",
        "ix": "%(table_name)s_%(column_0_N_name)s_idx",
        "ck": "%(table_name)s_%(constraint_name)s_check",
    },
)

CODE_PATTERN: Final = r"^([a-z0-9_-]+|\*)(:([a-z0-9_-]+|\*))*$"
"""The grammar of permission codes (``service.kernel.codes``) as a PostgreSQL regular expression."""


def moment(name: str) -> Column[Any]:
    """Return a column for a time; its default is the transaction's time."""
    return Column(name, DateTime(timezone=True), nullable=False, server_default=func.now())


def filled(name: str, **options: Any) -> Column[Any]:
    """Return a column for a text that is there and not empty."""
    return Column(name, Text, CheckConstraint(f"{name} <> ''", name=name), nullable=False, **options)


def chosen(name: str, *words: str, **options: Any) -> Column[Any]:
    """Return a column for one of a few words."""
    listed = ", ".join(f"'{word}'" for word in words)
    return Column(name, Text, CheckConstraint(f"{name} IN ({listed})", name=name), **options)


def digest(name: str, **options: Any) -> Column[Any]:
    """Return a column for a SHA-256."""
    return Column(name, LargeBinary, CheckConstraint(f"octet_length({name}) = 32", name=name), **options)


def identity() -> Column[Any]:
    """Return the primary key of a record; the database assigns it and never reuses one."""
    return Column("id", BigInteger, Identity(always=True), primary_key=True)


def versioned() -> tuple[Column[Any], CheckConstraint, Column[Any], Column[Any], Column[Any]]:
    """Return the columns of an editable record; ``version`` rises with each edit, to prevent lost updates.

    ``updated_by`` is who has made or last edited it (``service.kernel.origin``), set by each statement that
    does not say otherwise; None for what a start has seeded, and for edits before the column was there.
    """
    return (
        Column("version", Integer, nullable=False, server_default=text("1")),
        CheckConstraint("version > 0", name="version"),
        moment("create_time"),
        moment("update_time"),
        Column("updated_by", Text, default=acting, onupdate=acting),
    )


def past() -> ColumnElement[datetime]:
    """Return the SQL of the earlier of the database's time and of this machine's, as of this call.

    For what can't be undone when it has turned out that a clock was ahead: to delete what is over, and to use
    again what nobody should mean any more.
    """
    return func.least(func.now(), literal(datetime.now(UTC)))
