"""Databases and numbered session stores that live as long as a test, in the session's stores."""

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Protocol

import psycopg
import redis
from psycopg import sql

from service.features.embedded.stores import EmbeddedStores
from tests.support.recycled import Recycled

_numbers = itertools.count(1)
_recycled: dict[tuple[str, str], Recycled] = {}
"""Copies that wait, by the directory of their stores and their template."""


_SPARING = {
    "autovacuum": "off",
    "checkpoint_timeout": "1h",
    "max_wal_size": "1GB",
    "bgwriter_lru_maxpages": "0",
}
"""What only databases that live longer than a test need."""

_PATIENCE: Final = 3
"""How often a copy is tried again. PostgreSQL waits 5 s for connections to the template that are closing."""


class NewDatabase(Protocol):
    """Make a database from ``template`` (a name; nobody may be connected to it) and return its URL."""

    def __call__(self, template: str = "template1") -> str: ...


@contextmanager
def database(stores: EmbeddedStores, template: str = "template1", name: str | None = None) -> Iterator[str]:
    """Yield the URL of a database that the ordinary role owns; it and its connections are gone afterwards.

    Without a ``name`` it may be a copy that was used before, with the rows of the template again.
    """
    chosen = name or f"test_{os.getpid()}_{next(_numbers)}"
    copies = _copies_of(stores, template) if name is None else None
    if copies is None or not copies.take(chosen):
        _create(stores, chosen, template)
        if copies is not None:
            copies.made(chosen)
    yield stores.url_of(chosen)
    if copies is not None:
        copies.give_back(chosen)
        return
    if (of_this := _recycled.pop((str(stores.data), chosen), None)) is not None:
        of_this.drop()
    with psycopg.connect(stores.url_of("postgres", administrator=True), autocommit=True) as connection:
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(chosen)))


def save_work(stores: EmbeddedStores) -> None:
    """Keep PostgreSQL from what it does for databases that live longer than tests."""
    with psycopg.connect(stores.url_of("postgres", administrator=True), autocommit=True) as connection:
        for name, value in _SPARING.items():
            connection.execute(sql.SQL("ALTER SYSTEM SET {} = {}").format(sql.Identifier(name), value))
        connection.execute("SELECT pg_reload_conf()")


def leave(stores: EmbeddedStores) -> None:
    """Disconnect from stores that end now."""
    for key in [key for key in _recycled if key[0] == str(stores.data)]:
        _recycled.pop(key).close()


def _create(stores: EmbeddedStores, name: str, template: str) -> None:
    with psycopg.connect(stores.url_of("postgres", administrator=True), autocommit=True) as connection:
        statement = sql.SQL("CREATE DATABASE {} OWNER portcullis TEMPLATE {} STRATEGY WAL_LOG").format(
            sql.Identifier(name), sql.Identifier(template)
        )
        for left in range(_PATIENCE, -1, -1):
            try:
                connection.execute(statement)
            except psycopg.errors.ObjectInUse:
                if left == 0:
                    raise
            else:
                return


def _copies_of(stores: EmbeddedStores, template: str) -> Recycled:
    return _recycled.setdefault((str(stores.data), template), Recycled(stores))


_NUMBERS: Final = frozenset(range(16))  # as many as Valkey has where nothing is set
_taken: dict[str, set[int]] = {}
"""The numbers in use, by the URL of their Valkey."""


@contextmanager
def session_store(stores: EmbeddedStores) -> Iterator[str]:
    """Yield the URL of an empty database that nobody else of this process uses until the block ends."""
    taken = _taken.setdefault(stores.redis_url, set())
    number = min(_NUMBERS - taken)
    taken.add(number)
    try:
        url = f"{stores.redis_url}?db={number}"
        with redis.Redis.from_url(url) as client:
            client.flushdb()
        yield url
    finally:
        taken.remove(number)
