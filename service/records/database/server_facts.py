"""Facts about the database server, and whether its schema is this version's."""

from __future__ import annotations

import time
from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from service.records.schema_revision import expected_schema, stored_schema

_FACTS = text(
    "SELECT current_setting('server_version_num')::int, extract(epoch FROM clock_timestamp())::float8, "
    "pg_is_in_recovery() OR current_setting('default_transaction_read_only')::boolean"
)


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """``version`` is PostgreSQL's number (180001), ``ahead`` the seconds that its clock is ahead of ours.

    ``schema`` is the stored revision, None before the first migration; ``expected`` is this program's.
    ``read_only``: it is a standby, or refuses writes.
    """

    version: int
    ahead: float
    schema: str | None
    expected: str
    read_only: bool = False

    @property
    def is_current(self) -> bool:
        """True if the schema is this version's."""
        return self.schema == self.expected


async def server_facts(connection: AsyncConnection) -> ServerFacts:
    """Ask the server; changes nothing, and works in an empty database."""
    before = time.time()
    version, clock, read_only = (await connection.execute(_FACTS)).one()
    ahead = clock - (before + time.time()) / 2
    stored = await connection.run_sync(stored_schema)
    return ServerFacts(version, ahead, stored, expected_schema(), read_only)
