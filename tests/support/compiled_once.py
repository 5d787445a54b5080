"""Services in the test's own process share compiled statements and routes, and what they know of the server.

SQLAlchemy keeps its part by engine, Falcon by application, and each service has new ones: the same would be
compiled hundreds of times. Services in processes of their own share nothing.
"""

from functools import cache
from inspect import CO_COROUTINE, iscoroutinefunction
from typing import Any, Final

from falcon.routing import compiled as routing
from sqlalchemy import URL, Connection, Engine
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg, PGDialectAsync_psycopg
from sqlalchemy.util import LRUCache

_COMPILED: Final[LRUCache[Any, Any]] = LRUCache(5_000)


class _Alike:
    """Makes a dialect equal to all others of its class: compiled statements are found by their dialect."""

    _server_facts: dict[str, Any] | None = None
    """What a server has told the first dialect of the class; those of the tests are all of one version."""

    def initialize(self, connection: Connection) -> None:
        """Learn what the server is; called by SQLAlchemy for the first connection of an engine."""
        if self._server_facts is None:
            before = vars(self).copy()
            super().initialize(connection)  # type: ignore[misc]
            type(self)._server_facts = {
                name: value for name, value in vars(self).items() if before.get(name, self) is not value
            }
        vars(self).update(self._server_facts or {})

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    @classmethod
    def engine_created(cls, engine: Engine) -> None:
        """Give a new engine the statements that others have compiled; called by SQLAlchemy."""
        engine._compiled_cache = _COMPILED


class AsyncDialect(_Alike, PGDialectAsync_psycopg):
    """psycopg on an event loop."""

    supports_statement_cache = True


class HeaderProfile(_Alike, PGDialect_psycopg):
    """psycopg, and what an asynchronous engine asks for its own dialect."""

    supports_statement_cache = True

    @classmethod
    def get_async_dialect_cls(cls, _url: URL) -> type[AsyncDialect]:
        """Return the class for an asynchronous engine."""
        return AsyncDialect


def share() -> None:
    """Let the engines and applications that are made from now on share what they compile."""
    registry.register("postgresql.psycopg", __name__, HeaderProfile.__name__)
    vars(routing)["compile"] = cache(compile)
    vars(routing)["iscoroutinefunction"] = _is_coroutine_function


def _is_coroutine_function(responder: Any) -> bool:
    """Say what ``inspect`` does of functions, which Falcon asks of five thousand at each start."""
    code = getattr(responder, "__code__", None)
    return iscoroutinefunction(responder) if code is None else bool(code.co_flags & CO_COROUTINE)
