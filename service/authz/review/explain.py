"""Explains why a request is allowed or refused: both layers, all relevant lines, and the reason."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, Literal

from service.authz.engine.policy import Policy
from service.authz.engine.predicates import PREDICATES
from service.authz.engine.resource_index import ResourceIndex
from service.authz.engine.rules import (
    ANYONE,
    ENDPOINT,
    LOGIN,
    NO_SESSION,
    RESOURCE,
    UNREGISTERED,
    Rule,
)
from service.kernel.codes import HeldCodes, may_grant
from service.kernel.services import PORTCULLIS

Reason = Literal["opened", "not_held", "not_logged_in", "closed", "no_line"]

_HOLDING: Final = {name: held for name, held in PREDICATES.items() if name != "isLoggedIn"}


@dataclass(frozen=True, slots=True)
class Fired:
    """A held code that matches the deciding line, and the predicate of the model that matches it."""

    code: str
    predicate: str


@dataclass(frozen=True, slots=True)
class LayerExplained:
    """One layer's answer.

    ``lines`` are all that name the object, ``line`` the one that decided, None when none did, and ``rows``
    the rows of the matcher that open it: words such as ``@login``, or predicates. ``required`` are the codes
    any one of which would do. ``reason``: ``opened``; ``not_held``, ``not_logged_in``: a code
    or a login is missing; ``closed``: no line of the object can open; ``no_line``: there is none.
    """

    layer: str
    object: str
    allowed: bool
    reason: Reason
    lines: tuple[str, ...]
    line: str | None
    rows: tuple[str, ...]
    fired: tuple[Fired, ...]
    required: tuple[str, ...]
    decision_id: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """The guard's answer to a request; ``endpoint`` is None if no route serves it (404 or 405).

    ``public`` routes do not authenticate: every caller counts as one without a session. For a request to
    another service, ``elsewhere``, only the resource layer is asked.
    """

    public: bool
    resource: LayerExplained
    endpoint: LayerExplained | None
    external: bool = False

    @property
    def layers(self) -> tuple[LayerExplained, ...]:
        """The layers that were asked, in order."""
        return (self.resource,) if self.endpoint is None else (self.resource, self.endpoint)

    @property
    def allowed(self) -> bool:
        """True if both layers allow the request."""
        if self.external:
            return self.resource.allowed
        return self.resource.allowed and self.endpoint is not None and self.endpoint.allowed


@dataclass(frozen=True, slots=True)
class ObjectExplanation:
    """The answer of the one layer that was asked about an object."""

    layer: LayerExplained

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
        """True if the layer allows it."""
        return self.layer.allowed


@dataclass(frozen=True, slots=True)
class Located:
    """The route of a request, None if none serves it, and the resource layer's object for a login.

    ``elsewhere``: it is a request to another service, whose routes are unknown here.
    """

    route: str | None
    resource: str
    external: bool = False


def explain(
    policy: Policy, method: str, path: str, held: HeldCodes | None, service: str = PORTCULLIS
) -> Explanation:
    """Explain the decision on a request with this canonical ``path`` by a caller who holds ``held``.

    None is a caller without a session. Both layers are asked, even if the first one refuses.
    """
    return explain_at(policy, locate(policy, method, path, service), held)


def locate(policy: Policy, method: str, path: str, service: str = PORTCULLIS) -> Located:
    """Return what decides a request to ``service`` with this canonical ``path``."""
    if service != PORTCULLIS:
        return Located(None, policy.object_at(service, method, path), external=True)
    route = ResourceIndex(policy.rules.objects(ENDPOINT)).find(method, path)
    return Located(route, policy.resource_at(method, path) or UNREGISTERED)


def explain_at(policy: Policy, located: Located, held: HeldCodes | None) -> Explanation:
    """Explain the decision on a request that was located, as ``explain`` does."""
    route = located.route
    if located.external:
        return Explanation(False, _layer(policy, RESOURCE, located.resource, held), None, external=True)
    public = route is not None and policy.rules.codes(ENDPOINT, route) == (ANYONE,)
    asking = None if public else held
    resource = _layer(policy, RESOURCE, NO_SESSION if asking is None else located.resource, asking)
    return Explanation(public, resource, None if route is None else _layer(policy, ENDPOINT, route, asking))


def explain_object(policy: Policy, layer: str, name: str, held: HeldCodes | None) -> ObjectExplanation:
    """Explain whether a caller who holds ``held`` passes the object ``name`` of ``layer``.

    Such as a permission code in the layer ``grant``: may the caller hand it out, take it away, bind it or act
    on it? In the layer ``permission``: may the caller do what the code stands for?
    """
    return ObjectExplanation(_layer(policy, layer, name, held))


def _layer(policy: Policy, layer: str, name: str, held: HeldCodes | None) -> LayerExplained:
    decision = policy.judge(layer, name, held)
    lines = policy.rules.of(layer, name)
    return LayerExplained(
        layer=layer,
        object=name,
        allowed=decision.allowed,
        reason=reason_of(
            [line.code for line in lines], decision.required, allowed=decision.allowed, held=held
        ),
        lines=tuple(map(str, lines)),
        line=None if decision.line is None else str(decision.line),
        rows=_rows(decision.line, held),
        fired=_fired(decision.line, held),
        required=decision.required,
        decision_id=decision.id,
    )


def reason_of(
    codes: Collection[str], required: Collection[str], *, allowed: bool, held: HeldCodes | None
) -> Reason:
    """Return the reason of an answer about an object whose lines have ``codes``."""
    if allowed:
        return "opened"
    if not codes:
        return "no_line"
    if not required:
        return "closed"
    return "not_logged_in" if held is None else "not_held"


def _rows(line: Rule | None, held: HeldCodes | None) -> tuple[str, ...]:
    """Return the rows of the matcher that are true for ``line``, in the order of the shipped model."""
    if line is None:
        return ()
    if line.code in (ANYONE, LOGIN):
        return (line.code,)
    return tuple(name for name, holds in _HOLDING.items() if holds(held, line.code))


def _fired(line: Rule | None, held: HeldCodes | None) -> tuple[Fired, ...]:
    """Return each held code that matches ``line`` by itself; none for a word such as ``@login``."""
    if line is None or held is None or line.code in (ANYONE, LOGIN):
        return ()
    return tuple(
        Fired(code, predicate)
        for code in sorted(may_grant(held.codes, line.code))
        for predicate, holds in _HOLDING.items()
        if holds(HeldCodes([code]), line.code)
    )
