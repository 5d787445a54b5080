"""What would allow a denied request: codes, roles that give them, and disabled Buttons."""

from __future__ import annotations

from dataclasses import dataclass

from service.authz.engine.policy import Policy
from service.authz.engine.rules import RESOURCE
from service.authz.review.batch_decider import BatchDecider
from service.authz.review.explain import LayerExplained
from service.kernel.codes import HeldCodes
from service.records.database.transactions import Connection
from service.records.menus import menus
from service.records.menus.menus import Button
from service.records.resources import bindings
from service.records.roles import roles


@dataclass(frozen=True, slots=True)
class WouldOpen:
    """Any one of ``permissions``, of ``roles`` or of the enabled ``buttons`` would be enough.

    ``disabled_buttons`` are bound codes without effect, since their Buttons are disabled.
    """

    permissions: tuple[str, ...]
    roles: tuple[str, ...]
    buttons: tuple[Button, ...]
    disabled_buttons: tuple[str, ...]


async def would_open(connection: Connection | None, policy: Policy, denied: LayerExplained) -> WouldOpen:
    """Return what would allow ``denied``, the answer of a layer of ``policy``; with the stored roles.

    Without a connection no roles and Buttons are known.
    """
    if connection is None:
        return WouldOpen(denied.required, (), (), ())
    lines = policy.rules.of(denied.layer, denied.object)
    decider = BatchDecider(Policy(policy.model_text, lines))

    def opens(*codes: str) -> bool:
        return decider.opens(denied.layer, denied.object, HeldCodes(codes))

    given = await roles.held_codes(connection)
    opening = [role for role, codes in given.items() if opens(*codes)]
    # A login is enough: no Button is needed.
    buttons = (
        [] if opens() else [one for one in await menus.enabled_buttons(connection) if opens(one.auth_mark)]
    )
    method, _, path = denied.object.partition(" ")
    disabled = await bindings.disabled_marks(connection, method, path) if denied.layer == RESOURCE else ()
    return WouldOpen(denied.required, tuple(opening), tuple(buttons), disabled)
