"""Changes of roles: names, status, and the menus and Buttons that they give."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from service.administration import role_edits
from service.administration.given_roles import NOTHING_SAID, Given
from service.administration.unit_of_work import UnitsOfWork
from service.kernel.identity import Caller
from service.records.roles import GivenMenu, Role, RoleValues


class RoleChanges:
    """Writes roles, for callers who hold all permissions of the role before and after the change.

    ``match`` is called with the stored values, under the lock; its exceptions roll the change back. If the
    rights of a role change, its users must refresh their tokens. Roles have no policy lines, so nothing is
    published (decision 0009).

    All raise ``PermissionDenied`` if the caller lacks a code, and what ``edits`` and ``UnitsOfWork`` raise.
    """

    def __init__(self, units: UnitsOfWork) -> None:
        self._units = units

    async def create(
        self, caller: Caller, role_code: str, values: RoleValues, given: Given = NOTHING_SAID
    ) -> Role:
        """Create a role, which gives what is ``given``, and nothing otherwise."""
        async with self._units.of_roles(caller) as unit:
            saved = await role_edits.create(unit, role_code, values, given)
            await unit.made(saved)
        return saved

    async def update(
        self,
        caller: Caller,
        role_id: int,
        values: Mapping[str, Any],
        match: Callable[[Role], None],
        given: Given = NOTHING_SAID,
    ) -> Role:
        """Store the given fields of ``RoleValues``, and what is ``given``; all else is unchanged."""
        async with self._units.of_roles(caller) as unit:
            return await role_edits.update(unit, role_id, values, match, given)

    async def delete(self, caller: Caller, role_id: int, match: Callable[[Role], None]) -> None:
        """Delete a role that no user has."""
        async with self._units.of_roles(caller) as unit:
            await role_edits.delete(unit, role_id, match)

    async def set_menus(
        self, caller: Caller, role_id: int, given: Given, match: Callable[[list[GivenMenu]], None]
    ) -> list[GivenMenu]:
        """Give a role exactly the menus and Buttons that are ``given``; return them, by id."""
        async with self._units.of_roles(caller) as unit:
            return await role_edits.set_menus(unit, role_id, given, match)
