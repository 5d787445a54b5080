"""Prepared statements of one connection, run by libpq itself.

A cursor of psycopg converts the text anew, searches its prepared statements, and keeps facts about the
result. That is some seventy calls for a statement of which only the values change. Psycopg still converts
values and rows, and creates the errors.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

import psycopg
from psycopg import generators
from psycopg.abc import PQGen
from psycopg.adapt import PyFormat, Transformer
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGconn, PGresult

from service.kernel.cooperative_yield import CooperativeYield
from service.records.database.portions import PORTION

Rows: TypeAlias = list[tuple[Any, ...]]

_PARAMETER: Final = re.compile(rb"%\((\w+)\)s|%%")
_STATEMENTS: Final = 1024  # the texts that are remembered: they are constants of the program


class _Numbered(NamedTuple):
    """A statement with ``$1`` in place of ``%(name)s``, the names in their order, and how values are sent."""

    text: bytes
    names: tuple[str, ...]
    formats: tuple[PyFormat, ...]


@lru_cache(_STATEMENTS)
def _numbered(statement: bytes) -> _Numbered:
    names: list[str] = []

    def place(match: re.Match[bytes]) -> bytes:
        if match[1] is None:
            return b"%"
        if (name := match[1].decode()) not in names:
            names.append(name)
        return b"$%d" % (names.index(name) + 1)

    text = _PARAMETER.sub(place, statement)
    return _Numbered(text, tuple(names), (PyFormat.AUTO,) * len(names))


class PreparedStatements:
    """The prepared statements of a connection; a statement with values of other types is prepared again."""

    def __init__(self, connection: psycopg.AsyncConnection[Any]) -> None:
        self.connection: Final = connection
        self._pgconn: PGconn = connection.pgconn
        self._transformer = Transformer(connection)
        self._names: dict[tuple[bytes, tuple[int, ...] | None], bytes] = {}

    async def rows(self, statement: bytes, parameters: Mapping[str, Any]) -> Rows:
        """Return the rows of ``statement``; its parameters are written ``%(name)s``, and ``%`` is ``%%``.

        Raises what psycopg raises. Others run while many rows are converted.
        """
        result = await self.connection.wait(self._run(_numbered(statement), parameters))
        transformer = self._transformer
        transformer.set_pgresult(result)
        try:
            rows: Rows = transformer.load_rows(0, min(result.ntuples, PORTION), tuple)
            if result.ntuples > PORTION:
                others = CooperativeYield()
                for start in range(PORTION, result.ntuples, PORTION):
                    rows += transformer.load_rows(start, min(result.ntuples, start + PORTION), tuple)
                    await others.after_item()
        finally:
            transformer.set_pgresult(None)
        return rows

    def _run(self, statement: _Numbered, parameters: Mapping[str, Any]) -> PQGen[PGresult]:
        text, names, formats = statement
        transformer, pgconn = self._transformer, self._pgconn
        values = transformer.dump_sequence([parameters[name] for name in names], formats)
        types = transformer.types
        if self.connection.prepare_threshold is None:  # a pooler gives the session to others as well
            pgconn.send_query_params(text, values, types, transformer.formats)
            return (yield from self._result())
        name = self._names.get((text, types))
        if name is None:
            name = b"_read_%d" % len(self._names)
            pgconn.send_prepare(name, text, types)
            yield from self._result()
            self._names[text, types] = name
        pgconn.send_query_prepared(name, values, transformer.formats)
        return (yield from self._result())

    def _result(self) -> PQGen[PGresult]:
        result: PGresult = (yield from generators.execute(self._pgconn))[-1]
        if result.status == ExecStatus.FATAL_ERROR:
            raise psycopg.errors.error_from_result(result, encoding="utf-8")
        return result
