"""Access to requests and objects: roles that pass a request, and requests that a role passes."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from service.authz.engine.policy import Policy
from service.authz.engine.rules import ASSURANCE, GRANT, PREFLIGHT, RESOURCE, UNREGISTERED
from service.kernel.codes import NO_CODES, HeldCodes
from service.kernel.services import PORTCULLIS, object_of, split_object
from service.laboratory.analysis.comparison import OnDemand
from service.laboratory.analysis.demands import least_words
from service.laboratory.analysis.equivalence_classes import EquivalenceClasses
from service.laboratory.analysis.explain import (
    Explanation,
    LayerExplained,
    LayerPassed,
    Located,
    ObjectExplanation,
    Passages,
    explain_at,
    explain_object,
    locate,
    registered_by,
)
from service.laboratory.analysis.impact import Roles, Standing
from service.laboratory.analysis.opening_codes import OpeningCodes
from service.laboratory.proof.batch_decider import BatchDecider, DecidingLines, all_requests, deciding_lines
from service.laboratory.proof.conditions import Clauses, clauses_of, lets_visitors_pass
from service.laboratory.proof.request_classes import RequestClass, registered, request_classes


@dataclass(frozen=True, slots=True)
class PassingRole:
    """A role that suffices to pass, its number of enabled users, and the answers of the layers."""

    role_code: str
    users: int
    resource: LayerExplained | None
    endpoint: LayerExplained | None
    asked: LayerExplained | None = None


@dataclass(frozen=True, slots=True)
class PassingTogether:
    """Roles that pass only together; ``users`` enabled users have exactly these roles."""

    roles: Roles
    users: int


@dataclass(frozen=True, slots=True)
class WhoPasses:
    """The roles and users that pass a request, or an object of one layer.

    ``visitors``: everybody passes, logged in or not. ``any_login``: every logged-in user passes. ``users``
    counts the enabled users who pass. ``roles`` are computed when read. ``role_sets`` are the combinations of
    roles of these users. ``others`` are requests of the same route that another resource decides.
    ``assurance`` are the weakest authentication demands, one of which is required besides the codes.
    ``registered_by`` are other services that registered a request without a route in this service.
    """

    asked: Explanation | ObjectExplanation
    visitors: bool
    any_login: bool
    users: int
    roles: Sequence[PassingRole]
    together: tuple[PassingTogether, ...]
    role_sets: tuple[Roles, ...]
    others: tuple[str, ...]
    assurance: tuple[str, ...]
    registered_by: tuple[str, ...] = ()


def who(standing: Standing, method: str, place: str, service: str = PORTCULLIS) -> WhoPasses:
    """Return access to a request of ``method`` to ``place``, a path of ``request_path``, in ``service``."""
    policy = standing.policy
    located = locate(policy, method, place, service)
    request_class = None if located.route is None else RequestClass(located.route, place, place)
    if located.external:
        request_class = RequestClass(method, place, place, service)
    lines = deciding_lines(clauses_of(policy, request_class))
    passing = _who(standing, lines, lambda held: explain_at(policy, located, held))
    served = located.external or located.route is not None
    return passing if served else replace(passing, registered_by=registered_by(policy, method, place))


def who_may(standing: Standing, layer: str, name: str) -> WhoPasses:
    """Return access to the object ``name`` of ``layer``, a layer that decides about held codes."""
    policy = standing.policy
    lines = deciding_lines((policy.rules.codes(layer, name),))
    return _who(standing, lines, lambda held: explain_object(policy, layer, name, held))


def _who(
    standing: Standing,
    lines: DecidingLines,
    explained: Callable[[HeldCodes | None], Explanation | ObjectExplanation],
) -> WhoPasses:
    policy, asked = standing.policy, explained(NO_CODES)
    classes = EquivalenceClasses(
        OpeningCodes(
            standing.policy.model_text, {code for codes in standing.codes.values() for code in codes}
        ),
        standing.codes,
        [lines],
    )
    enough = {role for role in standing.codes if classes.of([role])}
    role_sets = tuple(roles for roles in standing.users if classes.of(roles))
    having: Counter[str] = Counter()
    for roles, number in standing.users.items():
        for role in roles:
            having[role] += number

    def passing(role: str) -> PassingRole:
        explanation = explained(standing.held([role]))
        if isinstance(explanation, ObjectExplanation):
            return PassingRole(role, having[role], None, None, explanation.layer)
        return PassingRole(role, having[role], explanation.resource, explanation.endpoint)

    together = [
        PassingTogether(roles, standing.users[roles])
        for roles in role_sets
        if len(roles) > 1 and enough.isdisjoint(roles)
    ]
    return WhoPasses(
        asked=asked,
        visitors=explained(None).permitted,
        any_login=asked.permitted,
        users=sum(standing.users[roles] for roles in role_sets),
        roles=OnDemand(sorted(enough), passing),
        together=tuple(sorted(together, key=lambda group: group.roles)),
        role_sets=role_sets,
        others=_others(policy, asked),
        assurance=_assurance(policy, asked),
    )


def _assurance(policy: Policy, asked: Explanation | ObjectExplanation) -> tuple[str, ...]:
    demands = tuple(policy.rules.codes(ASSURANCE, demand) for demand in asked.demanded)
    return least_words(policy, demands) if demands else ()


def _others(policy: Policy, asked: Explanation | ObjectExplanation) -> tuple[str, ...]:
    if isinstance(asked, ObjectExplanation) or asked.endpoint is None or asked.public:
        return ()
    route = asked.endpoint.object
    requests = request_classes([route], registered(policy), serving=policy.routes)
    return tuple(
        sorted(request.name for request in requests if request.resource(policy) != asked.resource.object)
    )


Kind = Literal["request", "grant"]
Needed = Literal["code", "login", "nothing"]
"""Requirement to pass: a held code, a login without codes, or nothing."""


@dataclass(frozen=True, slots=True)
class Access:
    """A request, or a code to grant, that a subject passes; ``object`` names it."""

    kind: Kind
    object: str
    example: RequestClass | None = None
    needs: Needed = "code"

    def passed(self, policy: Policy, passages: Passages) -> tuple[LayerPassed, ...]:
        """Return the policy lines by which the caller of ``passages`` passes, in order."""
        if self.example is None:
            return passages.of(GRANT, self.object)
        if self.example.route == PREFLIGHT:
            return passages.of(RESOURCE, PREFLIGHT)
        if self.example.route == UNREGISTERED:
            return passages.at(Located(None, self.object, external=True))
        method = split_object(self.object)[1].partition(" ")[0]
        return passages.at(locate(policy, method, self.example.path, self.example.service))


def what(policy: Policy, held: HeldCodes | None) -> list[Access]:
    """Return all that a holder of ``held`` passes: requests by path and method, then codes to grant.

    None is a visitor without a login.
    """
    decider = BatchDecider(policy)

    def passes(clauses: Clauses, caller: HeldCodes | None) -> bool:
        if caller is None:
            return lets_visitors_pass(policy, clauses)
        return decider.passes(deciding_lines(clauses), caller)

    def needs(clauses: Clauses) -> Needed:
        if not passes(clauses, NO_CODES):
            return "code"
        return "nothing" if passes(clauses, None) else "login"

    asked = ((request, clauses_of(policy, request)) for request in all_requests(policy))
    passed = [(request, clauses) for request, clauses in asked if passes(clauses, held)]
    grants = [code for code in policy.rules.objects(GRANT) if decider.opens(GRANT, code, held)]
    return [
        *(Access("request", request.name, request, needs(clauses)) for request, clauses in passed),
        *(Access("grant", code) for code in grants),
    ]


Needs = Literal["nothing", "login"]


def open_requests(policy: Policy) -> list[tuple[Access, Needs]]:
    """Return the requests that need no role, with their requirement: a login, or nothing."""
    visitors = {access.object for access in what(policy, None)}
    everybody = [access for access in what(policy, NO_CODES) if access.kind == "request"]
    # Openings in policy files count before their service is registered, which can happen at any time.
    for name in policy.own.objects(RESOURCE):
        service, route = split_object(name)
        if route == UNREGISTERED and service != PORTCULLIS and policy.service(service) is None:
            if policy.judge(RESOURCE, name, NO_CODES).allowed:
                everybody.append(Access("request", name, RequestClass(route, "", name, service)))
            if policy.judge(RESOURCE, name, None).allowed:
                visitors.add(name)
    for name in (name for name, router in policy.other_services.items() if router.allow_preflight):
        if policy.judge(RESOURCE, PREFLIGHT, NO_CODES).allowed:
            preflight = object_of(name, PREFLIGHT)
            everybody.append(Access("request", preflight, RequestClass(PREFLIGHT, "", preflight, name)))
            if policy.judge(RESOURCE, PREFLIGHT, None).allowed:
                visitors.add(preflight)
    return [(access, "nothing" if access.object in visitors else "login") for access in everybody]
