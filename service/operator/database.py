"""The database of an installation, for commands."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from service.records.database.transactions import Connection, Database
from service.records.installation.schema_revision import require_current
from service.settings import Settings

T = TypeVar("T")


def with_database(settings: Settings, do: Callable[[Database], Coroutine[Any, Any, T]]) -> T:
    """Run ``do`` with the database, whose schema is this version's; SchemaError and Unavailable."""
    require_current(settings.database.url)

    async def work() -> T:
        async with Database(
            settings.database.url, pool_size=1, timeout=settings.database.timeout
        ) as database:
            return await do(database)

    return asyncio.run(work())


def with_connection(settings: Settings, do: Callable[[Connection], Coroutine[Any, Any, T]]) -> T:
    """Run ``do`` in one transaction of such a database; SchemaError and Unavailable."""

    async def work(database: Database) -> T:
        async with database.transaction() as connection:
            return await do(connection)

    return with_database(settings, work)
