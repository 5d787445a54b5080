"""Lockout protection: requests that administer the policy stay open to a holder of ``*``.

``last_administrator`` keeps at least one holder, with the demanded second factor.
"""

import asyncio
from collections.abc import Iterator
from functools import lru_cache
from operator import attrgetter
from typing import Final

from service.authz.engine.lines import changes
from service.authz.engine.policy import Policy, is_registered
from service.authz.engine.rules import ANYONE, ASSURANCE, ENDPOINT, OF_REQUESTS, RESOURCE, assured
from service.errors import Conflict
from service.kernel.assurance import STRENGTHS, Acr, challenge_of
from service.kernel.codes import HeldCodes
from service.kernel.core_sentences import sentence
from service.kernel.permission_catalogue import ADMINISTERING
from service.laboratory.proof.batch_decider import BatchDecider
from service.laboratory.proof.request_classes import RequestClass, registered, request_classes
from service.records import role_rights
from service.records.database.transactions import Connection

_EVERYTHING: Final = HeldCodes(["*"])


def locked_out(policy: Policy) -> list[str]:
    """Return the requests that administer the policy and that a holder of ``*`` can't make, sorted.

    Such as ``PUT /api/resource/{id}/buttons``, or ``PUT /api/resource/7/buttons`` where a resource takes that
    one alone. The enforcer decides, in both layers. A hundred thousand resources take about a second: call it
    off the event loop.
    """
    return [request.name for request in _closed(policy)]


def closing_resources(policy: Policy) -> dict[str, list[str]]:
    """Return, by registered resource, the requests of ``locked_out`` that it closes.

    Requests that are closed because no resource matches are listed under ``@unregistered``.
    """
    closing: dict[str, list[str]] = {}
    for request in _closed(policy):
        closing.setdefault(request.resource(policy), []).append(request.name)
    return closing


async def require_way_back(candidate: Policy, in_force: Policy) -> None:
    """Check that ``candidate`` keeps what ``in_force`` lets a holder of ``*`` administer.

    Raises Conflict with the closed requests as ``lockedOut``. Requests closed before don't count, so that
    they can be opened step by step; before the first policy, all are closed.
    """
    if in_force.revision and (closing := await asyncio.to_thread(_newly_locked_out, candidate, in_force)):
        raise Conflict(
            sentence("locks_everyone_out"),
            rule="way_back",
            lockedOut=closing,
        )


async def require_able(connection: Connection, candidate: Policy, in_force: Policy) -> None:
    """Raise Conflict if ``candidate`` demands of administrators what none of them can prove any more."""
    before, after = demanded_acr(in_force), demanded_acr(candidate)
    if STRENGTHS.index(after) > STRENGTHS.index(before) and not await role_rights.has_administrator(
        connection, after
    ):
        raise Conflict(sentence("factor_locks_administrators_out"), rule="way_back")


@lru_cache(maxsize=4)
def demanded_acr(policy: Policy) -> Acr:
    """Return the strength of authentication that meets all demands on administering the policy."""
    rules = policy.rules
    served = rules.objects(ENDPOINT)
    routes = [name for name in served if name in ADMINISTERING]
    demands = [rules.codes(ASSURANCE, assured(ENDPOINT, name)) for name in routes]
    prefix = assured(RESOURCE, "")
    demanding = {
        name.removeprefix(prefix): words
        for name, words in rules.by_object[ASSURANCE].items()
        if name.startswith(prefix) and ANYONE not in words
    }
    if demanding:
        requests = request_classes(routes, filter(is_registered, demanding), serving=policy.routes)
        demands += [demanding.get(request.resource(policy), ()) for request in requests]
    needs = [challenge_of(words) for words in demands]
    return max(((each.acr_values[0]) for each in needs if each), key=STRENGTHS.index, default=STRENGTHS[0])


def _newly_locked_out(candidate: Policy, in_force: Policy) -> list[str]:
    before = BatchDecider(in_force)
    return [
        request.name
        for request in _closed(candidate, in_force)
        if before.passes_request(request, _EVERYTHING)
    ]


def _closed(policy: Policy, other: Policy | None = None) -> Iterator[RequestClass]:
    """Yield those requests of ``_administering`` that ``policy`` lets no holder of ``*`` send."""
    decide = BatchDecider(policy)
    for request in _administering(policy, other):
        if not decide.passes_request(request, _EVERYTHING):
            yield request


def _administering(policy: Policy, other: Policy | None = None) -> list[RequestClass]:
    """Return the requests that administer the policy, by name.

    With ``other``, only requests that the two policies could decide differently, distinguished by both.
    """
    routes = [name for name in policy.rules.objects(ENDPOINT) if name in ADMINISTERING]
    resources, differing = registered(policy), set()
    if other is not None:
        changed = changes(other.rules.by_object, policy.rules.by_object)
        if all(layer not in OF_REQUESTS for layer, _ in changed):
            return []
        differing = registered(policy) ^ registered(other)
        resources |= differing
        if not differing and all(layer not in OF_REQUESTS or name in resources for layer, name in changed):
            # A request goes to the same resource in both, and is decided alike where that has not changed.
            resources = {name for layer, name in changed if layer == RESOURCE}
    requests = request_classes(routes, resources, differing, serving=policy.routes)
    return sorted(requests, key=attrgetter("name"))
