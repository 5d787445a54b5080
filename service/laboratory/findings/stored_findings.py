"""Lint the database: resources, bindings, codes, roles, and persons who cannot meet a demand."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import permutations
from typing import Final, TypeAlias

from service.authz.engine.coverage import losing
from service.authz.engine.lines import Lines
from service.authz.engine.policy import Policy
from service.authz.engine.rules import ANYONE, ENDPOINT, LOGIN, NOBODY, RESOURCE
from service.authz.engine.rules import UNREGISTERED as UNREGISTERED_REQUESTS
from service.authz.publishing.sync import unregistered, unrouted
from service.kernel.assurance import BY_STRONGEST, Acr, Satisfied
from service.kernel.codes import HeldCodes
from service.kernel.text import counted
from service.laboratory.analysis.demands import Callers, demands_on, meeting, weakest
from service.laboratory.analysis.equivalence_classes import Classes, EquivalenceClasses, bits_of
from service.laboratory.analysis.held_code_index import DecisiveCodes
from service.laboratory.analysis.impact import Roles, Standing
from service.laboratory.analysis.opening_codes import OpeningCodes
from service.laboratory.findings.findings import Finding
from service.laboratory.invariants.statements import NONE, Apart, EndsWithin, Invariants, OnlyRoles
from service.laboratory.proof.batch_decider import BatchDecider, DecidingLines, all_requests, deciding_lines
from service.laboratory.proof.conditions import clauses_of
from service.laboratory.proof.request_classes import RequestClass, registered, request_classes

UNMET: Final = "demand-unmet"

Strengths: TypeAlias = Mapping[tuple[Roles, Acr], int]
"""Numbers of persons by their roles and their strongest possible authentication."""

_BEST: Final[dict[Acr, Satisfied]] = {
    "pwd": BY_STRONGEST["@login-within-15m"],
    "mfa": BY_STRONGEST["@two-factors-within-15m"],
    "phr": BY_STRONGEST["@phishing-resistant-within-15m"],
}
_HAVE: Final[dict[Acr, str]] = {
    "pwd": "no second factor",
    "mfa": "no passkey",
    "phr": "nothing stronger than a passkey",
}


def unmet_demands(standing: Standing, strengths: Strengths) -> Iterator[Finding]:
    """Yield a finding for each set of roles, and the strength of its persons, that falls short of a demand.

    Requests that are open to every login do not count: no code is held for them.
    """
    policy, nothing = standing.policy, HeldCodes()
    decider = BatchDecider(policy)
    best = {_BEST[acr] for _, acr in strengths}
    lines: dict[RequestClass, DecidingLines] = {}
    demanding: dict[RequestClass, Callers] = {}
    for request in all_requests(policy):
        resource = request.resource(policy)
        enough = meeting(policy.model_text, demands_on(policy, request, resource))
        if best <= enough:
            continue  # as most requests: a login is enough
        asked_lines = deciding_lines(clauses_of(policy, request, resource))
        if not decider.passes(asked_lines, nothing):
            lines[request], demanding[request] = asked_lines, enough
    beyond = {
        acr: {request: lines[request] for request, enough in demanding.items() if _BEST[acr] not in enough}
        for acr in {acr for _, acr in strengths}
    }
    decisive = {
        acr: DecisiveCodes(standing.codes, {code for of in asked.values() for codes in of for code in codes})
        for acr, asked in beyond.items()
    }

    @cache
    def passed(acr: Acr, held: frozenset[str]) -> list[RequestClass]:
        holder = HeldCodes(held)
        return [request for request, of in beyond[acr].items() if decider.passes(of, holder)]

    for (roles, acr), persons in sorted(strengths.items()):
        if unmet := passed(acr, decisive[acr].of(roles)):
            words = " or ".join(weakest(demanding[unmet[0]])) or "what nobody has"
            yield Finding(UNMET, f"{' '.join(roles)} {acr}", _reason(persons, acr, unmet, words))


def _reason(persons: int, acr: Acr, unmet: list[RequestClass], words: str) -> str:
    first = f"{unmet[0].name} demands {words}" + (
        f", the first of {len(unmet)} requests" if unmet[1:] else ""
    )
    return f"{counted(persons, 'person')} with {_HAVE[acr]}: {first}"


UNROUTED: Final = "resource-without-route"
UNREGISTERED: Final = "route-unregistered"
OVERLAP: Final = "resource-takes-requests"
OPEN: Final = "resource-open"
DISABLED: Final = "binding-to-disabled-button"
CLOSED: Final = "request-closed"
CONTRADICTION: Final = "binding-contradicts-endpoint"
UNHELD: Final = "code-held-by-nobody"
BY_WILDCARD: Final = "code-held-by-wildcards-only"
EQUAL: Final = "roles-equal"
CONTAINS: Final = "role-contains-role"
NAMED_LIKE_OURS: Final = "service-named-like-own-codes"

UNKNOWN_ROLE: Final = "invariant-about-unknown-role"

CODES: Final = (
    UNROUTED,
    UNREGISTERED,
    OVERLAP,
    OPEN,
    DISABLED,
    CLOSED,
    CONTRADICTION,
    UNHELD,
    BY_WILDCARD,
    EQUAL,
    CONTAINS,
    NAMED_LIKE_OURS,
    UNKNOWN_ROLE,
    UNMET,
)
"""The codes of the findings in a database."""

_EVERYTHING: Final = "*"


@dataclass(frozen=True, slots=True)
class StoredResource:
    """A registered resource, such as ``GET /api/user/{id}``, and its Buttons: code, and whether enabled."""

    name: str
    enabled: bool
    buttons: tuple[tuple[str, bool], ...]


def stored_findings(
    standing: Standing, resources: Collection[StoredResource], invariants: Invariants = NONE
) -> list[Finding]:
    """Return the findings about ``resources``, and about the roles and users of ``standing``.

    Its policy is the one derived from ``resources``; ``invariants`` may name roles that do not exist. Roles
    that hold ``*`` count neither as holders nor as containing others: they pass everything by design.
    """
    return [
        *_resources(standing, resources),
        *_Holders(standing).findings(),
        *_services(standing.policy),
        *_unknown_roles(invariants, standing.codes),
    ]


def _services(policy: Policy) -> Iterator[Finding]:
    for name in sorted(policy.own_beginnings.intersection(policy.other_services)):
        yield Finding(NAMED_LIKE_OURS, name, "permission codes of Portcullis begin so: register it anew")


def _unknown_roles(invariants: Invariants, known: Collection[str]) -> Iterator[Finding]:
    for statement in invariants.statements:
        match statement:
            case OnlyRoles(roles=named) | Apart(excepted=named):
                pass
            case EndsWithin():
                named = (*statement.roles, *statement.excepted)
            case _:
                named = ()
        for role in named:
            if role not in known:
                yield Finding(UNKNOWN_ROLE, statement.place, f"{statement.name}: there is no role {role}")


def _resources(standing: Standing, resources: Collection[StoredResource]) -> Iterator[Finding]:
    rules = standing.policy.rules
    routes = list(rules.objects(ENDPOINT))
    enabled = [resource for resource in resources if resource.enabled]
    for name in unrouted((resource.name for resource in enabled), [*routes, *standing.policy.absent]):
        yield Finding(UNROUTED, name, "no route serves such a request: its bindings guard nothing")
    is_open = rules.codes(RESOURCE, UNREGISTERED_REQUESTS) == (LOGIN,)
    consequence = "administrators can't guard it" if is_open else "nobody passes"
    guarded = [name for name in routes if rules.codes(ENDPOINT, name) != (ANYONE,)]
    for name in unregistered(guarded, (resource.name for resource in resources)):
        yield Finding(UNREGISTERED, name, f"no resource is registered for it: {consequence}")
    for name, other in _overlaps([resource.name for resource in enabled]):
        yield Finding(
            OVERLAP, name, f"it takes requests from {other}, whose bindings no longer apply to them"
        )
    for resource in enabled:
        if not resource.buttons:
            yield Finding(
                OPEN, resource.name, "it has no bindings, so it is open to everyone who is logged in"
            )
        for code, works in resource.buttons:
            if not works:
                yield Finding(DISABLED, f"{resource.name} {code}", "the Button is disabled: it opens nothing")


def _overlaps(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield each resource with each more general one that loses requests to it."""
    groups: dict[tuple[str, int], list[str]] = {}
    for name in names:
        method, _, path = name.partition(" ")
        groups.setdefault((method, path.count("/")), []).append(path)
    for (method, _), paths in groups.items():
        for path, others in _overlapping(paths).items():
            for other in losing(path, others):
                yield f"{method} {path}", f"{method} {other}"


