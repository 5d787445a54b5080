"""Databases that live as long as a test, in the session's PostgreSQL."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import psycopg
from psycopg import sql

from service.embedded import EmbeddedStores

_numbers = itertools.count(1)


class NewDatabase(Protocol):
    """Make a database from ``template`` (a name; nobody may be connected to it) and return its URL."""

    def __call__(self, template: str = "template1") -> str: ...


@contextmanager
def database(stores: EmbeddedStores, template: str = "template1", name: str | None = None) -> Iterator[str]:
    """Create a database owned by the ordinary role, yield its URL, and drop it with its connections."""
    new = sql.Identifier(name or f"test_{os.getpid()}_{next(_numbers)}")
    owner = sql.Identifier("portcullis")
    with psycopg.connect(stores.url_of("postgres", administrator=True), autocommit=True) as connection:
        connection.execute(
            sql.SQL("CREATE DATABASE {} OWNER {} TEMPLATE {} STRATEGY WAL_LOG").format(
                new, owner, sql.Identifier(template)
            )
        )
    yield stores.url_of(new.as_string().strip('"'))
    with psycopg.connect(stores.url_of("postgres", administrator=True), autocommit=True) as connection:
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(new))
