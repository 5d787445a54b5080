"""Roles and Buttons that would allow a denied request, and sources of held codes."""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from service.authz.engine.policy import Policy
from service.authz.engine.rules import ASSURANCE, RESOURCE
from service.kernel.codes import HeldCodes
from service.kernel.cooperative_yield import cooperatively
from service.kernel.services import split_object
from service.laboratory.analysis.explain import LayerExplained
from service.laboratory.analysis.sources import NOW, Instant, Subject
from service.laboratory.proof.batch_decider import BatchDecider
from service.records import bindings, menus, role_holdings, role_lives, roles
from service.records.database.transactions import Connection
from service.records.menus import Button
from service.records.role_holdings import CodeOrigin


@dataclass(frozen=True, slots=True)
class WouldOpen:
    """Alternatives: any one of ``permissions``, ``roles`` or enabled ``buttons`` is enough.

    ``disabled_buttons`` are bound codes without effect, because their Buttons are disabled.
    """

    permissions: tuple[str, ...]
    roles: tuple[str, ...]
    buttons: tuple[Button, ...]
    disabled_buttons: tuple[str, ...]


async def would_open(
    connection: Connection | None, policy: Policy, denied: LayerExplained, instant: Instant = NOW
) -> WouldOpen:
    """Return the ways to allow ``denied``, the answer of a layer of ``policy``.

    Roles are those of ``instant``; Buttons and bindings are the current ones.

    Without a connection no roles and Buttons are known. No code meets a demand of the layer ``assurance``.
    """
    if denied.layer == ASSURANCE:
        return WouldOpen((), (), (), ())
    if connection is None:
        return WouldOpen(denied.required, (), (), ())
    given, enabled = await roles.held_codes(connection), await menus.enabled_buttons(connection)
    if instant.then is not None:
        given = await role_lives.held_codes(connection, instant.then)
    # In a thread: thousands of roles and Buttons would block the event loop.
    opening, buttons = await asyncio.to_thread(_opening, policy, denied, given, enabled)
    service, route = split_object(denied.object)
    method, _, path = route.partition(" ")
    asked = denied.layer == RESOURCE
    disabled = await bindings.disabled_marks(connection, service, method, path) if asked else ()
    return WouldOpen(denied.required, opening, buttons, disabled)


def _opening(
    policy: Policy,
    denied: LayerExplained,
    given: Mapping[str, Collection[str]],
    enabled: Iterable[Button],
) -> tuple[tuple[str, ...], tuple[Button, ...]]:
    """Return the roles and the Buttons, each of which alone would allow ``denied``."""
    lines = policy.rules.of(denied.layer, denied.object)
    decider = BatchDecider(Policy(policy.model_text, lines))

    def opens(*codes: str) -> bool:
        return decider.opens(denied.layer, denied.object, HeldCodes(codes))

    passing = tuple(role for role, codes in cooperatively(given.items()) if codes and opens(*codes))
    if opens():  # a login is enough, without a Button
        return passing, ()
    return passing, tuple(button for button in cooperatively(enabled) if opens(button.auth_mark))


Origins = Mapping[str, Sequence[CodeOrigin]]
"""The roles and Buttons that give a held code, by code."""


async def origins_of(
    connection: Connection | None, asking: Subject, layers: Iterable[LayerExplained], instant: Instant = NOW
) -> Origins:
    """Return the origins of all codes that matched in ``layers``.

    For a user or a role, these are its own; otherwise all stored ones. Without a connection none are known.
    """
    codes = {fired.code for layer in layers for fired in layer.fired}
    origins: dict[str, list[CodeOrigin]] = defaultdict(list)
    if connection is None or not codes:
        return origins
    given = await role_holdings.origins(
        connection, codes, user_id=asking.user_id, at=instant.at, then=instant.then
    )
    for origin in given:
        if asking.role_code in (None, origin.role_code):
            origins[origin.code].append(origin)
    return origins
