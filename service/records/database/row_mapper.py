"""Maps rows to records and back: the fields of a record are the columns; selects that are built once."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from operator import itemgetter
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeAlias, TypeVar, get_origin, get_type_hints

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.types import NullType, TypeEngine

from service.kernel.fields import fields_of, names_of, spelt, values_of
from service.kernel.text import name_key
from service.records.database.portions import each_row

R = TypeVar("R")


class RowMapper(Generic[R]):
    """Reads rows as ``record``, a dataclass or a Struct with at least two fields.

    ``columns`` are for the returning clause: one for each field, labelled with its name. It is the column of
    that name of ``table``, or the expression in ``computed``; ``select`` selects them. An array becomes a
    tuple if the field is one. The fields ``without`` keep their defaults. Raises TypeError for a name that is
    neither a field nor a column.
    """

    def __init__(
        self,
        record: type[R],
        table: sa.FromClause,
        without: Collection[str] = (),
        **computed: sa.ColumnElement[Any],
    ) -> None:
        names = [name for name in names_of(record) if name not in without]
        if unknown := sorted({*computed} - {*names} | {*names} - {*computed, *table.c.keys()}):
            raise TypeError(f"{record.__name__} and {table} do not agree on {', '.join(unknown)}")
        self._record = record
        self._names = names
        self._values: Callable[[Any], tuple[Any, ...]] = itemgetter(*names)
        hints = get_type_hints(record)
        self._arrays = [name for name in names if get_origin(hints[name]) is tuple]
        chosen = {name: computed[name] if name in computed else table.c[name] for name in names}
        self.columns: Final = tuple(
            column if column.key == name else column.label(name) for name, column in chosen.items()
        )
        self.select: Final[sa.Select[Any]] = sa.select(*self.columns)

    def of(self, row: sa.Row[*tuple[Any, ...]]) -> R:
        """Return ``row`` as a record, each field from the column with its name; other columns are ignored."""
        return self.of_values(self._values(row._mapping))  # noqa: SLF001 - SQLAlchemy's public name

    def of_values(self, row: Sequence[Any]) -> R:
        """Return a row of ``columns``, and no others, as a record."""
        values = dict(zip(self._names, row, strict=True))
        for name in self._arrays:
            values[name] = tuple(values[name])
        return self._record(**values)

    async def all(self, connection: AsyncConnection, statement: sa.Executable) -> list[R]:
        """Return the rows of ``statement``, which selects ``columns``, in its order."""
        return [self.of(row) async for row in each_row(await connection.execute(statement))]

    async def where(
        self,
        connection: AsyncConnection,
        *conditions: sa.ColumnElement[bool],
        order: sa.ColumnElement[Any] | None = None,
    ) -> list[R]:
        """Return the records that meet all conditions, in this order."""
        return await self.all(connection, self.select.where(*conditions).order_by(order))

    async def only(self, connection: AsyncConnection, *conditions: sa.ColumnElement[bool]) -> R | None:
        """Return the only record that meets all conditions, or None."""
        return await self.one_or_none(connection, self.select.where(*conditions))

    async def returned(self, connection: AsyncConnection, statement: sa.Executable) -> R:
        """Return the only row of ``statement``, for writes that return the row written."""
        return self.of((await connection.execute(statement)).one())

    async def one_or_none(
        self,
        connection: AsyncConnection,
        statement: sa.Executable,
        parameters: Mapping[str, Any] | None = None,
    ) -> R | None:
        """Return the only row of ``statement`` with these ``parameters``, or None."""
        row = (await connection.execute(statement, parameters)).one_or_none()
        return None if row is None else self.of(row)


def merged(kind: type[R], stored: object, given: Mapping[str, Any]) -> R:
    """Return the values, a dataclass ``kind``, of the record ``stored`` with those ``given`` in their place.

    TypeError for a name that is no field of ``kind``.
    """
    return kind(**values_of(stored, kind) | {**given})


class RowWriter:
    """Maps values of ``record``, which declares its fields, to the columns of ``table``.

    Raises TypeError for a record without declarations, and for one that does not match the table; this stops
    every start. An undeclared field would be neither checked nor audited.
    """

    def __init__(self, record: type, table: sa.Table) -> None:
        self._fields = fields_of(record)
        if unknown := sorted(self._fields.keys() - table.c.keys()):
            raise TypeError(f"{record.__name__} and {table} do not agree on {', '.join(unknown)}")
        self._record, self._table = record, table

    def new(self, values: Any, **others: Any) -> dict[str, Any]:
        """Return the columns of a new row: ``values``, a record, and ``others`` unchanged."""
        return self._columns(asdict(values)) | others

    def edited(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns of an edit: some fields of a record, by name, with the version that follows.

        TypeError for a name that the record does not declare.
        """
        return self._columns(values) | {"version": self._table.c.version + 1, "update_time": sa.func.now()}

    def _columns(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns to store: None clears one that may be null, and leaves any other unchanged.

        For a name that has a key column (``user_name_key``), the key is added.
        """
        table = self._table
        if unknown := sorted(values.keys() - self._fields.keys()):
            raise TypeError(f"{self._record.__name__} has no {', '.join(unknown)}")
        stored = {
            name: value
            for name, value in spelt(self._record, values).items()
            if value is not None or table.c[name].nullable
        }
        keys = {name: table.c.get(f"{name}_key") for name in stored}
        return stored | {
            column.name: name_key(stored[name])
            for name, column in keys.items()
            if column is not None and column.computed is None
        }


_DIALECT: Final = PGDialect_psycopg()  # type: ignore[no-untyped-call]  # SQLAlchemy's gap
_PLAIN: Final = (
    sa.String,
    sa.Integer,
    sa.Boolean,
    sa.DateTime,
    sa.LargeBinary,
    NullType,
)  # psycopg alone converts them


class Reader(Protocol):
    """Runs single statements outside any transaction: ``transactions.Database``."""

    async def read(self, statement: bytes, parameters: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """Return the rows of ``statement``, which psycopg understands."""


Source: TypeAlias = AsyncConnection | Reader
"""Source of a prepared select: the transaction of a connection, or a single read of the database."""


class _Compiled(NamedTuple):
    """The text of a select for psycopg, and the parameters that have a value."""

    text: bytes
    given: Mapping[str, Any]


def compiled_of(statement: sa.Select[*tuple[Any, ...]]) -> _Compiled:
    """Return the text of a select without SQLAlchemy.

    Raises TypeError for a select that needs SQLAlchemy when it is run: for a type that SQLAlchemy converts,
    or a list that becomes several parameters.
    """
    compiled = statement.compile(dialect=_DIALECT)
    types = [bind.type for bind in compiled.binds.values()]
    types += [column.type for column in statement.selected_columns]
    if compiled.post_compile_params or not all(map(_is_plain, types)):
        raise TypeError("a select with such a type, or with a list as a parameter, needs SQLAlchemy")
    given = {key: value for key, value in compiled.params.items() if value is not None}
    return _Compiled(str(compiled).encode(), given)


class PreparedSelect(Generic[R]):
    """A select whose rows become records; ``record`` makes one from the values of a row.

    It is a constant of the program. Its parameters are its bind parameters without a value, by name.
    """

    def __init__(self, statement: sa.Select[*tuple[Any, ...]], record: Callable[[Sequence[Any]], R]) -> None:
        self._statement = statement
        self._record = record
        _SELECTS.append(self)

    @cached_property
    def compiled(self) -> _Compiled:
        """The compiled select, made at first use: most commands import the select, and never run it."""
        return compiled_of(self._statement)

    async def all(self, source: Source, **parameters: Any) -> list[R]:
        """Return the records, in the order of the statement. Given the database, raises ``Unavailable``."""
        if isinstance(source, AsyncConnection):
            rows: Sequence[Sequence[Any]] = (await source.execute(self._statement, parameters)).all()
        else:
            text, given = self.compiled
            rows = await source.read(text, {**given, **parameters})
        return [self._record(row) for row in rows]

    async def one_or_none(self, source: Source, **parameters: Any) -> R | None:
        """Return the record of a select that finds at most one; raises like ``all``."""
        records = await self.all(source, **parameters)
        if len(records) > 1:
            raise ValueError("a select of one row has found several")
        return records[0] if records else None


_SELECTS: Final[list[PreparedSelect[Any]]] = []


def prepare_selects() -> None:
    """Compile all selects of the imported modules, so that no request waits for it.

    Raises TypeError for a select that needs SQLAlchemy; this stops every start.
    """
    for prepared in _SELECTS:
        prepared.compiled  # noqa: B018 - reading it compiles


def _is_plain(kind: TypeEngine[Any]) -> bool:
    element_kind = kind.item_type if isinstance(kind, sa.ARRAY) else kind
    return isinstance(element_kind, _PLAIN) and not isinstance(element_kind, sa.Enum)
