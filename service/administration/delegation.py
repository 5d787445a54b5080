"""Delegation: callers can give only what they hold, and act only on users who hold no more.

The code of an endpoint admits the caller; this module decides on which users the caller may act, and which
permissions the caller may give. All such comparisons of held codes are made here.
"""

from __future__ import annotations

from collections.abc import Iterable

from service.errors import PermissionDenied, RefreshRequired
from service.kernel.codes import HeldCodes
from service.kernel.identity import Caller
from service.kernel.target import Target
from service.records.database.transactions import Connection
from service.records.roles import rights


class Grantor:
    """The caller of a change of rights; may give what both the token and the database say is held."""

    def __init__(self, caller: Caller, stored: HeldCodes) -> None:
        self.user_id = caller.user_id
        self._token = caller.held
        self._stored = stored

    def holds(self, code: str) -> bool:
        """True if the caller may give ``code``."""
        return self._token.grants(code) and self._stored.grants(code)

    def require(self, codes: Iterable[str], why: str) -> None:
        """Check that the caller holds each of ``codes``; wildcards are compared as sets of codes.

        Raises PermissionDenied with ``why`` as its message and the missing codes as ``required``.
        """
        if lacking := sorted({code for code in codes if not self.holds(code)}):
            raise PermissionDenied(why, required=lacking)

    async def target(self, connection: Connection, user_id: int) -> Target:
        """Return the user as a target on which the caller may act; the user need not exist.

        Callers may act on themselves, and on users of whom they hold every code, also those that the user
        would hold if all roles and Buttons were enabled. PermissionDenied else: who sets the password of a
        user could act as that user, and who ends the sessions of a user again and again keeps that user out.
        """
        if user_id != self.user_id:
            reach = await rights.reach_of_users(connection, [user_id])
            self.require(reach, "The user holds permissions that you do not hold")
        return Target(user_id)

    async def require_roles(self, connection: Connection, role_ids: Iterable[int]) -> None:
        """Check that the caller holds all that these roles give, or would give if all were enabled.

        Needed to give, take away or change a role. Raises PermissionDenied.
        """
        reach = await rights.reach_of_roles(connection, role_ids)
        self.require(reach, "The role gives permissions that you do not hold")

    async def require_menus(self, connection: Connection, menu_ids: Iterable[int]) -> None:
        """Check that the caller holds the codes of all Buttons of these menus; raises PermissionDenied."""
        codes = await rights.codes_of_menus(connection, menu_ids)
        self.require(codes, "Among the Buttons are permissions that you do not hold")


async def grantor(connection: Connection, caller: Caller) -> Grantor:
    """Return what ``caller`` may give now, and lock all rights until the transaction ends.

    What the token says may have changed while the request waited, so it is read anew, behind the lock.
    In a change of the policy the lock of the policy comes first. RefreshRequired when the caller has been
    deleted, disabled or banned meanwhile.
    """
    await rights.lock(connection)
    held = await rights.of_enabled_user(connection, caller.user_id)
    if held is None:
        raise RefreshRequired
    return Grantor(caller, HeldCodes(held.permissions))
