"""Explains why a request is allowed or refused: all layers, all relevant lines, and the reason."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, TypeVar

from service.authz.engine.policy import Policy, question_digest
from service.authz.engine.predicates import HOLDING
from service.authz.engine.rules import (
    ANYONE,
    ASSURANCE,
    ENDPOINT,
    LOGIN,
    NO_SESSION,
    REQUEST,
    RESOURCE,
    UNREGISTERED,
    Rule,
    assured,
)
from service.kernel.assurance import BY_STRONGEST, EVER_DECIDED, Satisfied
from service.kernel.codes import BoundedCodes, ExceptCodes, HeldCodes, may_grant
from service.kernel.services import PORTCULLIS
from service.laboratory.proof.conditions import line_answers

Reason = Literal["opened", "not_held", "not_logged_in", "closed", "no_line"]

BY_NAME: Final = BY_STRONGEST[LOGIN]
"""The words of a user questioned by name or by codes: logged in with a password, at an unknown time."""


@dataclass(frozen=True, slots=True)
class Fired:
    """A held code that matches the deciding line, and the predicate of the model that matches it."""

    code: str
    predicate: str


@dataclass(frozen=True, slots=True)
class PartExplained:
    """The answer of a layer to one of several callers that must all be allowed.

    ``by`` is ``account``, or the name of a ceiling, such as ``key`` for the scopes of an API key. The other
    members are those of ``LayerExplained`` for this caller alone.
    """

    by: str
    allowed: bool
    reason: Reason
    line: str | None
    rows: tuple[str, ...]
    fired: tuple[Fired, ...]
    decision_id: str


@dataclass(frozen=True, slots=True)
class LayerExplained:
    """One layer's answer.

    ``lines`` are all that name the object. ``line`` is the one that decided, None without one. ``rows`` are
    the rows of the matcher that open it: words such as ``@login``, or predicates. ``until`` is the instant at
    which ``line`` expires, None for no expiry. ``required`` are the codes any one of which is enough.
    ``reason``: ``opened``; ``not_held``, ``not_logged_in``: a code or a login is missing; ``closed``: no line
    of the object can open; ``no_line``: the object has no line. ``parts`` are the answers to the account and
    to each of its ceilings; empty for a caller without ceilings. ``rows`` and ``fired`` are then those of the
    account.
    """

    layer: str
    object: str
    allowed: bool
    reason: Reason
    lines: tuple[str, ...]
    line: str | None
    until: datetime | None
    rows: tuple[str, ...]
    fired: tuple[Fired, ...]
    required: tuple[str, ...]
    decision_id: str
    parts: tuple[PartExplained, ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation:
    """The guard's answer to a request; ``endpoint`` is None if no route serves it (404 or 405).

    ``public`` routes do not authenticate: every caller counts as one without a session. For a request to
    another service, ``external``, the endpoint layer is not asked. ``demands`` are the answers of the layer
    ``assurance`` about the same objects, to a caller who satisfies ``satisfied``; None is an anonymous
    caller.
    """

    public: bool
    resource: LayerExplained
    endpoint: LayerExplained | None
    demands: tuple[LayerExplained, ...]
    satisfied: Satisfied | None
    external: bool = False

    @property
    def layers(self) -> tuple[LayerExplained, ...]:
        """The layers that were asked about held codes, in order."""
        return (self.resource,) if self.endpoint is None else (self.resource, self.endpoint)

    @property
    def permitted(self) -> bool:
        """True if the held codes, or none, let the request pass."""
        return all(layer.allowed for layer in self.layers) and (self.external or self.endpoint is not None)

    @property
    def strong_enough(self) -> bool:
        """True if the caller has authenticated as strongly as is demanded."""
        return all(demand.allowed for demand in self.demands)

    @property
    def allowed(self) -> bool:
        """True if the guard lets the request pass."""
        return self.permitted and self.strong_enough

    @property
    def demanded(self) -> tuple[str, ...]:
        """The objects of the layer ``assurance`` that were asked about."""
        return tuple(demand.object for demand in self.demands)

    def has(self, decision_id: str) -> bool:
        """Return True if one of its decisions has that id."""
        return any(layer.decision_id == decision_id for layer in (*self.layers, *self.demands))


@dataclass(frozen=True, slots=True)
class ObjectExplanation:
    """The answer of the one layer that was asked about an object."""

    layer: LayerExplained
    satisfied: Satisfied | None = None

    @property
    def public(self) -> bool:
        """Always False: the caller counts as who it is."""
        return False

    @property
    def layers(self) -> tuple[LayerExplained, ...]:
        """The layer that was asked."""
        return (self.layer,)

    @property
    def allowed(self) -> bool:
        return self.layer.allowed

    permitted = allowed

    @property
    def demanded(self) -> tuple[str, ...]:
        """The object of the layer ``assurance`` that it is, or that is asked too of who asks for a role."""
        if self.layer.layer == REQUEST:
            return (assured(REQUEST, self.layer.object),)
        return (self.layer.object,) if self.layer.layer == ASSURANCE else ()

    def has(self, decision_id: str) -> bool:
        """Return True if its decision has that id."""
        return self.layer.decision_id == decision_id


@dataclass(frozen=True, slots=True)
class Located:
    """The route of a request, None if none serves it, and the resource layer's object for a login.

    ``external``: it is a request to another service, whose routes are unknown here.
    """

    route: str | None
    resource: str
    external: bool = False


def explain(
    policy: Policy,
    method: str,
    path: str,
    held: HeldCodes | None,
    service: str = PORTCULLIS,
    *,
    satisfied: Satisfied = BY_NAME,
) -> Explanation:
    """Explain the decision on a request with this canonical ``path`` by a caller who holds ``held``.

    None is a caller without a session, who satisfies ``@anyone`` alone. All layers are asked, even if the
    first one refuses.
    """
    return explain_at(policy, locate(policy, method, path, service), held, satisfied)


def locate(policy: Policy, method: str, path: str, service: str = PORTCULLIS) -> Located:
    """Return what decides a request to ``service`` with this canonical ``path``."""
    if service != PORTCULLIS:
        return Located(None, policy.object_at(service, method, path), external=True)
    return Located(policy.routes.find(method, path), policy.resource_at(method, path) or UNREGISTERED)


def registered_by(policy: Policy, method: str, path: str) -> tuple[str, ...]:
    """Return the other services with a registered resource for the request, by name.

    ``path`` is canonical. A request that no route of this service serves may be meant for these.
    """
    registered = policy.registered_external
    return tuple(
        name for name in sorted(policy.other_services) if policy.object_at(name, method, path) in registered
    )


def explain_at(
    policy: Policy, located: Located, held: HeldCodes | None, satisfied: Satisfied = BY_NAME
) -> Explanation:
    """Explain the decision on a request that was located, as ``explain`` does."""
    route = located.route
    public, asked = _asked(policy, located, held)
    asking = None if public else held
    by_codes = [_layer(policy, *each, asking) for each in asked]
    proved = None if asking is None else satisfied
    demands = () if route is None and not located.external else (assured(*each) for each in asked)
    return Explanation(
        public=public,
        resource=by_codes[0],
        endpoint=None if route is None else by_codes[1],
        demands=tuple(_layer(policy, ASSURANCE, demand, proved) for demand in demands),
        satisfied=proved,
        external=located.external,
    )


def _asked(policy: Policy, located: Located, held: HeldCodes | None) -> tuple[bool, list[tuple[str, str]]]:
    """Return whether the route is public, and the layers that are asked, with their objects."""
    route = located.route
    public = route is not None and policy.rules.codes(ENDPOINT, route) == (ANYONE,)
    name = NO_SESSION if (public or held is None) and not located.external else located.resource
    return public, [(RESOURCE, name), *([] if route is None else [(ENDPOINT, route)])]


@dataclass(frozen=True, slots=True)
class LayerPassed:
    """The line by which a layer lets a caller pass, with its members of ``LayerExplained``."""

    layer: str
    object: str
    line: str | None
    until: datetime | None
    rows: tuple[str, ...]
    fired: tuple[Fired, ...]


class Passages:
    """Finds the lines by which one caller passes many requests, faster than explaining each."""

    def __init__(self, policy: Policy, held: HeldCodes | None) -> None:
        """``held`` are the codes of the caller; None is a visitor."""
        self._policy = policy
        self._held = held
        self._opened: dict[tuple[str, bool], bool] = {}
        self._matching: dict[str, tuple[tuple[str, ...], tuple[Fired, ...]]] = {}

    def at(self, located: Located) -> tuple[LayerPassed, ...]:
        """Return the lines of the layers that are asked about a request, in order."""
        public, asked = _asked(self._policy, located, self._held)
        held = None if public else self._held
        return tuple(self._layer(layer, name, held) for layer, name in asked)

    def of(self, layer: str, name: str) -> tuple[LayerPassed, ...]:
        """Return the line of an object of one layer."""
        return (self._layer(layer, name, self._held),)

    def _layer(self, layer: str, name: str, held: HeldCodes | None) -> LayerPassed:
        line = self._line(layer, name, held)
        if line is None:
            return LayerPassed(layer, name, None, None, (), ())
        matching = self._matching.get(line.code)
        if matching is None:
            matching = self._matching[line.code] = _rows(line, held), _fired(line, held)
        return LayerPassed(layer, name, str(line), self._policy.until(line), *matching)

    def _line(self, layer: str, name: str, held: HeldCodes | None) -> Rule | None:
        """Return the first line that opens, as the enforcer does; a caller with ceilings is asked of it."""
        if isinstance(held, BoundedCodes | ExceptCodes):
            return self._policy.judge(layer, name, held).line
        codes = self._policy.rules.codes(layer, name)
        return next((Rule(layer, name, code) for code in codes if self._opens(code, held)), None)

    def _opens(self, code: str, held: HeldCodes | None) -> bool:
        key = code, held is None
        if key not in self._opened:
            self._opened[key] = line_answers(self._policy.model_text).opens(code, held)
        return self._opened[key]


def explain_object(
    policy: Policy, layer: str, name: str, held: HeldCodes | None, satisfied: Satisfied = BY_NAME
) -> ObjectExplanation:
    """Explain whether a caller who holds ``held`` passes the object ``name`` of ``layer``.

    A permission code in the layer ``grant``: the caller may grant, revoke, bind or act on it. In the layer
    ``permission``: the caller may do the act that the code stands for. In the layer ``assurance`` a caller is
    the set of satisfied words.
    """
    if layer != ASSURANCE:
        return ObjectExplanation(_layer(policy, layer, name, held))
    proved = None if held is None else satisfied
    return ObjectExplanation(_layer(policy, layer, name, proved), proved)


def words_decided(decision_id: str, objects: Iterable[str]) -> Satisfied | None:
    """Return what a caller satisfied, by the id of the decision about a demand on one of ``objects``.

    None if it was no such decision. Ids hold no time: a caller is one of few sets of words.
    """
    names, digest = tuple(objects), decision_id.rpartition("-")[2]
    return next(
        (
            each
            for each in EVER_DECIDED
            if any(question_digest(ASSURANCE, name, each.codes) == digest for name in names)
        ),
        None,
    )


_Explained = TypeVar("_Explained", Explanation, ObjectExplanation, Explanation | ObjectExplanation)


def explain_decided(
    decision_id: str | None, explains: Callable[[Satisfied], _Explained], satisfied: Satisfied
) -> _Explained:
    """Return what ``explains`` returns for ``satisfied``; or for the words of the decision with that id.

    So a refusal for a weak authentication is explained as it was decided, whatever is supposed of others.
    """
    explanation = explains(satisfied)
    if decision_id is None or explanation.has(decision_id):
        return explanation
    decided = words_decided(decision_id, explanation.demanded)
    return explanation if decided is None else explains(decided)


def _layer(policy: Policy, layer: str, name: str, held: HeldCodes | Satisfied | None) -> LayerExplained:
    decision = policy.judge(layer, name, held)
    lines = policy.rules.of(layer, name)
    parts: tuple[PartExplained, ...] = ()
    if isinstance(held, BoundedCodes):
        names = ("account", *(ceiling.by for ceiling in held.ceilings))
        parts = tuple(
            _part(by, _layer(policy, layer, name, caller))
            for by, caller in zip(names, held.callers, strict=True)
        )
        held = held.account
    return LayerExplained(
        layer=layer,
        object=name,
        allowed=decision.allowed,
        reason=reason_of(
            [line.code for line in lines], decision.required, allowed=decision.allowed, held=held
        ),
        lines=tuple(map(str, lines)),
        line=None if decision.line is None else str(decision.line),
        until=policy.until(decision.line),
        rows=_rows(decision.line, held),
        fired=_fired(decision.line, held),
        required=decision.required,
        decision_id=decision.id,
        parts=parts,
    )


def _part(by: str, layer: LayerExplained) -> PartExplained:
    return PartExplained(
        by, layer.allowed, layer.reason, layer.line, layer.rows, layer.fired, layer.decision_id
    )


def reason_of(
    codes: Collection[str], required: Collection[str], *, allowed: bool, held: HeldCodes | Satisfied | None
) -> Reason:
    """Return the reason of an answer about an object whose lines have ``codes``."""
    if allowed:
        return "opened"
    if not codes:
        return "no_line"
    if not required:
        return "closed"
    return "not_logged_in" if held is None else "not_held"


def _rows(line: Rule | None, held: HeldCodes | Satisfied | None) -> tuple[str, ...]:
    """Return the rows of the matcher that are true for ``line``, in the order of the shipped model."""
    if line is None:
        return ()
    if line.layer == ASSURANCE and line.code != ANYONE:
        return ("satisfies",)
    if line.code in (ANYONE, LOGIN):
        return (line.code,)
    return tuple(name for name, holds in HOLDING.items() if holds(held, line.code))


def _fired(line: Rule | None, held: HeldCodes | Satisfied | None) -> tuple[Fired, ...]:
    """Return each held code that matches ``line`` by itself; none for a word such as ``@login``."""
    if line is None or not isinstance(held, HeldCodes) or line.code in (ANYONE, LOGIN):
        return ()
    return tuple(
        Fired(code, predicate)
        for code in sorted(may_grant(held.codes, line.code))
        for predicate, holds in HOLDING.items()
        if holds(HeldCodes([code]), line.code)
    )
