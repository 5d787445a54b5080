"""Find the question of a refusal by the id of its decision, and explain the refusal.

An id has a digest of the question, which cannot be reversed. Only logged refusals can be found. The decision
log has the whole question. The operation log has the request and its user, who may hold other codes by now.
"""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Annotated, Any, Final, Literal, NamedTuple

import msgspec
from msgspec import Meta

from service.authz.engine.policy import Policy, question_digest
from service.authz.engine.rules import (
    ACCOUNT,
    APPROVE,
    ASSURANCE,
    ENDPOINT,
    GRANT,
    OBJECTS,
    OF_CODES,
    REQUEST,
    RESOURCE,
    REVIEW,
    SERVICE,
    assured,
)
from service.errors import BadRequest, NotFound
from service.features.decision_log.decision_event import DecisionEvent, Event
from service.features.explain.sentences import sentence
from service.features.log_reading import store_queries as queries
from service.features.log_reading.store_queries import OperationDetail
from service.kernel.assurance import Satisfied
from service.kernel.codes import account_codes, bounded, ceilings_of
from service.kernel.request_objects import for_self
from service.kernel.services import PORTCULLIS, split_object
from service.kernel.value_rules import Id
from service.laboratory.analysis.explain import (
    BY_NAME,
    Explanation,
    ObjectExplanation,
    explain,
    explain_decided,
    explain_object,
    words_decided,
)
from service.laboratory.analysis.request_paths import request_path
from service.laboratory.analysis.sources import Subject, subject_with
from service.records import accounts
from service.records.database.transactions import Connection
from service.records.published.policy_history import Place

PolicyAt = Callable[[Place | None], Awaitable[Policy]]
"""Returns the policy of a decision, loaded as far as needed for a place; whole without one."""

_ASKED_BESIDE: Final = (ENDPOINT, ACCOUNT, SERVICE, GRANT, REQUEST, APPROVE, REVIEW)
"""Layers that can refuse a request for a reason other than its own path."""


class Asked(NamedTuple):
    """An object, and the layer that decided about it."""

    layer: str
    object: str


class Request(NamedTuple):
    """A request to a service."""

    service: str
    method: str
    path: str


