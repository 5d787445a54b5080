"""What would allow a denied request: codes, roles that give them, and disabled Buttons."""

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
    """Any one of ``permissions``, or of ``roles``, would be enough.

    ``disabled_buttons`` are bound codes without effect, since their Buttons are disabled.
    """

    permissions: tuple[str, ...]
    roles: tuple[str, ...]
    disabled_buttons: tuple[str, ...]


async def would_open(connection: Connection, policy: Policy, denied: LayerExplained) -> WouldOpen:
    """Return what would allow ``denied``, the answer of a layer of ``policy``; with the stored roles."""
    given = await roles.held_codes(connection)
    opening = [
        role
        for role, codes in given.items()
        if policy.judge(denied.layer, denied.object, HeldCodes(codes)).allowed
    ]
    method, _, path = denied.object.partition(" ")
    disabled = await bindings.disabled_marks(connection, method, path) if denied.layer == RESOURCE else ()
    return WouldOpen(denied.required, tuple(opening), disabled)
