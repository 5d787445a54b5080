"""What applying a state would do: the edits, who gains and loses what, and what would be refused."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from service.administration import stored_state
from service.administration.impact import NOBODY_KEPT_OUT, KeptOut, kept_out_named, moves_of
from service.administration.role_edits import NAMED
from service.administration.state import State
from service.administration.state_edits import Edits, after, edits_between
from service.administration.state_standing import standing
from service.administration.stored_state import Stored
from service.authz.engine.rules import PolicyError
from service.authz.invariants.checking import Holders, Situation, newly_broken
from service.authz.publishing.lockout import require_way_back
from service.authz.publishing.shipped import Shipped
from service.authz.review.impact import Differences, Roles, Standing, differences
from service.errors import Conflict
from service.kernel.names import name_key
from service.records import role_holdings, roles
from service.records.database.transactions import Connection, Database

WITHIN = 60.0  # seconds for reading; a hundred thousand users take some tenths of one


@dataclass(frozen=True, slots=True)
class Plan:
    """The edits, what they change for whom, and why they could not be applied by anybody.

    ``impact`` is None if no policy can be built from what would be stored.
    """

    edits: Edits
    impact: Differences | None
    refused: tuple[str, ...]
    kept_out: KeptOut = NOBODY_KEPT_OUT


async def plan(database: Database, shipped: Shipped, desired: State, *, prune: bool) -> Plan:
    """Return what applying ``desired`` would do to what is stored; saves nothing, and holds no lock.

    All is read from one snapshot and compared in memory. ``refused`` does not know what the user who will
    apply it lacks. Raises PolicyError if no policy can be built from what is stored, Conflict for a tree of
    menus that can't be written, and Unavailable.
    """
    async with database.snapshot(within=WITHIN) as connection:
        result = await stored_state.read(connection)
        held = await role_holdings.read(connection)
        out = await role_holdings.kept_out_by_roles(connection)
        edits = edits_between(result.state, desired, prune=prune)
        refused = await _users_left(connection, result, edits)
        users = await role_holdings.names_by_roles(connection) if shipped.invariants.about_users else {}
    would_be = after(result.state, edits)
    refused += _taken(would_be)
    before = await asyncio.to_thread(standing, result.state, shipped, held.users)
    try:
        then = await asyncio.to_thread(standing, would_be, shipped, held.users)
    except PolicyError as fault:
        return Plan(edits, None, (*refused, *fault.faults))
    if _has_administrator(before, held.persons) and not _has_administrator(then, held.persons):
        refused.append("This would leave no enabled user who may do everything")
    try:
        await require_way_back(then.policy, before.policy)
    except Conflict as refusal:
        refused.append(f"{refusal.detail}: {', '.join(refusal.extra['lockedOut'])}")
    situations = [
        Situation(policy_standing.policy, _holders(policy_standing, users))
        for policy_standing in (before, then)
    ]
    broken = await asyncio.to_thread(newly_broken, shipped.invariants, *situations)
    refused += (f"This would break the invariant {violation}" for violation in broken)
    moves = moves_of(out, out)
    impact = await asyncio.to_thread(differences, before, then, moves=moves)
    concerned = [user_id for move in impact.altered for user_id in moves[move]]
    return Plan(edits, impact, tuple(refused), await kept_out_named(database, concerned))


def _taken(state: State) -> Iterator[str]:
    """Yield why names and codes of ``state``, some of which only the database has, can't be stored."""
    codes: dict[str, str] = {}
    for key, resource in state.resources.items():
        if (other := codes.setdefault(resource.resource_code, key)) != key:
            yield f"{other} and {key} have the same code, {resource.resource_code}"
    names: dict[str, str] = {}
    for key, role in state.roles.items():
        if (other := names.setdefault(name_key(role.role_name), key)) != key:
            yield f"The roles {other} and {key} have the same name, {role.role_name}"


async def _users_left(connection: Connection, current: Stored, edits: Edits) -> list[str]:
    """Return why roles can't be deleted: users have them."""
    refused = []
    for edit in edits.edits:
        if edit.kind == "role" and edit.action == "delete":
            names, number = await roles.users_of(connection, current.ids["role", edit.key], NAMED)
            if number:
                more = ", …" if number > len(names) else ""
                refused.append(f"Users have the role {edit.key}: {', '.join(names)}{more}")
    return refused


def _has_administrator(policy_standing: Standing, persons: Mapping[Roles, int]) -> bool:
    return any(number and "*" in policy_standing.held(roles).codes for roles, number in persons.items())


def _holders(policy_standing: Standing, users: Mapping[Roles, tuple[str, ...]]) -> Holders:
    return Holders({role: codes for role, codes in policy_standing.codes.items() if codes}, users)
