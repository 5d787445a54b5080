"""Facts about the database server, and whether its schema is this version's."""

from __future__ import annotations

import time
from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from service.records.schema_revision import SchemaStanding, schema_standing

_FACTS = text(
    "SELECT current_setting('server_version_num')::int, extract(epoch FROM clock_timestamp())::float8, "
    "pg_is_in_recovery() OR current_setting('default_transaction_read_only')::boolean, "
    "current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int "
    "- current_setting('reserved_connections')::int"
)


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """``version`` is PostgreSQL's number (180001), ``ahead`` the seconds that its clock is ahead of ours.

    ``schema`` is how its schema stands to this program's. ``read_only``: it is a standby, or refuses writes.
    ``connections`` are those that ordinary accounts may open together.
    """

    version: int
    ahead: float
    schema: SchemaStanding
    read_only: bool = False
    connections: int = 97


async def server_facts(connection: AsyncConnection) -> ServerFacts:
    """Ask the server; changes nothing, and works in an empty database."""
    before = time.time()
    version, clock, read_only, connections = (await connection.execute(_FACTS)).one()
    ahead = clock - (before + time.time()) / 2
    standing = await connection.run_sync(schema_standing)
    return ServerFacts(version, ahead, standing, read_only, connections)


async def is_standby(connection: AsyncConnection) -> bool:
    """Return whether the server replays what another one writes."""
    is_replaying: bool = (await connection.execute(text("SELECT pg_is_in_recovery()"))).scalar_one()
    return is_replaying
