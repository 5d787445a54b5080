"""The effects of applying a state: edits, users who gain and lose rights, and refusals."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from service.administration import role_edits
from service.administration.delegation import require_foreign
from service.administration.older_nodes import require_known
from service.authz.engine.policy import Policy
from service.authz.engine.rules import ASSURANCE, REQUEST, UNREGISTERED, PolicyError
from service.authz.publishing.changes import not_buildable
from service.authz.publishing.derive import derive
from service.authz.publishing.shipped import Shipped
from service.errors import Conflict, ValidationFailed
from service.features.explain.dry_runs import NOBODY_KEPT_OUT, KeptOut, kept_out_named, moves_of
from service.features.policy_checks.guard import broken, users_over_time
from service.features.policy_checks.lockout import require_way_back
from service.features.policy_history import state_edits, stored_state
from service.features.policy_history.sentences import sentence
from service.features.policy_history.state import ResourceState, RoleState, State
from service.features.policy_history.stored_state import Stored
from service.kernel.assurance import words_of
from service.kernel.services import BoundResource, PublishedOpening, object_of, split_object
from service.laboratory.analysis.impact import Differences, Roles, Standing, differences
from service.laboratory.invariants.checking import Holders, Situation, newly_broken
from service.records import role_holdings
from service.records.database.transactions import Connection, Database
from service.records.request_rules import published_rule
from service.records.services import router_of

_DEMAND: Final = {"assurance", "services"}
WITHIN = 60.0  # seconds for reading; a hundred thousand users take some tenths of a second


@dataclass(frozen=True, slots=True)
class Plan:
    """The edits, their effects on users, and the refusals that apply to every user.

    ``refused`` has the refusals of an apply, in its words; an apply stops at the first. ``impact`` is None if
    no policy can be built from the planned state.
    """

    edits: state_edits.Edits
    impact: Differences | None
    refused: tuple[str, ...]
    kept_out: KeptOut = NOBODY_KEPT_OUT


async def plan(database: Database, shipped: Shipped, desired: State, *, prune: bool) -> Plan:
    """Return the effects of applying ``desired``; saves nothing, and takes no locks.

    All data comes from one snapshot and is compared in memory. ``refused`` ignores codes that the applying
    user lacks. Raises ``PolicyError`` if no policy can be built from the stored state, ``Conflict`` for a
    menu tree that can't be written, and ``Unavailable``.
    """
    async with database.snapshot(within=WITHIN) as connection:
        result = await stored_state.read(connection)
        held = await role_holdings.read(connection)
        out = await role_holdings.kept_out_by_roles(connection)
        edits = state_edits.edits_between(result.state, desired, prune=prune)
        refused = [state_edits.in_words(refusal) async for refusal in _users_left(connection, result, edits)]
        refused += [state_edits.in_words(refusal) async for refusal in _unasked(connection, edits)]
        users = await users_over_time(connection, shipped.invariants)
    would_be = state_edits.after(result.state, edits)
    before = await asyncio.to_thread(standing, result.state, shipped, held.users)
    refused += map(state_edits.in_words, _foreign(before.policy, edits))
    try:
        state_edits.require_no_clash(result.state, would_be)
    except Conflict as refusal:
        refused += state_edits.in_words(refusal).splitlines()
    try:
        then = await asyncio.to_thread(standing, would_be, shipped, held.users)
    except PolicyError as fault:
        return Plan(edits, None, (*refused, state_edits.in_words(not_buildable(fault))))
    if _has_administrator(before, held.persons) and not _has_administrator(then, held.persons):
        refused.append(sentence("last_full_administrator"))
    try:
        await require_way_back(then.policy, before.policy)
    except Conflict as refusal:
        refused.append(state_edits.in_words(refusal))
    situations = [
        Situation(policy_standing.policy, _holders(policy_standing, users))
        for policy_standing in (before, then)
    ]
    if violations := await asyncio.to_thread(newly_broken, shipped.invariants, *situations):
        refused.append(state_edits.in_words(broken(violations)))
    moves = moves_of(out, out)
    impact = await asyncio.to_thread(differences, before, then, moves=moves)
    concerned = [user_id for move in impact.altered for user_id in moves[move]]
    return Plan(edits, impact, tuple(refused), await kept_out_named(database, concerned))


def _foreign(policy: Policy, edits: state_edits.Edits) -> Iterator[state_edits.EditRefusedError]:
    """Yield the refusals of new services whose names are prefixes of our own permission codes."""
    for edit in edits.edits:
        if edit.kind == "service" and edit.action == "create":
            try:
                require_foreign(policy, "name", edit.key)
            except ValidationFailed as refusal:
                yield state_edits.EditRefusedError(edit, refusal)


async def _users_left(
    connection: Connection, current: Stored, edits: state_edits.Edits
) -> AsyncIterator[state_edits.EditRefusedError]:
    """Yield the refusals to delete roles that users have."""
    for edit in edits.edits:
        if edit.kind == "role" and edit.action == "delete":
            try:
                await role_edits.require_unused(connection, current.ids["role", edit.key], shows_users=True)
            except Conflict as refusal:
                yield state_edits.EditRefusedError(edit, refusal)


async def _unasked(
    connection: Connection, edits: state_edits.Edits
) -> AsyncIterator[state_edits.EditRefusedError]:
    """Yield the refusals of authentication demands that some workers would not enforce."""
    for edit in edits.edits:
        demanding = isinstance(edit.after, ResourceState) and edit.after.assurance and _DEMAND
        asked = isinstance(edit.after, RoleState) and edit.after.request_rule and {"request_rule"}
        if changed := demanding or asked:
            if not changed & edit.changes.keys():
                continue
            try:
                await require_known(connection, ASSURANCE if demanding else REQUEST)
            except Conflict as refusal:
                yield state_edits.EditRefusedError(edit, refusal)


def _has_administrator(policy_standing: Standing, persons: Mapping[Roles, int]) -> bool:
    return any(number and "*" in policy_standing.held(roles).codes for roles, number in persons.items())


def _holders(policy_standing: Standing, users: Holders) -> Holders:
    return replace(users, codes={role: codes for role, codes in policy_standing.codes.items() if codes})


def standing(state: State, shipped: Shipped, users: Mapping[Roles, int]) -> Standing:
    """Return the rights of users under the policy that would be published for ``state``.

    ``users`` counts the enabled users by their roles. Raises ``PolicyError`` if no policy can be built.
    """
    enabled = {code for code, button in state.buttons.items() if button.enabled}
    codes = {
        key: tuple(code for code in role.buttons if code in enabled) if role.enabled else ()
        for key, role in state.roles.items()
    }
    return Standing(policy_of(state, shipped), codes, users)


def policy_of(state: State, shipped: Shipped) -> Policy:
    """Return the policy that would be published for ``state``, as revision 1; PolicyError for none."""
    registered = []
    openings = [
        PublishedOpening(object_of(name, UNREGISTERED), service_state.opened)
        for name, service_state in state.services.items()
        if service_state.opened is not None
    ]
    for key, resource in state.resources.items():
        if resource.enabled:
            service, route = split_object(key)
            method, _, path = route.partition(" ")
            bound = tuple((code, state.buttons[code].enabled) for code in resource.buttons)
            demand = words_of(resource.assurance, services=resource.services)
            registered.append(BoundResource(method, path, bound, service, demand))
            if resource.opened is not None:
                openings.append(PublishedOpening(key, resource.opened))
    # Bit positions only matter for tokens.
    disabled = {code for code, button in state.buttons.items() if not button.enabled}
    services = [router_of(name, values) for name, values in state.services.items()]
    shared = derive(
        registered,
        state.buttons,
        disabled=disabled,
        services=services,
        openings=openings,
        requestable=[
            published_rule(key, role.request_rule.values())
            for key, role in state.roles.items()
            if role.enabled and role.request_rule is not None
        ],
    )
    return shipped.policy(shared, {}, 1)
