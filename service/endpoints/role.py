"""Roles: ``/api/role``."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from service.records import roles
from service.records.database import Database
from service.web.call import Call
from service.web.marks import needs
from service.web.wire import Id, Moment, Page, PageQuery, Wire


class Role(Wire):
    """A named set of menus and Buttons."""

    id: Id
    role_name: Annotated[str, Meta(examples=["Auditor"])]
    role_code: Annotated[str, Meta(examples=["auditor"])]
    description: str | None
    enabled: bool
    create_time: Moment
    update_time: Moment


class RoleQuery(PageQuery):
    """Which roles, and in which order."""

    role_name: Annotated[str, Meta(max_length=64, description="A part of the name, in any case.")] | None = (
        None
    )
    role_code: Annotated[str, Meta(max_length=64, description="A part of the code.")] | None = None
    enabled: bool | None = None
    sort: Annotated[
        str,
        Meta(max_length=32, description=f"One of {', '.join(roles.SORTS)}; `-` before it for descending."),
    ] = "id"


class RoleList:
    """``/api/role/list``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @needs("system:role:list", "system:user:create", "system:user:update")
    async def on_get(self, call: Call, query: RoleQuery) -> Page[Role]:
        """List roles."""
        wanted = roles.RoleFilter(query.role_name, query.role_code, query.enabled)
        async with self._database.snapshot() as connection:
            found = await roles.page(connection, wanted, page=query.page, size=query.size, sort=query.sort)
        return Page(
            items=[Role.of(role) for role in found.items], page=query.page, size=query.size, total=found.total
        )
