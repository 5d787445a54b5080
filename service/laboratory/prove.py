"""The exact condition under which a request passes or a layer opens an object, for the command."""

from collections.abc import Collection, Iterable, Sequence
from typing import Final, Literal

import msgspec

from service.authz.engine.paths import shape
from service.authz.engine.policy import Policy
from service.authz.engine.rules import (
    ACCOUNT,
    APPROVE,
    ASSURANCE,
    ENDPOINT,
    LAYERS,
    REQUEST,
    RESOURCE,
    REVIEW,
    assured,
    object_fault,
)
from service.errors import BadRequest
from service.kernel.services import PORTCULLIS
from service.laboratory.analysis.demands import demands_on, least_words
from service.laboratory.analysis.explain import registered_by
from service.laboratory.analysis.request_paths import request_path
from service.laboratory.proof.batch_decider import all_requests
from service.laboratory.proof.conditions import Condition, condition_of, line_answers, wildcards_of
from service.laboratory.proof.request_classes import RequestClass

OBJECTS: Final = {layer.upper(): layer for layer in LAYERS if layer != ASSURANCE}
"""The provable layers, by the word that the command line takes in place of a method."""


class ProvedLayer(msgspec.Struct, frozen=True, rename="camel"):
    """The condition of one layer: its object, and the object's lines.

    ``needs``: ``nothing`` if everybody passes, ``login`` if no code is needed, and ``never`` if the layer is
    closed. ``code`` means that any single code of ``opened_by`` suffices.
    """

    layer: str
    object: str
    lines: tuple[str, ...]
    needs: Literal["nothing", "login", "code", "never"]
    opened_by: tuple[str, ...]


class ProvedRequest(msgspec.Struct, frozen=True, rename="camel"):
    """The callers who pass with a request: ``visitors``, and logged-in holders of a set in ``smallest``.

    ``smallest`` has the smallest sufficient sets of held codes, wildcards included. A caller passes exactly
    if the caller holds one of the sets completely. The empty set means every logged-in caller; no set means
    no caller. ``assurance`` has the weakest sufficient words about authentication; any one of them is also
    required, and without any no caller passes. ``chosen`` is the choice that the code makes before it asks
    about the object; the proof does not cover that choice.
    """

    request: str
    visitors: bool
    layers: tuple[ProvedLayer, ...]
    smallest: tuple[tuple[str, ...], ...]
    assurance: tuple[str, ...]
    chosen: str | None = None


class Proof(msgspec.Struct, frozen=True, rename="camel"):
    """One answer for each class of the requested requests; empty if no route serves them.

    A question about an object has its layer, in capitals, as ``method``, and one answer. ``registered_by``
    are the other services that have registered a request without a route.
    """

    method: str
    path: str
    service: str
    revision: int
    requests: tuple[ProvedRequest, ...]
    registered_by: tuple[str, ...] = ()


def prove(policy: Policy, method: str, path: str, service: str = PORTCULLIS) -> Proof:
    """Return the condition under which requests of ``method`` to ``path`` pass, for every possible caller.

    A route template such as ``/api/user/{id}`` stands for all its requests; registered resources may split
    them into groups with different codes. ``method`` may be one of ``OBJECTS``: then ``path`` is an object of
    that layer. For another ``service`` a template is a registered resource, and the most specific match
    decides. Raises ``BadRequest`` for a path that no request can have and for an invalid object of the layer.
    Raises ``PolicyError`` for a code with too many wildcards to list.
    """
    if (layer := OBJECTS.get(method)) is not None:
        if fault := object_fault(layer, path):
            raise BadRequest(fault)
        return Proof(method, path, service, policy.revision, (_proved_object(policy, layer, path),))
    if service != PORTCULLIS:
        proved = _proved(policy, _external(policy, method, path, service))
        return Proof(method, path, service, policy.revision, (proved,))
    requests = tuple(_proved(policy, request_class) for request_class in _asked(policy, method, path))
    others = () if requests else registered_by(policy, method, request_path(path))
    return Proof(method, path, service, policy.revision, requests, others)


def _external(policy: Policy, method: str, path: str, service: str) -> RequestClass:
    place = request_path(path, service)
    name = policy.object_at(service, method, place)
    is_registered = name in policy.registered_external
    return RequestClass(method, place, name if is_registered else f"{service} {method} {path}", service)


def _asked(policy: Policy, method: str, path: str) -> Iterable[RequestClass]:
    routes = policy.rules.objects(ENDPOINT)
    asked_shape = shape(f"{method} {path}")
    if asked_shape in map(shape, routes):
        return all_requests(policy, [route for route in routes if shape(route) == asked_shape])
    place = request_path(path)
    route = policy.routes.find(method, place)
    return () if route is None else (RequestClass(route, place, f"{method} {path}"),)


def _proved(policy: Policy, request_class: RequestClass) -> ProvedRequest:
    condition = condition_of(policy, request_class)
    layers = [(RESOURCE, request_class.resource(policy))]
    if not request_class.is_external:
        layers.append((ENDPOINT, request_class.route))
    return ProvedRequest(
        request=request_class.name,
        visitors=request_class.passes(policy, None),
        layers=tuple(_layer(policy, condition, *each) for each in layers),
        smallest=tuple(tuple(sorted(held)) for held in condition.smallest(_held(condition.codes))),
        assurance=least_words(policy, demands_on(policy, request_class)),
    )


def _proved_object(policy: Policy, layer: str, name: str) -> ProvedRequest:
    condition = Condition(line_answers(policy.model_text), (policy.rules.codes(layer, name),))
    proved = _layer(policy, condition, layer, name)
    demand = (policy.rules.codes(ASSURANCE, assured(layer, name)),) if layer == REQUEST else ()
    return ProvedRequest(
        request=f"{layer} {name}",
        visitors=proved.needs == "nothing",
        layers=(proved,),
        smallest=tuple(tuple(sorted(held)) for held in condition.smallest(_held(condition.codes))),
        assurance=least_words(policy, demand),
        chosen=_CHOSEN.get(layer),
    )


# docs/reference/rules.md names the functions and their tests.
_CHOSEN: Final = {
    ACCOUNT: "whose account it is, or how the caller has come",
    APPROVE: "whether a request counts as one of others, and whose approvals count",
    REVIEW: "whose assignment, review or changes these are",
}


def _layer(policy: Policy, whole: Condition, layer: str, name: str) -> ProvedLayer:
    condition = Condition(whole.answers, (policy.rules.codes(layer, name),))
    opening = condition.smallest(_held(condition.codes))
    return ProvedLayer(
        layer=layer,
        object=name,
        lines=tuple(map(str, policy.rules.of(layer, name))),
        needs=_needs(policy, layer, name, opening),
        opened_by=tuple(code for held in opening if len(held) == 1 for code in held),
    )


def _needs(
    policy: Policy, layer: str, name: str, opening: Sequence[Collection[str]]
) -> Literal["nothing", "login", "code", "never"]:
    if policy.judge(layer, name, None).allowed:
        return "nothing"
    if not opening:
        return "never"
    return "code" if opening[0] else "login"


def _held(codes: Iterable[str]) -> list[str]:
    """Return every code that satisfies one of ``codes``; words are never satisfied by codes."""
    known = sorted(code for code in codes if not code.startswith("@"))
    return list(dict.fromkeys([*known, *(wildcard for code in known for wildcard in wildcards_of(code))]))
