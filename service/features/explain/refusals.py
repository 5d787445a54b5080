"""Finds what a refusal was about, by the id of its decision, and explains it.

An id holds a digest of the question, which can't be turned back. So only what a log has can be found. The
decision log has the whole question; the operation log has the request and its user, who may hold other codes
by now.
"""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Final, Literal, NamedTuple

import msgspec

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
from service.kernel.assurance import Satisfied
from service.kernel.codes import HeldCodes
from service.kernel.request_objects import for_self
from service.kernel.services import PORTCULLIS, split_object
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
from service.records.logs import queries
from service.records.logs.queries import OperationDetail
from service.records.published.policy_history import Place

PolicyAt = Callable[[Place | None], Awaitable[Policy]]
"""Returns the policy of a decision, as far as it is needed to decide about a place; whole without one."""

_ASKED_BESIDE: Final = (ENDPOINT, ACCOUNT, SERVICE, GRANT, REQUEST, APPROVE, REVIEW)
"""The layers that a request may be refused by about something else than its own path."""


class Asked(NamedTuple):
    """An object, and the layer that was asked about it."""

    layer: str
    object: str


class Request(NamedTuple):
    """A request to a service."""

    service: str
    method: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A refusal as ``log`` has it: the latest with its ``decision_id``.

    ``subject`` holds the codes that were decided about, or in the operation log those that the user holds
    now. ``request`` is None where another service asked about none. ``asked`` is what refused, if the log
    says so.
    """

    log: Literal["operation-log", "decision-log"]
    decision_id: str
    create_time: datetime
    request_id: str | None
    user_id: int | None
    user_name: str | None
    subject: Subject
    request: Request | None
    asked: Asked | None

    @property
    def service(self) -> str:
        """The service to which the request was."""
        return PORTCULLIS if self.request is None else self.request.service

    @property
    def method(self) -> str | None:
        """The method of the request."""
        return None if self.request is None else self.request.method

    @property
    def path(self) -> str | None:
        """The path of the request, as far as the log tells it."""
        return None if self.request is None else self.request.path


@dataclass(frozen=True, slots=True)
class Found:
    """The explanation of a refusal; ``place`` is None if it is about an object of a layer without codes."""

    policy: Policy
    place: Place | None
    explanation: Explanation | ObjectExplanation

    def matches(self, decision_id: str) -> bool:
        """Tell whether it is about the question that was decided."""
        return self.explanation.has(decision_id)


async def refusal_of(connection: Connection | None, decision_id: str, event: Event | None) -> Refusal:
    """Return the refusal with that id: that of ``event``, which a decision log has, or the latest of the log.

    Without a connection there is no operation log, and nobody has a name. NotFound if there is none, and if
    the user of an entry has been deleted.
    """
    if event is not None:
        return await _logged_decision(connection, decision_id, event)
    entry = None if connection is None else await queries.refused(connection, decision_id)
    if connection is None or entry is None:
        raise NotFound(
            "No refusal with this id is in the operation log, nor in the decision log of this node. Other "
            "decisions can't be found by their id alone. Name who asked for what: POST /api/policy/explain, "
            "or portcullis policy explain USER METHOD PATH, for another service with its name (--service)"
        )
    return await _logged_operation(connection, decision_id, entry)


async def _logged_decision(connection: Connection | None, decision_id: str, event: Event) -> Refusal:
    layer, name = event.layer or "", event.object or ""
    user = None
    if connection is not None and event.user_id is not None:
        user = await accounts.standing_of(connection, event.user_id)
    codes = event.codes
    if isinstance(event, DecisionEvent):
        request: Request | None = Request(PORTCULLIS, event.method, event.path or event.route)
        # Both were asked about; the digest says which of them was refused.
        by_token = layer == ASSURANCE or question_digest(layer, name, codes) == _digest(decision_id)
        if not by_token and event.stored_codes is not None:
            codes = event.stored_codes
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
        subject=Subject(None if codes is None else HeldCodes(codes), satisfied=words or BY_NAME),
        request=request,
        asked=Asked(layer, name),
    )


def _request_named(name: str) -> Request | None:
    """Return the request that an object of the resource layer stands for, if it is one."""
    service, route = split_object(name)
    method, _, path = route.partition(" ")
    return Request(service, method, path) if path.startswith("/") else None


async def _logged_operation(connection: Connection, decision_id: str, entry: OperationDetail) -> Refusal:
    subject = Subject(None)
    if entry.user_id is not None:
        user = await accounts.standing_of(connection, entry.user_id)
        if user is None:
            raise NotFound("The refusal is in the operation log, but its user has been deleted since")
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
        asked=_told(entry.response, decision_id),
    )


def _told(response: str | None, decision_id: str) -> Asked | None:
    """Return the code of a refused grant: the answer that the log has kept names it first."""
    kept: Any = None if response is None else msgspec.json.decode(response)
    faults = [kept, *(kept.get("errors") or ())] if isinstance(kept, dict) else []
    for fault in faults:
        if isinstance(fault, dict) and (fault.get("decisionId"), fault.get("layer")) == (decision_id, GRANT):
            return next((Asked(GRANT, code) for code in fault.get("required") or ()), None)
    return None


async def explained(refusal: Refusal, known: Policy, policy_at: PolicyAt) -> Found:
    """Return why it was refused, by the policy that has decided.

    ``known`` is a policy whose objects are tried where the log does not say what was asked about. Where
    nothing matches, since the user held other codes then, it is the answer to the same request now.
    """
    first = await _of_request(refusal, policy_at)
    if first is not None and first.matches(refusal.decision_id):
        return first
    asked = refusal.asked or next(_meant(refusal, known), None)
    if asked is None:
        if first is None:
            raise NotFound("The refusal is in the operation log, but not what it was about")
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
    """Yield what the digest of the id names, among the objects of the layers that a request asks beside."""
    held = refusal.subject.held
    codes, expected = None if held is None else held.codes, _digest(refusal.decision_id)
    for layer in _ASKED_BESIDE:
        names = tuple(dict.fromkeys((*OBJECTS.get(layer, ()), *known.rules.objects(layer))))
        for name in (*names, *map(for_self, names)) if layer == APPROVE else names:
            if question_digest(layer, name, codes) == expected:
                yield Asked(layer, name)
    demands = [assured(REQUEST, name) for name in known.rules.objects(REQUEST)]
    for name in (*known.own.objects(ASSURANCE), *demands):
        if words_decided(refusal.decision_id, [name]) is not None:
            yield Asked(ASSURANCE, name)


def _digest(decision_id: str) -> str:
    return decision_id.rpartition("-")[2]
