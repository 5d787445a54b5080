"""What would open a denial: codes, the roles that give them, and Buttons that are disabled."""

from __future__ import annotations

from dataclasses import dataclass

from service.authz.engine.policy import Policy
from service.authz.engine.rules import RESOURCE
from service.authz.review.explain import LayerExplained
from service.kernel.codes import HeldCodes
from service.records.database.transactions import Connection
from service.records.resources import bindings
from service.records.roles import roles


@dataclass(frozen=True, slots=True)
class WouldOpen:
    """Any one of ``permissions``, or of ``roles``, would do.

    ``disabled_buttons`` are codes to which the resource is bound in vain, since their Buttons are disabled.
    """

    permissions: tuple[str, ...]
    roles: tuple[str, ...]
    disabled_buttons: tuple[str, ...]


async def would_open(connection: Connection, policy: Policy, denied: LayerExplained) -> WouldOpen:
    """Return what would open ``denied``, the answer of a layer of ``policy``; roles as they are stored."""
    given = await roles.held_codes(connection)
    opening = [
        role
        for role, codes in given.items()
        if policy.judge(denied.layer, denied.object, HeldCodes(codes)).allowed
    ]
    method, _, path = denied.object.partition(" ")
    disabled = await bindings.disabled_marks(connection, method, path) if denied.layer == RESOURCE else ()
    return WouldOpen(denied.required, tuple(opening), disabled)
