"""Changes of roles: names, status, and the menus and Buttons that they give."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from service.administration.roles import edits
from service.administration.unit_of_work import UnitsOfWork
from service.kernel.identity import Caller
from service.records.roles.roles import Role, RoleValues


class RoleChanges:
    """Writes roles, for callers who hold all permissions of the role before and after the change.

    ``match`` is called with the stored values, under the lock; its exceptions roll the change back. If the
    rights of a role change, its users must refresh their tokens. Roles have no policy lines, so nothing is
    published (decision 0009).

    All raise ``PermissionDenied`` if the caller lacks a code, and what ``edits`` and ``UnitsOfWork`` raise.
    """

    def __init__(self, units: UnitsOfWork) -> None:
        self._units = units

    async def create(self, caller: Caller, role_code: str, values: RoleValues) -> Role:
        """Create a role, which gives nothing yet."""
        async with self._units.of_roles(caller) as unit:
            saved = await edits.create(unit, role_code, values)
            await unit.made(saved)
        return saved

    async def update(
        self, caller: Caller, role_id: int, values: Mapping[str, Any], match: Callable[[Role], None]
    ) -> Role:
        """Store the given fields of ``RoleValues``; absent fields are unchanged."""
        async with self._units.of_roles(caller) as unit:
            return await edits.update(unit, role_id, values, match)

    async def delete(self, caller: Caller, role_id: int, match: Callable[[Role], None]) -> None:
        """Delete a role that no user has."""
        async with self._units.of_roles(caller) as unit:
            await edits.delete(unit, role_id, match)

    async def set_menus(
        self, caller: Caller, role_id: int, menu_ids: Sequence[int], match: Callable[[list[int]], None]
    ) -> list[int]:
        """Give a role exactly these menus and Buttons; return their ids, in order."""
        async with self._units.of_roles(caller) as unit:
            return await edits.set_menus(unit, role_id, menu_ids, match)
