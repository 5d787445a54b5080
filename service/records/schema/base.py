"""Common parts of the tables: the schema, the names of constraints, and a few columns."""

import types
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.schema import SchemaItem

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

    ``updated_by`` is its creator or last editor (``service.kernel.origin``). Each statement sets it unless it
    has a value of its own. None for seeded records, and for edits older than the column.
    """
    return (
        sa.Column("version", sa.Integer, nullable=False, server_default=sa.text("1")),
        sa.CheckConstraint("version > 0", name="version"),
        moment("create_time"),
        moment("update_time"),
        sa.Column("updated_by", sa.Text, default=acting, onupdate=acting),
    )


def table_of(
    record: type, name: str, *parts: SchemaItem, without: Collection[str] = (), **options: Any
) -> sa.Table:
    """Return the table ``sys.<name>`` that stores ``record``, a dataclass or a Struct, with ``parts`` of it.

    Each field is a column of its name and type, which may be null if the field may be None; of a ``Literal``,
    a check allows its words alone. A column among ``parts`` stands in the place of the field of its name,
    or holds what the record does not have. Selects compute the fields that are ``without`` a column.
    Raises TypeError for a field of another type: its column has to be among ``parts``.
    """
    given = {part.name for part in parts if isinstance(part, sa.Column)}
    fields = get_type_hints(record)
    plain = [_plain(field, fields[field]) for field in fields if field not in given and field not in without]
    return sa.Table(name, metadata, *plain, *parts, **options)


_TYPES: Final[Mapping[Any, Any]] = {
    bool: sa.Boolean,
    int: sa.BigInteger,
    str: sa.Text,
    bytes: sa.LargeBinary,
    datetime: sa.DateTime(timezone=True),
    date: sa.Date,
    UUID: sa.Uuid,
    dict: JSONB,
    Mapping: JSONB,
}


def _plain(name: str, hint: Any) -> sa.Column[Any]:
    """Return the column of a field that declares nothing but its type."""
    kinds = [hint] if get_origin(hint) not in (Union, types.UnionType) else [*get_args(hint)]
    nullable = types.NoneType in kinds
    kinds = [kind for kind in kinds if kind is not types.NoneType]
    kind = get_origin(kinds[0]) or kinds[0]
    if kind is Literal:
        return chosen(name, *get_args(kinds[0]), nullable=nullable)
    is_array = kind in (list, tuple, Sequence)
    plain = _TYPES.get(get_args(kinds[0])[0] if is_array else kind)
    if len(kinds) != 1 or plain is None:
        raise TypeError(f"the type of {name} has no column type: declare it in the table")
    return sa.Column(name, ARRAY(plain) if is_array else plain, nullable=nullable)


def past() -> sa.ColumnElement[datetime]:
    """Return the SQL of the earlier of the database's time and of this machine's, as of this call.

    For acts that cannot be undone if a clock was ahead: deleting expired rows, and reusing values that no
    reader should still have.
    """
    return sa.func.least(sa.func.now(), sa.literal(datetime.now(UTC)))
