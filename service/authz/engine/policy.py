"""The policy of one revision and its decisions: every permission question is asked here."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Hashable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property, partial
from typing import ClassVar, Final, NamedTuple

from service.authz.engine.ends import endings, in_force
from service.authz.engine.enforcer import IndexedEnforcer
from service.authz.engine.external_routes import ExternalRoutes
from service.authz.engine.lines import Lines
from service.authz.engine.predicates import ANONYMOUS
from service.authz.engine.resource_index import ResourceIndex, RouteIndex
from service.authz.engine.rules import (
    ACCOUNT,
    ANYONE,
    ASSURANCE,
    ENDPOINT,
    NO_SESSION,
    OPENING_NOTHING,
    RESOURCE,
    UNKNOWN,
    UNREGISTERED,
    Rule,
)
from service.errors import Decided
from service.kernel.assurance import Satisfied
from service.kernel.cache_sizes import cache_size
from service.kernel.clock import from_seconds
from service.kernel.codes import BY_APPROVAL, BY_KEY, BoundedCodes, Ceiling, ExceptCodes, HeldCodes
from service.kernel.identity import Caller, codes_asked
from service.kernel.origin import Span
from service.kernel.permission_map import PermissionMap
from service.kernel.services import OWN, PORTCULLIS, RESERVED, Service

MAX_REMEMBERED: Final = cache_size("decisions", 10_000)
"""The most decisions that a policy caches; at the limit the cache is cleared."""


_NO_DIGEST: Final = "0" * 64  # of a policy that no node uses


@dataclass(frozen=True, eq=False)
class Decision:
    """One answer of the enforcer, with its reason.

    ``line`` is the line that allowed, None if denied. ``required`` are the alternative codes, any one of
    which would allow; empty if none would. ``revision`` and ``own_digest`` are the policy's. ``codes`` are
    those that the caller held, in the layer ``assurance`` the words that it satisfied; None without a
    session. ``passed`` are the ends of lines that had come; see ``Policy.passed``.

    The caller may have ceilings, such as the scopes of an API key. ``codes`` are then those of the account,
    ``ceilings`` the further callers that were asked, and ``parts`` the decision about each, that about the
    account first. ``line`` is the line that allowed the account.
    """

    allowed: bool
    layer: str
    object: str
    required: tuple[str, ...]
    line: Rule | None
    revision: int
    own_digest: str = field(repr=False)
    codes: frozenset[str] | None = field(repr=False)
    passed: int = 0
    ceilings: tuple[Ceiling, ...] = field(default=(), repr=False)
    parts: tuple[Decision, ...] = field(default=(), repr=False)

    @property
    def denied_by(self) -> tuple[str, ...]:
        """The callers that are denied: ``account``, and the names of ceilings; empty without ceilings."""
        if not self.parts:
            return ()
        names = ("account", *(ceiling.by for ceiling in self.ceilings))
        return tuple(name for name, part in zip(names, self.parts, strict=False) if not part.allowed)

    @cached_property
    def id(self) -> str:
        """The id of the decision, such as ``r12-9be1a6f0-5f0c39d1a2b4``; computed on first use.

        The id is the same on every node and at any time for the same policy and question. It begins with
        ``r`` and the revision of the stored policy, with ``.2`` after two expiries among its lines. Then
        follow ``-``, the first 8 hexadecimal digits of the digest of the node's static policy, and ``-``.
        Last are the first 12 digits of the SHA-256 of layer, object and the sorted held codes, one per line.
        A caller without a session has ``@no-session`` in place of the codes. Each ceiling of the caller adds
        a line such as ``@within key``, and its codes.
        """
        question = question_digest(self.layer, self.object, self.codes, self.ceilings)
        revision = f"{self.revision}.{self.passed}" if self.passed else f"{self.revision}"
        return f"r{revision}-{self.own_digest[:8]}-{question}"


class Admission(NamedTuple):
    """The decisions about one request: on the resource, the endpoint, the demands on the caller, and the key.

    None for a layer that was not asked, because an earlier one denies.
    """

    resource: Decision
    endpoint: Decision | None = None
    demand: Decision | None = None
    key: Decision | None = None


def decided_by(decision_id: str) -> tuple[int, int]:
    """Return the deciding revision, from the id of a decision, and the number of its passed expiries."""
    revision, _, passed = decision_id.removeprefix("r").partition("-")[0].partition(".")
    return int(revision), int(passed or 0)


def question_digest(
    layer: str, object_: str, codes: frozenset[str] | None, ceilings: Iterable[Ceiling] = ()
) -> str:
    """Return the last part of the id of a decision: what names the question, whichever policy is asked."""
    held = [NO_SESSION] if codes is None else sorted(codes)
    for ceiling in ceilings:
        held += [f"@within {ceiling.by}", *sorted(ceiling.codes)]
    return hashlib.sha256("\n".join([layer, object_, *held]).encode()).hexdigest()[:12]


def codes_by_key(decisions: Iterable[Decided]) -> set[str]:
    """Return the codes of the lines by which allowing ``decisions`` let the scopes of a person's key pass.

    The account may have passed by other lines.
    """
    return {
        part.line[2]
        for decision in decisions
        if decision.allowed
        for ceiling, part in zip(decision.ceilings, decision.parts[1:], strict=False)
        if ceiling.by == BY_KEY and part.line is not None
    }


def is_registered(name: str) -> bool:
    """True if an object of the resource layer is a registered resource of this service."""
    return "A" <= name[:1] <= "Z"


class Policy:
    """The policy of one revision; immutable, so a request that uses it sees one revision only.

    ``rules`` are all lines in force, ``own`` those of the node's files, ``shared`` those of the stored policy
    as written. ``ending`` are the shared lines with an expiry, ``ends`` their distinct instants in order, and
    ``passed`` the number of passed instants. A new policy decides as before the first instant; ``at`` returns
    it as of an instant. ``digest`` is that of the stored policy, the lines and the permission map published
    as ``revision``. ``own_digest`` is that of the node's static policy, model and files. ``permission_map``
    decodes tokens. ``absent`` are the endpoints of features that are off on this node. Thread-safe.
    """

    _ENFORCER: ClassVar[type[IndexedEnforcer]] = IndexedEnforcer

    def __init__(
        self,
        model_text: str,
        rules: Iterable[Rule] = (),
        bits: Mapping[str, int] | None = None,
        revision: int = 0,
        *,
        digest: str = "",
        own_digest: str = _NO_DIGEST,
        own: Lines | None = None,
        shared: Lines | None = None,
        like: Policy | None = None,
        absent: Iterable[str] = (),
    ) -> None:
        """Build it from a linted model and all checked lines. Without lines it denies everything.

        ``Shipped.policy`` combines the lines. ``bits`` are the permission codes with their bit positions.
        Parts shared with ``like`` are not built again. Raises PolicyError if two registered resources match
        the same requests.
        """
        bits = bits or {}
        self.model_text = model_text
        self._written = rules if isinstance(rules, Lines) else Lines(rules)
        self.ending = endings(self._written)
        self.ends = tuple(sorted({line.end for line in self.ending}))
        self.passed = 0
        self.rules = in_force(self._written, self.ending, ())
        self.own = Lines() if own is None else own
        self.shared = Lines() if shared is None else shared
        self.absent = frozenset(absent)
        self.revision = revision
        self.digest = digest
        self.own_digest = own_digest
        self.permission_map = PermissionMap(bits)
        self._enforcer = self._ENFORCER(model_text, self.rules)
        self._resources = self._index(like)
        self.resource_at = self._resources.find
        """Returns the most specific resource for a method and a canonical path; None if none fits."""
        self._external: ExternalRoutes = ExternalRoutes(self.rules, like._external if like else None)  # noqa: SLF001
        self._remembered: dict[tuple[str, str, Hashable], Decision] = {}
        self._assured: dict[tuple[str, str | None, Satisfied | None], Decision] = {}
        self._admissions: dict[tuple[str, str, Hashable, Satisfied | None, str | None], Admission] = {}

    def at(self, instant: float) -> Policy:
        """Return this policy as it decides at ``instant``, in seconds since the epoch.

        The result is this policy unless a line expires in between. Else it is another policy with the lines
        in force then, built in milliseconds: the registered resources stay the same, so no index is built.
        """
        return self.after(bisect_right(self.ends, instant))

    def after(self, passed: int) -> Policy:
        """Return this policy as it decides once ``passed`` of its ``ends`` have come, and no other one."""
        passed = min(passed, len(self.ends))
        if passed == self.passed:
            return self
        made = copy(self)
        made.passed = passed
        made.rules = in_force(self._written, self.ending, self.ends[:passed])
        made._enforcer = self._ENFORCER(self.model_text, made.rules)  # noqa: SLF001 - of this class
        made._remembered, made._assured = {}, {}  # noqa: SLF001 - as above
        made._admissions = {}  # noqa: SLF001 - as above
        return made

    def until(self, line: Rule | None) -> datetime | None:
        """Return the instant at which ``line``, by which it decides, ends; None if it does not."""
        if line is None or line.layer != RESOURCE or line.code in self._written.codes(RESOURCE, line.object):
            return None
        end = self._last_ends.get((line.object, line.code))
        return None if end is None else from_seconds(end)

    @cached_property
    def _last_ends(self) -> Mapping[tuple[str, str], float]:
        """The last end of each word of an object, however many have passed."""
        in_order = sorted(self.ending, key=lambda each: each.end)
        return {(each.object, each.word): each.end for each in in_order}

    def _index(self, like: Policy | None) -> ResourceIndex:
        names = self.rules.objects(RESOURCE)
        if like is None:
            return ResourceIndex(filter(is_registered, names))
        known = like.rules.objects(RESOURCE)
        return like._resources.changed(  # noqa: SLF001 - of this class
            filter(is_registered, known - names), filter(is_registered, names - known)
        )

    def resource_for(self, method: str, path: str, caller: Caller | None) -> str:
        """Return the object of the resource layer for a request with this canonical path.

        ``@no-session`` without a caller; else the most specific matching resource, such as ``GET
        /api/user/{id}``; else ``@unregistered``.
        """
        if codes_asked(caller) is None:
            return NO_SESSION
        return self.resource_at(method, path) or UNREGISTERED

    @property
    def written(self) -> Lines:
        """All lines as they are published and written, some with an expiry."""
        return self._written

    @property
    def other_services(self) -> Mapping[str, Service]:
        """The other services, by name, with how their routers read requests."""
        return self._external.services

    @cached_property
    def own_beginnings(self) -> frozenset[str]:
        """The first segments of the permission codes of this service and its extensions, such as ``system``.

        An account bound to a service sees only codes that begin with the service's name, as do the codes of
        the Buttons of its resources. So another service with one of these names would share our codes.
        """
        names = self.rules.objects(ENDPOINT)
        codes = (code for name in names for code in self.rules.codes(ENDPOINT, name))
        return RESERVED.union(code.partition(":")[0] for code in codes if not code.startswith("@"))

    @property
    def registered_external(self) -> frozenset[str]:
        """The registered resources of other services, such as ``orders GET /orders/{id}``."""
        return self._external.resources

    def service(self, name: str) -> Service | None:
        """Return the service of that name, with its router's way of reading requests; None if unknown."""
        return OWN if name == PORTCULLIS else self._external.services.get(name)

    def object_at(self, service: str, method: str, path: str) -> str:
        """Return the object of the resource layer for a request to another service.

        ``path`` is canonical (``paths.canonical_elsewhere``). It is the most specific resource, such as
        ``orders GET /orders/{id}``; ``orders @unregistered`` when none fits; ``orders @ambiguous`` when the
        service's router may read the request in two ways; ``@unknown`` if there is no such service. The last
        two never have a line. HEAD is the question of GET, whose handlers serve it (RFC 9110 §9.3.2).
        """
        return self._external.object_at(service, method, path)

    def judge_route(self, service: str, method: str, path: str, held: HeldCodes | None) -> Decision:
        """Decide if the codes ``held`` let a request with this method and path pass to ``service``.

        The path is canonical. None is a caller without a session. For another service only the resource layer
        is asked, about the object of ``object_at``. So an unregistered or unknown request is denied unless a
        line opens it. For this service both layers are asked, as for a request to it: the decision is the
        denial of the resource layer, else the decision of the endpoint layer. ``judge_request`` asks about
        demands too.
        """
        return self._judge_route(service, method, path, held)[0]

    def _judge_route(
        self, service: str, method: str, path: str, held: HeldCodes | None
    ) -> tuple[Decision, str]:
        """Return the decision of ``judge_route``, and the object of the resource layer."""
        if service != PORTCULLIS:
            resource = self.object_at(service, method, path)
            return self.judge(RESOURCE, resource, held), resource
        route = self.routes.find(method, path)
        if route is None:
            return self.judge(ENDPOINT, UNKNOWN, held), UNREGISTERED
        # A public route does not authenticate.
        asking = None if self.rules.codes(ENDPOINT, route) == (ANYONE,) else held
        resource = NO_SESSION if asking is None else self.resource_at(method, path) or UNREGISTERED
        decision = self.judge(RESOURCE, resource, asking)
        return (self.judge(ENDPOINT, route, asking) if decision.allowed else decision), resource

    def judge_request(
        self, service: str, method: str, path: str, held: HeldCodes | None, satisfied: Satisfied | None
    ) -> Decision:
        """Decide as ``judge_route``, then about the demands on the caller; None satisfies ``@anyone`` alone.

        The decision is that about the codes. If it allows and the layer ``assurance`` denies, it is that
        denial.
        """
        decision, resource = self._judge_route(service, method, path, held)
        if not decision.allowed:
            return decision
        endpoint = decision.object if service == PORTCULLIS else None
        demanded = self.judge_assurance(resource, endpoint, None if resource == NO_SESSION else satisfied)
        return decision if demanded.allowed else demanded

    def allowing(self, service: str, method: str, path: str, held: HeldCodes | None) -> tuple[Decision, ...]:
        """Return the decisions about codes by which ``judge_route`` allows; none if it denies."""
        decision, resource = self._judge_route(service, method, path, held)
        if not decision.allowed:
            return ()
        if service != PORTCULLIS:
            return (decision,)
        return self.judge(RESOURCE, resource, None if resource == NO_SESSION else held), decision

    @cached_property
    def routes(self) -> RouteIndex:
        """The routes of this service, by the requests that they serve."""
        return RouteIndex(self.rules.objects(ENDPOINT), self.absent)

    def decide(self, layer: str, object_: str, caller: Caller | None, /) -> Decision:
        """Decide if ``caller`` may access ``object_`` in ``layer``; None is a caller without a session."""
        return self.judge(layer, object_, codes_asked(caller))

    def judge_admission(
        self,
        resource: str,
        endpoint: str,
        held: HeldCodes | None,
        satisfied: Satisfied | None,
        span: Span | None = None,
        /,
        *,
        key_use: str | None = None,
    ) -> Admission:
        """Decide on a request to this service: both layers, and then the demands on its caller.

        ``key_use`` is the object of the layer ``account`` for the use of a person's API key, decided last.
        A traced request has a ``span``; the decision of each layer then gets a span of its own below it.
        """
        key = (resource, endpoint, None if held is None else held.asked_as, satisfied, key_use)
        admission = self._admissions.get(key) if span is None else None
        if admission is None:
            judge = self.judge if span is None else partial(_traced, span, self)
            opened = judge(RESOURCE, resource, held)
            decision = judge(ENDPOINT, endpoint, held) if opened.allowed else None
            demanded = None
            if decision is not None and decision.allowed:
                demanded = self.judge_assurance(resource, endpoint, satisfied)
            used = None
            if key_use is not None and demanded is not None and demanded.allowed:
                used = judge(ACCOUNT, key_use, held)
            admission = Admission(opened, decision, demanded, used)
            if len(self._admissions) >= MAX_REMEMBERED:
                self._admissions.clear()
            if MAX_REMEMBERED:
                self._admissions[key] = admission
        return admission

    def judge_assurance(
        self, resource: str, endpoint: str | None, satisfied: Satisfied | None, /
    ) -> Decision:
        """Decide if ``satisfied`` meets both demands on a request; None is an anonymous caller.

        ``resource`` and ``endpoint`` are the objects that the layers of these names decided about; no
        ``endpoint`` for a request to another service. The decision is the first denial, else the last
        decision.
        """
        key = (resource, endpoint, satisfied)
        decision = self._assured.get(key)
        if decision is None:
            decision = self.judge(ASSURANCE, f"{RESOURCE} {resource}", satisfied)
            if decision.allowed and endpoint is not None:
                decision = self.judge(ASSURANCE, f"{ENDPOINT} {endpoint}", satisfied)
            if len(self._assured) >= MAX_REMEMBERED:
                self._assured.clear()
            if MAX_REMEMBERED:
                self._assured[key] = decision
        return decision

    def judge(self, layer: str, object_: str, held: HeldCodes | Satisfied | None, /) -> Decision:
        """Decide for a caller with the codes ``held``; None is a caller without a session.

        In the layer ``assurance`` a caller is the set of satisfied words. Raises TypeError for a caller of
        another layer: ``@login`` would open to held codes there, however old the login is. A caller with
        ceilings must be allowed, and so must each of the ceilings.
        """
        key = (layer, object_, None if held is None else held.asked_as)
        if (remembered := self._remembered.get(key)) is not None:
            return remembered
        if held is not None and isinstance(held, Satisfied) is not (layer == ASSURANCE):
            raise TypeError(f"{held} can't be evaluated in the layer {layer}")
        parts: tuple[Decision, ...] = ()
        ceilings: tuple[Ceiling, ...] = ()
        if isinstance(held, BoundedCodes):
            ceilings = held.ceilings
            parts = tuple(self.judge(layer, object_, caller) for caller in held.callers)
            held = held.account
            allowed = all(part.allowed for part in parts)
            line = parts[0].line if allowed else None
        else:
            if isinstance(held, ExceptCodes):  # another question than that about all of its codes
                ceilings = (Ceiling(BY_APPROVAL, held.excluded.codes),)
            allowed, line = self._enforcer.enforce_ex(layer, object_, ANONYMOUS if held is None else held)
        decision = Decision(
            allowed=allowed,
            layer=layer,
            object=object_,
            required=tuple(code for code in self.rules.codes(layer, object_) if code not in OPENING_NOTHING),
            line=line,
            revision=self.revision,
            own_digest=self.own_digest,
            codes=None if held is None else held.codes,
            passed=self.passed,
            ceilings=ceilings,
            parts=parts,
        )
        if len(self._remembered) >= MAX_REMEMBERED:
            self._remembered.clear()
        if MAX_REMEMBERED:
            self._remembered[key] = decision
        return decision


DECISION_ID = "portcullis.decision.id"
"""The attribute with the id of a decision, as in the decision log and ``policy explain``."""


def _traced(span: Span, policy: Policy, layer: str, object_: str, held: HeldCodes | None) -> Decision:
    within = span.child(f"decide {layer}")
    decision = policy.judge(layer, object_, held)
    tell_span(within, decision)
    within.end()
    return decision


def tell_span(span: Span, decision: Decided) -> None:
    """Set the object and result of a decision as attributes; not the codes of the caller."""
    span.set("portcullis.decision.layer", decision.layer)
    span.set("portcullis.decision.object", decision.object)
    span.set("portcullis.decision.answer", "allow" if decision.allowed else "deny")
    span.set("portcullis.policy.revision", decision.revision)
    span.set(DECISION_ID, decision.id)
