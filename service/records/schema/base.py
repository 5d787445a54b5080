"""What the tables have in common: their schema, the names of their constraints, and a few columns."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import BigInteger, CheckConstraint, Column, DateTime, Identity, Integer, MetaData, func, text

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
"""The grammar of permission codes (``service.kernel.codes``) as PostgreSQL reads it."""


def moment(name: str) -> Column[Any]:
    """A point in time; the time of the transaction unless another is given."""
    return Column(name, DateTime(timezone=True), nullable=False, server_default=func.now())


def identity() -> Column[Any]:
    """The key of a record; given by the database and never given twice."""
    return Column("id", BigInteger, Identity(always=True), primary_key=True)


def versioned() -> tuple[Column[Any], CheckConstraint, Column[Any], Column[Any]]:
    """The columns of a record that people edit; ``version`` rises with each edit, so that none is lost."""
    return (
        Column("version", Integer, nullable=False, server_default=text("1")),
        CheckConstraint("version > 0", name="version"),
        moment("create_time"),
        moment("update_time"),
    )
