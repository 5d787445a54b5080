"""Spans of transactions and statements: named by verb and table, without any value."""

import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Engine, event

from service.kernel.origin import Span, Value
from service.kernel.tracing import traced

_VERB: Final = re.compile(r"\s*([A-Za-z]+)")
_MAIN: Final = re.compile(r"\b(INSERT|UPDATE|DELETE|SELECT)\b")
_TABLE: Final = re.compile(r'\b(?:FROM|INTO|UPDATE)\s+(?:ONLY\s+)?((?:"?\w+"?\.)?"?\w+"?)')
_WITHIN: Final = re.compile(r"\([^()]*\)")
_REMEMBERED: Final = 1024


class Described(NamedTuple):
    """The name and the attributes of a statement's span."""

    name: str
    attributes: Mapping[str, Value]


@lru_cache(_REMEMBERED)
def described(statement: str | bytes) -> Described:
    """Return how a statement is told: ``SELECT sys.user``; the verb alone where it names no table.

    https://opentelemetry.io/docs/specs/semconv/database/postgresql/
    """
    text = statement.decode() if isinstance(statement, bytes) else statement
    match = _VERB.match(text)
    verb = match[1].upper() if match else "STATEMENT"
    if verb == "WITH" and (main := _MAIN.search(text)):
        verb = main[1]
    attributes: dict[str, Value] = {"db.system.name": "postgresql", "db.operation.name": verb}
    # A subquery among the columns names its table first.
    table = (
        _TABLE.search(_without_subqueries(text)) if text.startswith("SELECT") else None
    ) or _TABLE.search(text)
    if table is None:
        return Described(verb, MappingProxyType(attributes))
    name = table[1].replace('"', "")
    return Described(f"{verb} {name}", MappingProxyType(attributes | {"db.collection.name": name}))


def _without_subqueries(text: str) -> str:
    while (shorter := _WITHIN.sub("", text)) != text:
        text = shorter
    return text


def traced_statement(statement: bytes) -> AbstractContextManager[Span | None]:
    """Return a block that is the span of a single statement."""
    return traced(*described(statement), kind="client")


class StatementSpans:
    """Spans of the statements of one engine, each below the span of its transaction."""

    def __init__(self, engine: Engine) -> None:
        self._transactions: dict[Connection, Span] = {}
        self._open: dict[Connection, Span] = {}
        event.listen(engine, "before_cursor_execute", self._before)
        event.listen(engine, "after_cursor_execute", self._after)

    @contextmanager
    def within(self, transaction: Span, connection: Connection | None) -> Iterator[None]:
        """Trace the statements of ``connection`` in the block; one that gets no answer ends with an error."""
        assert connection is not None  # noqa: S101 - it is in use
        self._transactions[connection] = transaction
        try:
            yield
        finally:
            del self._transactions[connection]
            if (statement := self._open.pop(connection, None)) is not None:
                statement.end("failed")

    def _before(self, connection: Connection, _cursor: Any, statement: str, *_: Any) -> None:
        if (transaction := self._transactions.get(connection)) is not None:
            self._open[connection] = transaction.child(*described(statement), kind="client")

    def _after(self, connection: Connection, *_: Any) -> None:
        if (statement := self._open.pop(connection, None)) is not None:
            statement.end()
