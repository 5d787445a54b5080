"""A question to the policy: subject, action and revision, for the API and the commands."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Annotated, Final

from msgspec import Meta

from service.authz.engine.policy import Policy, decided_by
from service.authz.engine.rules import GRANT, PERMISSION, LayerName, object_fault
from service.errors import BadRequest, Conflict, ValidationFailed
from service.features.explain.policy_layers import At
from service.features.explain.sentences import sentence
from service.kernel.assurance import BY_PERSONAL_KEY, BY_STRONGEST, Satisfied, Word
from service.kernel.codes import BY_KEY, MAX_CODE_LENGTH, BoundedCodes, Ceiling, HeldCodes, is_code
from service.kernel.services import PORTCULLIS
from service.kernel.text import MAX_USER_NAME
from service.kernel.value_rules import Method, ServiceName, whole
from service.laboratory.analysis.explain import Explanation, ObjectExplanation, explain, explain_object
from service.laboratory.analysis.request_paths import request_path
from service.laboratory.analysis.sources import Subject
from service.records.published.policy_history import Place
from service.web.messages.schema import Revision, Schema

DecisionId = Annotated[
    str,
    Meta(
        pattern=whole("r[1-9][0-9]{0,17}(?:[.][1-9][0-9]{0,8})?-[0-9a-f]{8}-[0-9a-f]{12}"),
        examples=["r12-9be1a6f0-5f0c39d1a2b4"],
    ),
]


class Question(Schema):
    """A question to the policy, or to a past revision: a subject and a requested object.

    The subject is a user by name, a role, or a holder of `permissions`; without any of these, a visitor. The
    object is a request by `method` and `path`, to another `service` if given; a `grant`, the permission code
    to assign; a `permission`, the code in a question of another service; or an `object` of any `layer`. The
    subject counts as logged in with a password, at an unknown time, or as a service account; `assurance` is
    another satisfied word, which includes all weaker ones. With `scopes`, the subject comes with a key of a
    person that has these scopes, so both must be allowed. `at` is the instant of the question, past or
    future; a `revision` and a `decisionId` have their own instants. A past `decisionId` determines the
    revision, and the answer shows if it decided the same question. Alone, it is looked up in the logs: the
    answer explains the refusal, and `refusal` has the user and the request.
    """

    method: Method | None = None
    path: Annotated[str, Meta(max_length=2048, examples=["/api/role/list"])] | None = None
    service: ServiceName = PORTCULLIS
    grant: Annotated[str, Meta(max_length=MAX_CODE_LENGTH, examples=["system:role:list"])] | None = None
    permission: Annotated[str, Meta(max_length=MAX_CODE_LENGTH, examples=["orders:order:read"])] | None = None
    layer: LayerName | None = None
    object: Annotated[str, Meta(max_length=2048, examples=["delete others"])] | None = None
    user_name: Annotated[str, Meta(min_length=1, max_length=MAX_USER_NAME, examples=["admin"])] | None = None
    role_code: Annotated[str, Meta(min_length=1, max_length=64, examples=["auditor"])] | None = None
    permissions: Annotated[list[str], Meta(max_length=1000)] | None = None
    scopes: Annotated[list[str], Meta(max_length=100)] | None = None
    assurance: Word | None = None
    revision: Annotated[Revision, Meta(description="Ask this past revision.")] | None = None
    decision_id: DecisionId | None = None
    at: At | None = None

    def __post_init__(self) -> None:
        if self.at is not None and (self.revision is not None or self.decision_id is not None):
            raise ValidationFailed(("at", sentence("time_revision_or_decision")))


def is_by_id(body: Question) -> bool:
    """Return true if ``body`` names a decision, and neither a subject nor an object."""
    question = (body.method, body.path, body.grant, body.permission, body.layer, body.object)
    subject = (body.user_name, body.role_code, body.permissions)
    return body.decision_id is not None and all(field is None for field in (*question, *subject))


def supposed(body: Question, subject: Subject) -> Satisfied:
    """Return the authentication that the subject of ``body`` is assumed to have, if logged in."""
    if body.assurance is not None:
        return BY_STRONGEST[body.assurance]
    return subject.satisfied if body.scopes is None else BY_PERSONAL_KEY


def with_scopes(body: Question, subject: Subject) -> Subject:
    """Return the subject of ``body`` within its `scopes`; ValidationFailed for an invalid scope."""
    if body.scopes is None or subject.held is None:
        return subject
    faults = [
        (f"scopes[{place}]", sentence("not_permission_code"))
        for place, code in enumerate(body.scopes)
        if not is_code(code)
    ]
    if faults:
        raise ValidationFailed(*faults)
    ceiling = Ceiling(BY_KEY, frozenset(body.scopes))
    return replace(subject, held=BoundedCodes(subject.held.codes, [ceiling]))


Explains = Callable[[Policy, HeldCodes | None, Satisfied], Explanation | ObjectExplanation]

_ONE: Final = sentence("one_question")


def asked(body: Question) -> tuple[Place | None, Explains]:
    """Return the request or the code of ``body``, and its explainer; None for an object of any layer.

    Raises ValidationFailed unless exactly one is named.
    """
    ways = {
        "method": (body.method, body.path),
        GRANT: (body.grant,),
        PERMISSION: (body.permission,),
        "object": (body.layer, body.object),
    }
    named = [way for way, values in ways.items() if any(value is not None for value in values)]
    if len(named) > 1:
        raise ValidationFailed((next(way for way in named if way != "method"), _ONE))
    match named:
        case ["grant" | "permission" as of_codes]:
            code = body.grant if of_codes == GRANT else body.permission
            if code is None or not is_code(code):
                raise ValidationFailed((of_codes, sentence("no_permission_code")))
            return code, partial(_explained, of_codes, code)
        case ["object"]:
            layer, name = _both(layer=body.layer, object=body.object)
            if fault := object_fault(layer, name):
                raise ValidationFailed(("object", fault))
            return None, partial(_explained, layer, name)
    method, path = _both(method=body.method, path=body.path)
    place = place_of(path, body.service)
    return (body.service, method, place), lambda policy, held, satisfied: explain(
        policy, method, place, held, body.service, satisfied=satisfied
    )


def _both(**members: str | None) -> list[str]:
    """Return the values of two members that go together; raises ValidationFailed if one is missing."""
    missing = [name for name, value in members.items() if value is None]
    if missing:
        raise ValidationFailed(*((name, sentence("required")) for name in missing))
    return [value for value in members.values() if value is not None]


def _explained(
    layer: str, name: str, policy: Policy, held: HeldCodes | None, satisfied: Satisfied
) -> ObjectExplanation:
    return explain_object(policy, layer, name, held, satisfied)


def place_of(path: str, service: str = PORTCULLIS) -> str:
    """Return the result of ``request_path``; raises ValidationFailed for the field ``path``."""
    try:
        return request_path(path, service)
    except BadRequest as refusal:
        raise ValidationFailed(("path", refusal.stated())) from None


def revision_of(decision_id: str, own_digest: str) -> int:
    """Return the revision of a decision; see ``decided_by``.

    Raises Conflict for a decision of a node whose static policy differs from the one with ``own_digest``.
    """
    own = decision_id.split("-")[1]
    if not own_digest.startswith(own):
        raise Conflict(sentence("other_static_policy"), rule="history")
    return decided_by(decision_id)[0]
