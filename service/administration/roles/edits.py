"""Edits of roles within a unit of work."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from service.administration.unit_of_work import UnitOfWork
from service.errors import Conflict, ValidationFailed
from service.kernel.names import text_fault
from service.records.roles import rights, roles
from service.records.roles.roles import Role, RoleValues

NAMED: Final = 5
"""The number of users of a role that a refusal lists."""


async def create(unit: UnitOfWork, role_code: str, values: RoleValues) -> Role:
    """Create a role, which gives nothing yet.

    Raises ``ValidationFailed``, and ``Conflict`` for a taken name or code.
    """
    check_role(values.role_name)
    return await roles.create(unit.connection, role_code, values)


async def update(
    unit: UnitOfWork, role_id: int, values: Mapping[str, Any], match: Callable[[Role], None]
) -> Role:
    """Store the given fields of ``RoleValues``; absent fields are unchanged.

    Raises ``NotFound``, ``ValidationFailed``, and ``Conflict`` for a taken name.
    """
    if "role_name" in values:
        check_role(values["role_name"])
    before = await _for_change(unit, role_id, match)
    saved = await roles.update(unit.connection, role_id, values)
    if saved.enabled != before.enabled:
        unit.refreshing.update(await rights.in_role(unit.connection, role_id))
    return saved


async def delete(unit: UnitOfWork, role_id: int, match: Callable[[Role], None]) -> None:
    """Delete a role; raises ``NotFound``, and ``Conflict`` with the names of users who have it."""
    await _for_change(unit, role_id, match)
    names, number = await roles.users_of(unit.connection, role_id, NAMED)
    if number:
        raise Conflict("Users have the role", users=names, userCount=number)
    await roles.delete(unit.connection, role_id)


async def set_menus(
    unit: UnitOfWork, role_id: int, menu_ids: Sequence[int], match: Callable[[list[int]], None]
) -> list[int]:
    """Give a role exactly these menus and Buttons; return their ids, in order.

    Raises ``NotFound``, and ``ValidationFailed`` for ids that are not menus.
    """
    await roles.read(unit.connection, role_id)
    await unit.check.require_roles(unit.connection, [role_id])
    await unit.check.require_menus(unit.connection, menu_ids)
    before = await roles.menu_ids(unit.connection, role_id)
    match(before)
    await roles.set_menus(unit.connection, role_id, menu_ids)
    saved = await roles.menu_ids(unit.connection, role_id)
    if saved != before:
        unit.refreshing.update(await rights.in_role(unit.connection, role_id))
    return saved


async def _for_change(unit: UnitOfWork, role_id: int, match: Callable[[Role], None]) -> Role:
    stored = await roles.read(unit.connection, role_id)
    await unit.check.require_roles(unit.connection, [role_id])
    match(stored)
    return stored


def check_role(role_name: str) -> None:
    """Check that ``role_name`` can be the name of a role; raises ValidationFailed."""
    if fault := text_fault(role_name):
        raise ValidationFailed(("roleName", fault))
