"""Changes of roles: names, status, and the menus and Buttons that they give."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from service.administration.delegation import Delegation
from service.administration.users.administrators import keeping_an_administrator
from service.authn.revocations import Revocations
from service.errors import Conflict, ValidationFailed
from service.kernel.identity import Caller
from service.kernel.names import text_fault
from service.records.database.transactions import Connection, Database
from service.records.roles import rights, roles
from service.records.roles.roles import Role, RoleValues

NAMED: Final = 5
"""The number of users of a role that a refusal lists."""
WITHIN: Final = 10.0
"""Seconds that setting the menus of a role may take: ten thousand need one or two."""


class RoleChanges:
    """Writes roles, for callers who hold all permissions of the role before and after the change.

    ``match`` is called with the stored values, under the lock; its exceptions roll the change back. If the
    rights of a role change, its users must refresh their tokens. Roles have no policy lines, so nothing is
    published (decision 0009).

    All raise ``PermissionDenied`` if the caller lacks a code, ``RefreshRequired`` if the caller was deleted,
    disabled or banned, and ``Unavailable``.
    """

    def __init__(self, database: Database, delegation: Delegation, revocations: Revocations) -> None:
        self._database = database
        self._delegation = delegation
        self._revocations = revocations

    async def create(self, caller: Caller, role_code: str, values: RoleValues) -> Role:
        """Create a role, which gives nothing yet.

        Raises ``ValidationFailed``, and ``Conflict`` for a taken name or code.
        """
        check_role(values.role_name)
        async with self._database.transaction() as connection:
            await self._delegation.check(connection, caller)
            return await roles.create(connection, role_code, values)

    async def update(
        self, caller: Caller, role_id: int, values: Mapping[str, Any], match: Callable[[Role], None]
    ) -> Role:
        """Store the given fields of ``RoleValues``; absent fields are unchanged.

        Raises ``NotFound``, ``ValidationFailed``, and ``Conflict`` for a taken name and if no administrator
        would remain.
        """
        if "role_name" in values:
            check_role(values["role_name"])
        async with self._database.transaction() as connection:
            async with keeping_an_administrator(connection):
                before = await self._for_change(connection, caller, role_id, match)
                saved = await roles.update(connection, role_id, values)
            affected = [] if saved.enabled == before.enabled else await rights.in_role(connection, role_id)
            await self._revocations.mark_first(affected)
        await self._revocations.mark_all(affected)
        return saved

    async def delete(self, caller: Caller, role_id: int, match: Callable[[Role], None]) -> None:
        """Delete a role; raises ``NotFound``, and ``Conflict`` with the names of users who have it."""
        async with self._database.transaction() as connection:
            await self._for_change(connection, caller, role_id, match)
            names, number = await roles.users_of(connection, role_id, NAMED)
            if number:
                raise Conflict("Users have the role", users=names, userCount=number)
            await roles.delete(connection, role_id)

    async def set_menus(
        self, caller: Caller, role_id: int, menu_ids: Sequence[int], match: Callable[[list[int]], None]
    ) -> list[int]:
        """Give a role exactly these menus and Buttons; return their ids, in order.

        Raises ``NotFound``, ``ValidationFailed`` for ids that are not menus, and ``Conflict`` if no
        administrator would remain.
        """
        async with self._database.transaction(within=WITHIN) as connection:
            async with keeping_an_administrator(connection):
                check = await self._delegation.check(connection, caller)
                await roles.read(connection, role_id)
                await check.require_roles(connection, [role_id])
                await check.require_menus(connection, menu_ids)
                before = await roles.menu_ids(connection, role_id)
                match(before)
                await roles.set_menus(connection, role_id, menu_ids)
                saved = await roles.menu_ids(connection, role_id)
            affected = [] if saved == before else await rights.in_role(connection, role_id)
            await self._revocations.mark_first(affected)
        await self._revocations.mark_all(affected)
        return saved

    async def _for_change(
        self, connection: Connection, caller: Caller, role_id: int, match: Callable[[Role], None]
    ) -> Role:
        check = await self._delegation.check(connection, caller)
        stored = await roles.read(connection, role_id)
        await check.require_roles(connection, [role_id])
        match(stored)
        return stored


def check_role(role_name: str) -> None:
    """Check that ``role_name`` can be the name of a role; raises ValidationFailed."""
    if fault := text_fault(role_name):
        raise ValidationFailed(("roleName", fault))