def _overlapping(paths: Iterable[str]) -> dict[str, list[str]]:
    """Return, by path, the paths with a parameter at other places that fit some of its requests.

    ``paths`` have equally many segments. Two of them meet if their segments are equal wherever both have a
    literal. They are looked up by these: thousands of resources can't be compared each with each.
    """
    by_places: dict[tuple[bool, ...], list[list[str]]] = {}
    for path in paths:
        segments = path.split("/")
        by_places.setdefault(tuple(segment.startswith("{") for segment in segments), []).append(segments)
    overlapping: dict[str, list[str]] = {}
    for mine, theirs in permutations(by_places, 2):
        literal = [at for at, places in enumerate(zip(mine, theirs, strict=True)) if not any(places)]
        known: dict[tuple[str, ...], list[str]] = {}
        for segments in by_places[theirs]:
            known.setdefault(tuple(segments[at] for at in literal), []).append("/".join(segments))
        for segments in by_places[mine]:
            if others := known.get(tuple(segments[at] for at in literal)):
                overlapping.setdefault("/".join(segments), []).extend(others)
    return overlapping


class _Holders:
    """Held codes and passed requests of the roles and users of a standing, without holders of ``*``."""

    def __init__(self, standing: Standing) -> None:
        self._policy = standing.policy
        everything = {role for role, codes in standing.codes.items() if _EVERYTHING in codes}
        self._roles = {
            role: codes for role, codes in sorted(standing.codes.items()) if codes and role not in everything
        }
        self._having = [
            *([role] for role in self._roles),
            *(roles for roles in standing.users if everything.isdisjoint(roles)),
        ]
        self._giving: dict[str, set[str]] = {}
        for role, codes in self._roles.items():
            for code in codes:
                self._giving.setdefault(code, set()).add(role)
        self._opening = OpeningCodes(standing.policy.model_text, self._giving)

    def findings(self) -> Iterator[Finding]:
        yield from self._requests()
        yield from self._codes()
        yield from self._alike()

    def _requests(self) -> Iterator[Finding]:
        rules = self._policy.rules
        routes = [name for name in rules.objects(ENDPOINT) if rules.codes(ENDPOINT, name) != (ANYONE,)]
        requests = list(request_classes(routes, registered(self._policy), serving=self._policy.routes))
        resources = [request_class.resource(self._policy) for request_class in requests]
        lines = [
            (rules.codes(RESOURCE, resource), rules.codes(ENDPOINT, request_class.route))
            for request_class, resource in zip(requests, resources, strict=True)
        ]
        contradictions = bits_of(self._contradictions(lines), len(lines))
        for request_class, resource, (bound, needed), contradicts in zip(
            requests, resources, lines, contradictions, strict=True
        ):
            if set(bound) <= {NOBODY}:
                yield Finding(CLOSED, request_class.name, f"{resource} is closed to everyone")
            elif contradicts:
                message = f"{resource} needs {_either(bound)}, the endpoint {_either(needed)}"
                yield Finding(
                    CONTRADICTION,
                    request_class.name,
                    f"{message}: some callers pass one of them, but none passes both",
                )

    def _contradictions(self, lines: Sequence[DecidingLines]) -> Classes:
        """Return the classes that some user passes in each layer, but no user in both."""
        classes = EquivalenceClasses(self._opening, self._roles, lines)
        by_binding = by_endpoint = by_both = 0
        for roles in self._having:
            bound, needed = classes.by_layer(roles)
            by_binding |= bound
            by_endpoint |= needed
            by_both |= bound & needed
        return by_binding & by_endpoint & ~by_both

    def _codes(self) -> Iterator[Finding]:
        for code, where in sorted(_needed(self._policy.rules).items()):
            held = self._opening.alone(code)
            if not held:
                yield Finding(UNHELD, code, f"{where} needs it, and no enabled role gives it, except by *")
            elif code not in held:
                yield Finding(BY_WILDCARD, code, f"{where} needs it, and roles give it by wildcards only")

    def _alike(self) -> Iterator[Finding]:
        covering = {role: self._covering(codes) for role, codes in self._roles.items()}
        for role, other in permutations(self._roles, 2):
            if role not in covering[other]:
                continue
            if other not in covering[role]:
                yield Finding(CONTAINS, f"{role} {other}", f"{role} holds all that {other} holds, and more")
            elif role < other:
                yield Finding(EQUAL, f"{role} {other}", "the two roles hold the same codes")

    def _covering(self, codes: Iterable[str]) -> set[str]:
        """Return the roles that hold all that a role holds which gives ``codes``."""
        holding = ({code, *self._opening.alone(code)} for code in codes)
        return set.intersection(
            *(set().union(*(self._giving[held] for held in opening)) for opening in holding)
        )


def _needed(rules: Lines) -> dict[str, str]:
    """Return each permission code that a request needs, with the first object that names it."""
    needed: dict[str, str] = {}
    for layer in (ENDPOINT, RESOURCE):
        for name in rules.objects(layer):
            for code in rules.codes(layer, name):
                if not code.startswith("@"):
                    needed.setdefault(code, name)
    return needed


def _either(codes: Iterable[str]) -> str:
    return " or ".join(codes)
