"""Maps rows to records and back: the fields of a dataclass are the columns."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, fields
from operator import itemgetter
from typing import Any, Final, Generic, TypeVar, get_origin, get_type_hints

from sqlalchemy import ColumnElement, Executable, FromClause, Row, Table, func
from sqlalchemy.ext.asyncio import AsyncConnection

from service.kernel.fields import fields_of
from service.kernel.names import name_key

R = TypeVar("R")


class RowMapper(Generic[R]):
    """Reads rows as ``record``, a dataclass with at least two fields.

    ``columns`` are for the select or returning clause: one for each field, labelled with its name. It is the
    column of that name of ``table``, or the expression in ``computed``. An array becomes a tuple if the field
    is one. The fields ``without`` keep their defaults. Raises TypeError for a name that is neither a field
    nor a column.
    """

    def __init__(
        self,
        record: type[R],
        table: FromClause,
        without: Collection[str] = (),
        **computed: ColumnElement[Any],
    ) -> None:
        declared = fields(record)  # type: ignore[arg-type]  # a dataclass
        names = [field.name for field in declared if field.name not in without]
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

    def of(self, row: Row[*tuple[Any, ...]]) -> R:
        """Return ``row`` as a record, each field from the column with its name; other columns are ignored."""
        return self.of_values(self._values(row._mapping))  # noqa: SLF001 - SQLAlchemy's public name

    def of_values(self, row: Sequence[Any]) -> R:
        """Return a row of ``columns``, and no others, as a record."""
        values = dict(zip(self._names, row, strict=True))
        for name in self._arrays:
            values[name] = tuple(values[name])
        return self._record(**values)

    async def all(self, connection: AsyncConnection, statement: Executable) -> list[R]:
        """Return the rows of ``statement``, which selects ``columns``, in its order."""
        return [self.of(row) for row in await connection.execute(statement)]

    async def returned(self, connection: AsyncConnection, statement: Executable) -> R:
        """Return the only row of ``statement``, for writes that return the row written."""
        return self.of((await connection.execute(statement)).one())

    async def one_or_none(
        self, connection: AsyncConnection, statement: Executable, parameters: Mapping[str, Any] | None = None
    ) -> R | None:
        """Return the only row of ``statement`` with these ``parameters``, or None."""
        row = (await connection.execute(statement, parameters)).one_or_none()
        return None if row is None else self.of(row)


def merged(kind: type[R], stored: object, given: Mapping[str, Any]) -> R:
    """Return the values, a dataclass ``kind``, of the record ``stored`` with those ``given`` in their place.

    TypeError for a name that is no field of ``kind``.
    """
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]  # a dataclass
    return kind(**{**{name: getattr(stored, name) for name in names}, **given})


class RowWriter:
    """Makes the columns of ``table`` of values of ``record``, which declares its fields.

    Raises TypeError, and so stops every start, for a record that declares none and for one that does not
    agree with the table: what nobody has declared is neither checked nor audited.
    """

    def __init__(self, record: type, table: Table) -> None:
        self._fields = fields_of(record)
        if unknown := sorted(self._fields.keys() - table.c.keys()):
            raise TypeError(f"{record.__name__} and {table} do not agree on {', '.join(unknown)}")
        self._record, self._table = record, table

    def new(self, values: Any, **others: Any) -> dict[str, Any]:
        """Return the columns of a new row: ``values``, a record, and ``others`` as they are."""
        return self._columns(asdict(values)) | others

    def edited(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns of an edit: some fields of a record, by name, with the version that follows.

        TypeError for a name that the record does not declare.
        """
        return self._columns(values) | {"version": self._table.c.version + 1, "update_time": func.now()}

    def _columns(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns to store: None clears one that may be null, and leaves any other unchanged.

        For a name that has a key column (``user_name_key``), the key is added.
        """
        table = self._table
        if unknown := sorted(values.keys() - self._fields.keys()):
            raise TypeError(f"{self._record.__name__} has no {', '.join(unknown)}")
        stored = {
            name: value for name, value in values.items() if value is not None or table.c[name].nullable
        }
        keys = {name: table.c.get(f"{name}_key") for name in stored}
        return stored | {
            column.name: name_key(stored[name])
            for name, column in keys.items()
            if column is not None and column.computed is None
        }
