"""Selects that are built once, and can be run without SQLAlchemy, as prepared statements.

SQLAlchemy needs ten times as long to run a small select as PostgreSQL does, and a transaction adds two round
trips. Selects that login, refresh or current rights wait for are therefore a ``PreparedSelect``: SQLAlchemy
only compiles them, when their module is imported.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

from sqlalchemy import ARRAY, Boolean, DateTime, Enum, Integer, LargeBinary, Select, String
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.types import NullType, TypeEngine

R = TypeVar("R")

_DIALECT: Final = PGDialect_psycopg()  # type: ignore[no-untyped-call]  # SQLAlchemy's gap
_PLAIN: Final = (String, Integer, Boolean, DateTime, LargeBinary, NullType)  # psycopg alone converts them


class Reader(Protocol):
    """Runs single statements outside any transaction: ``transactions.Database``."""

    async def read(self, statement: bytes, parameters: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """Return the rows of ``statement``, which psycopg understands."""


Source: TypeAlias = AsyncConnection | Reader
"""Where a prepared select reads: in the transaction of a connection, or by itself, given the database."""


class PreparedSelect(Generic[R]):
    """A select whose rows become records; ``record`` makes one from the values of a row.

    Its parameters are its bind parameters without a value, by name. Raises TypeError for a select that needs
    SQLAlchemy when it is run: for a type that SQLAlchemy converts, or a list that becomes several parameters.
    """

    def __init__(self, statement: Select[*tuple[Any, ...]], record: Callable[[Sequence[Any]], R]) -> None:
        compiled = statement.compile(dialect=_DIALECT)
        types = [bind.type for bind in compiled.binds.values()]
        types += [column.type for column in statement.selected_columns]
        if compiled.post_compile_params or not all(map(_is_plain, types)):
            raise TypeError("a select with such a type, or with a list as a parameter, needs SQLAlchemy")
        self._statement = statement
        self._text = str(compiled).encode()
        self._given = {key: value for key, value in compiled.params.items() if value is not None}
        self._record = record

    async def all(self, source: Source, **parameters: Any) -> list[R]:
        """Return the records, in the order of the statement. Given the database, raises ``Unavailable``."""
        if isinstance(source, AsyncConnection):
            rows: Sequence[Sequence[Any]] = (await source.execute(self._statement, parameters)).all()
        else:
            rows = await source.read(self._text, self._given | parameters)
        return [self._record(row) for row in rows]

    async def one_or_none(self, source: Source, **parameters: Any) -> R | None:
        """Return the record of a select that finds at most one; raises like ``all``."""
        records = await self.all(source, **parameters)
        if len(records) > 1:
            raise ValueError("a select of one row has found several")
        return records[0] if records else None


def _is_plain(kind: TypeEngine[Any]) -> bool:
    element_kind = kind.item_type if isinstance(kind, ARRAY) else kind
    return isinstance(element_kind, _PLAIN) and not isinstance(element_kind, Enum)
