"""Common parts of the tables: the schema, the names of constraints, and a few columns."""

from datetime import UTC, datetime
from typing import Any, Final

import sqlalchemy as sa

from service.kernel.origin import acting

SCHEMA: Final = "sys"

metadata = sa.MetaData(
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


def moment(name: str) -> sa.Column[Any]:
    """Return a column for a time; its default is the transaction's time."""
    return sa.Column(name, sa.DateTime(timezone=True), nullable=False, server_default=sa.func.now())


def filled(name: str, **options: Any) -> sa.Column[Any]:
    """Return a column for a text that is there and not empty."""
    return sa.Column(name, sa.Text, sa.CheckConstraint(f"{name} <> ''", name=name), nullable=False, **options)


def folded(name: str) -> sa.Column[Any]:
    """Return the column by which lists search and sort the text ``name``: the fold of ``sys.folded``.

    It folds as ``service.kernel.text`` folds names. A filter folds its value by the same function, so that a
    text is found by itself whatever Unicode the database and Python know.
    """
    return sa.Column(f"{name}_folded", sa.Text, sa.Computed(f"sys.folded({name})", persisted=True))


def chosen(name: str, *words: str, **options: Any) -> sa.Column[Any]:
    """Return a column for one of a few words."""
    listed = ", ".join(f"'{word}'" for word in words)
    return sa.Column(name, sa.Text, sa.CheckConstraint(f"{name} IN ({listed})", name=name), **options)


def digest(name: str, **options: Any) -> sa.Column[Any]:
    """Return a column for a SHA-256."""
    return sa.Column(
        name, sa.LargeBinary, sa.CheckConstraint(f"octet_length({name}) = 32", name=name), **options
    )


def identity() -> sa.Column[Any]:
    """Return the primary key of a record; the database assigns it and never reuses one."""
    return sa.Column("id", sa.BigInteger, sa.Identity(always=True), primary_key=True)


def versioned() -> tuple[sa.Column[Any], sa.CheckConstraint, sa.Column[Any], sa.Column[Any], sa.Column[Any]]:
    """Return the columns of an editable record; ``version`` rises with each edit, to prevent lost updates.

    ``updated_by`` is who has made or last edited it (``service.kernel.origin``), set by each statement that
    does not say otherwise; None for what a start has seeded, and for edits before the column was there.
    """
    return (
        sa.Column("version", sa.Integer, nullable=False, server_default=sa.text("1")),
        sa.CheckConstraint("version > 0", name="version"),
        moment("create_time"),
        moment("update_time"),
        sa.Column("updated_by", sa.Text, default=acting, onupdate=acting),
    )


def past() -> sa.ColumnElement[datetime]:
    """Return the SQL of the earlier of the database's time and of this machine's, as of this call.

    For what can't be undone when it has turned out that a clock was ahead: to delete what is over, and to use
    again what nobody should mean any more.
    """
    return sa.func.least(sa.func.now(), sa.literal(datetime.now(UTC)))
