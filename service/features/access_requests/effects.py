"""Effect of granting a requested role: broken invariants, codes already held, changes of the role."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from service.authz.engine.policy import Policy
from service.authz.engine.rules import PERMISSION
from service.features.access_requests import store
from service.features.access_requests.asking import requested_expiry
from service.features.access_requests.schema import AccessRequest
from service.kernel.coded_sentences import Sentence
from service.kernel.codes import HeldCodes
from service.laboratory.invariants.checking import Holders, Situation, newly_broken
from service.laboratory.invariants.spans import Held, Span
from service.laboratory.invariants.statements import Invariants
from service.records import role_holdings, role_rights, roles
from service.records.database.transactions import Connection


@dataclass(frozen=True, slots=True)
class Effect:
    """Effect of a grant.

    ``breaks`` are sentences about broken invariants. ``held`` are codes of the role that the author already
    holds. ``permissions`` are the codes of the role at the time of the request; None if they were not stored.
    ``added`` and ``removed`` are the changes since then. All codes are sorted.
    """

    breaks: Sequence[Sentence]
    held: Sequence[str]
    permissions: Sequence[str] | None = None
    added: Sequence[str] = ()
    removed: Sequence[str] = ()


async def effect_of(
    connection: Connection, policy: Policy, invariants: Invariants, request: AccessRequest, now: datetime
) -> Effect:
    """Return the effect of granting the role of a pending request, without writing.

    Only the author's roles change, so the invariants are checked for the author alone.
    """
    given = await roles.held_codes(connection)
    rights = await role_rights.of(connection, request.user_id, now)
    holder = HeldCodes(rights.permissions)
    mine = given.get(request.role_code, ())
    held = [code for code in mine if policy.judge(PERMISSION, code, holder).allowed]
    since = await _since(connection, request)
    if not invariants.about_users or not policy.revision:
        return Effect((), held, *since)
    windows = [
        Held(role, Span(None if begin is None or begin <= now else begin, end))
        for role, begin, end in await role_holdings.windows_of(connection, request.user_id, now)
    ]
    added = Held(request.role_code, Span(request.valid_from, requested_expiry(request, now)))
    before, after = (
        Situation(policy, Holders(given, changing={request.user_name: tuple(roles_of)}, now=now))
        for roles_of in (windows, [*windows, added])
    )
    broken = await asyncio.to_thread(newly_broken, invariants, before, after)
    return Effect([violation.stated for violation in broken], held, *since)


async def _since(
    connection: Connection, request: AccessRequest
) -> tuple[Sequence[str] | None, Sequence[str], Sequence[str]]:
    """Return the role's codes at the time of the request, and the codes added and removed since."""
    then = await store.permissions_then(connection, request.id)
    if then is None:
        return None, (), ()
    now = await permissions_of(connection, request.role_id)
    return then, sorted(now.difference(then)), [code for code in then if code not in now]


async def permissions_of(connection: Connection, role_id: int) -> set[str]:
    """Return the codes that a role can give now, for display to approvers."""
    return await role_rights.reach_of_roles(connection, [role_id])
