"""Reads the rows that ``row_history`` keeps, as they were at a past revision."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from sqlalchemy import ColumnElement, Table, case, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from service.kernel.services import PORTCULLIS
from service.records.database.row_mapper import RowMapper
from service.records.resources import ResourceValues
from service.records.schema import (
    binding_history,
    button_history,
    policy_revision,
    resource_history,
    service_history,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PastResource(ResourceValues):
    """A resource as it was."""

    resource_id: int
    enabled: bool
    service: str


@dataclass(frozen=True, slots=True)
class PastButton:
    """A Button as it was."""

    menu_id: int
    parent_id: int | None
    title: str
    name: str | None
    icon: str | None
    sort: int
    auth_mark: str
    enabled: bool


# What was demanded is told by the lines of the revision.
_RESOURCE: Final = RowMapper(PastResource, resource_history, without=["assurance", "services"])
_BUTTON: Final = RowMapper(PastButton, button_history)


async def nearest(connection: AsyncConnection, revision: int) -> int | None:
    """Return the first revision from ``revision`` on of which rows are kept; None when there is none."""
    kept = policy_revision.c.rows_kept & (policy_revision.c.revision >= revision)
    oldest: int | None = (
        await connection.execute(select(func.min(policy_revision.c.revision)).where(kept))
    ).scalar_one()
    return oldest


async def resources_at(
    connection: AsyncConnection,
    revision: int,
    *,
    objects: Collection[str] = (),
    ids: Collection[int] = (),
) -> list[PastResource]:
    """Return the resources of ``revision`` with these objects (``GET /api/report/{id}``), or these ids."""
    row = resource_history.c
    route = row.method + " " + row.path
    named = case((row.service == PORTCULLIS, route), else_=row.service + " " + route)
    condition = named.in_(objects) | row.resource_id.in_(ids)
    statement = select(*_RESOURCE.columns).where(_at(resource_history, revision), condition)
    return await _RESOURCE.all(connection, statement.order_by(row.resource_id))


async def service_at(connection: AsyncConnection, revision: int, name: str) -> str | None:
    """Return the description of the service of that name in ``revision``; None also if it is not kept."""
    condition = service_history.c.name == name
    statement = select(service_history.c.description).where(_at(service_history, revision), condition)
    description: str | None = (await connection.execute(statement)).scalar_one_or_none()
    return description


async def buttons_at(
    connection: AsyncConnection, revision: int, codes: Collection[str]
) -> dict[str, PastButton]:
    """Return the Buttons of ``revision`` with these codes, by code."""
    condition = button_history.c.auth_mark.in_(codes)
    statement = select(*_BUTTON.columns).where(_at(button_history, revision), condition)
    return {button.auth_mark: button for button in await _BUTTON.all(connection, statement)}


async def bound_at(
    connection: AsyncConnection, revision: int, resource_ids: Collection[int]
) -> dict[int, dict[str, bool]]:
    """Return, by id of a resource, the codes that it was bound to, and whether each Button was enabled."""
    binding, button = binding_history.c, button_history.c
    statement = (
        select(binding.resource_id, button.auth_mark, button.enabled)
        .join(button_history, button.menu_id == binding.menu_id)
        .where(_at(binding_history, revision), _at(button_history, revision))
        .where(binding.resource_id.in_(resource_ids))
        .order_by(button.auth_mark)
    )
    bound: dict[int, dict[str, bool]] = {}
    for row in await connection.execute(statement):
        bound.setdefault(row.resource_id, {})[row.auth_mark] = row.enabled
    return bound


def _at(table: Table, revision: int) -> ColumnElement[bool]:
    until = table.c.until
    return (table.c.since <= revision) & (until.is_(None) | (until > revision))