RefusalLog = Literal["operation-log", "decision-log"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A refusal from the log ``log``: the latest with its ``decision_id``.

    ``subject`` holds the codes of the decision, or for the operation log the user's current codes.
    ``request`` is None for a question of another service that is not about a request. ``asked`` is the object
    that was refused, if the log has it.
    """

    log: RefusalLog
    decision_id: str
    create_time: datetime
    request_id: Annotated[str, Meta(examples=["8d5f0c39d1a2b4e7"])] | None
    user_id: Id | None
    user_name: Annotated[str, Meta(examples=["admin"])] | None
    subject: Subject
    request: Request | None
    asked: Asked | None

    @property
    def service(self) -> str:
        return PORTCULLIS if self.request is None else self.request.service

    @property
    def method(self) -> str | None:
        return None if self.request is None else self.request.method

    @property
    def path(self) -> str | None:
        """Return the path of the request, as far as the log has it."""
        return None if self.request is None else self.request.path


@dataclass(frozen=True, slots=True)
class Found:
    """The explanation of a refusal; ``place`` is None for an object of a layer without codes."""

    policy: Policy
    place: Place | None
    explanation: Explanation | ObjectExplanation

    def matches(self, decision_id: str) -> bool:
        """Return true if it explains the question of that decision."""
        return self.explanation.has(decision_id)


async def refusal_of(connection: Connection | None, decision_id: str, event: Event | None) -> Refusal:
    """Return the refusal with that id, from ``event`` of a decision log, or the latest of the log.

    Without a connection, there is no operation log, and users have no names. Raises NotFound if there is no
    refusal, and if the user of an entry was deleted.
    """
    if event is not None:
        return await _logged_decision(connection, decision_id, event)
    entry = None if connection is None else await queries.refused(connection, decision_id)
    if connection is None or entry is None:
        raise NotFound(sentence("no_such_refusal"))
    return await _logged_operation(connection, decision_id, entry)


async def _logged_decision(connection: Connection | None, decision_id: str, event: Event) -> Refusal:
    layer, name = event.layer or "", event.object or ""
    user = None
    if connection is not None and event.user_id is not None:
        user = await accounts.standing_of(connection, event.user_id)
    codes, ceilings = event.codes, event.ceilings
    if isinstance(event, DecisionEvent):
        request: Request | None = Request(PORTCULLIS, event.method, event.path or event.route)
        # Both layers decided; the digest shows which of them refused.
        by_token = layer == ASSURANCE or question_digest(layer, name, codes, event.ceilings) == _digest(
            decision_id
        )
        if not by_token and event.stored_codes is not None:
            codes, ceilings = event.stored_codes, ()
    else:
        request = _request_named(name.removeprefix(assured(RESOURCE, "")) if layer == ASSURANCE else name)
        if layer not in (RESOURCE, ASSURANCE):
            request = None
    words = words_decided(decision_id, [name]) if layer == ASSURANCE else None
    return Refusal(
        log="decision-log",
        decision_id=decision_id,
        create_time=datetime.fromisoformat(event.time),
        request_id=event.request_id,
        user_id=event.user_id,
        user_name=None if user is None else user.user_name,
        subject=Subject(None if codes is None else bounded(codes, ceilings), satisfied=words or BY_NAME),
        request=request,
        asked=Asked(layer, name),
    )


def _request_named(name: str) -> Request | None:
    """Return the request of an object of the resource layer; None for other objects."""
    service, route = split_object(name)
    method, _, path = route.partition(" ")
    return Request(service, method, path) if path.startswith("/") else None


async def _logged_operation(connection: Connection, decision_id: str, entry: OperationDetail) -> Refusal:
    subject = Subject(None)
    if entry.user_id is not None:
        user = await accounts.standing_of(connection, entry.user_id)
        if user is None:
            raise NotFound(sentence("refused_user_deleted"))
        subject = await subject_with(connection, user)
    return Refusal(
        log="operation-log",
        decision_id=decision_id,
        create_time=entry.create_time,
        request_id=entry.request_id,
        user_id=entry.user_id,
        user_name=entry.user_name,
        subject=subject,
        request=Request(PORTCULLIS, entry.method, entry.url),
        asked=_refused_grant(entry.response, decision_id),
    )


def _refused_grant(response: str | None, decision_id: str) -> Asked | None:
    """Return the code of a refused grant, from the answer in the log."""
    kept: Any = None if response is None else msgspec.json.decode(response)
    faults = [kept, *(kept.get("errors") or ())] if isinstance(kept, dict) else []
    for fault in faults:
        if isinstance(fault, dict) and (fault.get("decisionId"), fault.get("layer")) == (decision_id, GRANT):
            return next((Asked(GRANT, code) for code in fault.get("required") or ()), None)
    return None


async def explained(refusal: Refusal, known: Policy, policy_at: PolicyAt) -> Found:
    """Explain a refusal by the policy that decided it.

    If the log does not have the object, the objects of ``known`` are tried. If nothing matches, because the
    user held other codes then, the result is the current answer to the same request.
    """
    first = await _of_request(refusal, policy_at)
    if first is not None and first.matches(refusal.decision_id):
        return first
    asked = refusal.asked or next(_meant(refusal, known), None)
    if asked is None:
        if first is None:
            raise NotFound(sentence("refused_request_not_stored"))
        return first
    place = asked.object if asked.layer in OF_CODES else None
    policy = await policy_at(place)
    explains = partial(explain_object, policy, *asked, refusal.subject.held)
    return Found(policy, place, explain_decided(refusal.decision_id, explains, refusal.subject.satisfied))


async def _of_request(refusal: Refusal, policy_at: PolicyAt) -> Found | None:
    if refusal.request is None:
        return None
    service, method, path = refusal.request
    try:
        place = (service, method, request_path(path, service))
    except BadRequest:
        return None  # a part that the log withholds
    policy = await policy_at(place)
    subject = refusal.subject

    def explains(satisfied: Satisfied) -> Explanation:
        return explain(policy, method, place[2], subject.held, service, satisfied=satisfied)

    return Found(policy, place, explain_decided(refusal.decision_id, explains, subject.satisfied))


def _meant(refusal: Refusal, known: Policy) -> Iterator[Asked]:
    """Yield the objects that match the digest of the id, among the layers used besides the path."""
    held = refusal.subject.held
    codes, expected = None if held is None else account_codes(held), _digest(refusal.decision_id)
    ceilings = ceilings_of(held)
    for layer in _ASKED_BESIDE:
        names = tuple(dict.fromkeys((*OBJECTS.get(layer, ()), *known.rules.objects(layer))))
        for name in (*names, *map(for_self, names)) if layer == APPROVE else names:
            if question_digest(layer, name, codes, ceilings) == expected:
                yield Asked(layer, name)
    demands = [assured(REQUEST, name) for name in known.rules.objects(REQUEST)]
    for name in (*known.own.objects(ASSURANCE), *demands):
        if words_decided(refusal.decision_id, [name]) is not None:
            yield Asked(ASSURANCE, name)


def _digest(decision_id: str) -> str:
    return decision_id.rpartition("-")[2]
