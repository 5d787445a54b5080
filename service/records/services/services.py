"""``sys.service``: other services, and how their routers read requests.

Callers that change one hold ``policy_revisions.lock``.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from service.kernel.services import Service
from service.records.database.row_mapper import RowMapper
from service.records.schema import service

_PUBLISHED: Final = RowMapper(Service, service)


async def published(connection: AsyncConnection) -> list[Service]:
    """Return what the policy says of each service, by name."""
    return await _PUBLISHED.all(connection, select(*_PUBLISHED.columns).order_by(service.c.name))
