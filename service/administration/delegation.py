"""Nobody gives what they do not hold, and nobody acts on someone who holds more than they do.

The code of an endpoint lets a caller ask; this decides on whom the caller may act, and to whom the caller may
give what. Every comparison of held codes for these questions is made here.
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
        """Tell whether the caller may give ``code``."""
        return self._token.grants(code) and self._stored.grants(code)

    def require(self, codes: Iterable[str], why: str) -> None:
        """Return when the caller holds each of ``codes``, wildcards compared as sets of codes.

        PermissionDenied else, with ``why`` as its sentence and the codes that are lacking as ``required``.
        """
        if lacking := sorted({code for code in codes if not self.holds(code)}):
            raise PermissionDenied(why, required=lacking)

    async def target(self, connection: Connection, user_id: int) -> Target:
        """Return the user as somebody on whom the caller may act; there need not be such a user.

        Callers may act on themselves, and on users of whom they hold every code, also those that the user
        would hold if all roles and Buttons were enabled. PermissionDenied else: who sets the password of a
        user could act as that user, and who ends the sessions of a user again and again keeps that user out.
        """
        if user_id != self.user_id:
            reach = await rights.reach_of_users(connection, [user_id])
            self.require(reach, "The user holds permissions that you do not hold")
        return Target(user_id)

    async def require_roles(self, connection: Connection, role_ids: Iterable[int]) -> None:
        """Return when the caller holds all that these roles give, or would if all were enabled.

        PermissionDenied else, for whoever gives a role, takes it away, or changes it.
        """
        reach = await rights.reach_of_roles(connection, role_ids)
        self.require(reach, "The role gives permissions that you do not hold")

    async def require_menus(self, connection: Connection, menu_ids: Iterable[int]) -> None:
        """Return when the caller holds the codes of all Buttons among these menus; PermissionDenied else."""
        codes = await rights.codes_of_menus(connection, menu_ids)
        self.require(codes, "Among the Buttons are permissions that you do not hold")


async def grantor(connection: Connection, caller: Caller) -> Grantor:
    """Return what ``caller`` may give now, and let nobody's rights change before the transaction has ended.

    What the token says may have changed while the request waited, so it is read anew, behind the lock.
    In a change of the policy the lock of the policy comes first. RefreshRequired when the caller has been
    deleted, disabled or banned meanwhile.
    """
    await rights.lock(connection)
    held = await rights.of_enabled_user(connection, caller.user_id)
    if held is None:
        raise RefreshRequired
    return Grantor(caller, HeldCodes(held.permissions))
