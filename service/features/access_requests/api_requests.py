"""Requests for roles: ``/api/access-request``."""

from collections.abc import Collection, Sequence
from datetime import datetime
from types import SimpleNamespace
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from service.administration.unit_of_work import Saved
from service.authz.engine.rules import ACCOUNT, APPROVE
from service.authz.proof.batch_decider import BatchDecider
from service.endpoints.request_rules import Stage
from service.errors import Conflict, NotFound
from service.features.access_requests import schema, store
from service.features.access_requests.effects import Effect
from service.features.access_requests.feature import READ_REQUESTS
from service.features.access_requests.requests import AccessRequests, Asked
from service.features.access_requests.schema import AccessDecision, State, Verdict
from service.features.access_requests.store import RequestFilter, Visible
from service.kernel.identity import codes_asked
from service.kernel.persons import Persons
from service.kernel.request_objects import is_for_others, role_of
from service.kernel.value_rules import MAX_DURATION, REASON, bounds_of
from service.laboratory.findings import passing
from service.records.database.transactions import Connection, Database
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import Responders, login, writes
from service.web.messages.record_schemas import Shown, filters_of, shows
from service.web.messages.schema import Id, Moment, Page, PageQuery, Schema, sort_keys

_Reason = Annotated[str, bounds_of(REASON), Meta(examples=["The books of this month"])]
_Until = Annotated[datetime, Meta(tz=True, description="When the role is to end.")]
_From = Annotated[
    datetime, Meta(tz=True, description="When the role is to begin: at once if it is left out.")
]


_EFFECT = ("breaks", "held", "permissions", "permissions_added", "permissions_removed")


class AccessRequestBody(Schema, kw_only=True):
    """A role to ask for, by its id or its code, and either for how long or until when.

    `from` lets it begin later: all approvals are decided anew then.
    """

    role_id: Id | None = None
    role_code: Annotated[str, Meta(max_length=64, examples=["auditor"])] | None = None
    duration: (
        Annotated[int, bounds_of(MAX_DURATION), Meta(examples=[3600], description="Seconds.")] | None
    ) = None
    valid_until: _Until | None = msgspec.field(default=None, name="until")
    valid_from: _From | None = msgspec.field(default=None, name="from")
    reason: _Reason | None = None
    ticket: Annotated[str, Meta(max_length=128, examples=["OPS-4711"])] | None = None
    decision_id: (
        Annotated[str, Meta(max_length=64, description="The id of the refusal that led to the request.")]
        | None
    ) = None


class DecisionBody(Schema, kw_only=True):
    """What somebody decides; an approval may set an earlier end."""

    decision: Verdict
    reason: Annotated[str, bounds_of(REASON), Meta(min_length=1, examples=["As agreed"])]
    valid_until: _Until | None = msgspec.field(default=None, name="until")


class ClosingBody(Schema, kw_only=True):
    """What somebody says who has looked at an emergency."""

    reason: Annotated[str, bounds_of(REASON), Meta(min_length=1, examples=["The database was down"])]


class ClosingOfRequest(Schema, kw_only=True):
    """Who has closed an emergency, why and when."""

    user_name: Annotated[str, Meta(examples=["kestrel"])]
    reason: str
    time: Moment


@shows(AccessDecision, valid_until="until")
class DecisionOfRequest(Shown, kw_only=True):
    """What somebody decided; `stages` are those that they may decide, by the answers `decisionIds`.

    Those of an approval are as of the last approval of the request.
    """

    decision: Verdict


class StageOfRequest(Stage, kw_only=True):
    """A stage, and how many approvals count in it by what was recorded."""

    counted: Annotated[int, Meta(ge=0, examples=[0])]


@shows(
    schema.AccessRequest,
    leave_out=("stage_codes", "stage_approvals", "grant_needed", "complete", "granted_from", "granted_until"),
    before="stages",
    valid_from="from",
    valid_until="until",
)
class AccessRequest(Shown, kw_only=True):
    """A request for a role: `from`, `until` and `duration` (seconds) are as it was asked for.

    Once it is approved, `from` and `until` are those of the assignment as it was given. `breaks`, `held`
    and what is told of `permissions` are of a pending request alone, and null in lists.
    """

    id: Id
    state: State
    stages: list[StageOfRequest]
    decisions: list[DecisionOfRequest]
    breaks: Annotated[
        list[str] | None,
        Meta(description="Which statements of the invariants it would break to give the role, as of now."),
    ]
    held: Annotated[
        list[str] | None, Meta(description="Which codes of the role its author holds already, sorted.")
    ]
    permissions: Annotated[
        list[str] | None,
        Meta(description="What the role could give when it was asked for, sorted; null if it was not kept."),
    ]
    permissions_added: Annotated[
        list[str] | None, Meta(description="What the role could give now and could not then, sorted.")
    ]
    permissions_removed: Annotated[
        list[str] | None, Meta(description="What the role could give then and could not now, sorted.")
    ]
    same_person: Annotated[
        str | None,
        Meta(
            description="Why the caller does not count as another person than its author, or than somebody "
            "who has approved it, and may not approve or close it; null if they do, and in lists."
        ),
    ]
    closed: Annotated[ClosingOfRequest | None, Meta(description="Who has closed it: of an emergency alone.")]


@filters_of(RequestFilter)
class AccessRequestQuery(PageQuery):
    """Filters and order of requests."""

    sort: Annotated[str, sort_keys("AccessRequestSort", store.SORTS)] = "-id"


def shown_request(
    request: schema.AccessRequest,
    decided: Sequence[AccessDecision],
    effect: Effect | None = None,
    persons: Persons | None = None,
    same_person: str | None = None,
) -> AccessRequest:
    """Return a request in the form of answers, with the decisions ``decided``.

    With ``persons``, approvals of accounts of the same person count once. Without, all recorded approvals
    count.
    """
    approved = {each.user_id: each.stages for each in decided if each.decision == "approve"}
    alike: Collection[frozenset[int]] = ()
    if persons is not None:
        others = {each for each in approved if persons.same(each, request.user_id) is None}
        approved = {each: stages for each, stages in approved.items() if each in others}
        alike = persons.pairs(others)
    counted = [*passing.places(approved, request.stage_approvals, alike).values()]
    stages = [
        SimpleNamespace(code=stage.code, approvals=stage.approvals, counted=counted.count(number))
        for number, stage in enumerate(request.stages, 1)
    ]
    granted = {"valid_from": request.granted_from, "valid_until": request.granted_until}
    closing = next((each for each in decided if each.decision == "close"), None)
    closed = closing and SimpleNamespace(
        user_name=closing.user_name, reason=closing.reason, time=closing.create_time
    )
    return AccessRequest.of(
        request,
        **({} if request.granted_until is None else granted),
        **_of_pending(effect),
        stages=stages,
        decisions=[each for each in decided if each.decision != "close"],
        closed=closed,
        same_person=same_person,
    )


def _of_pending(effect: Effect | None) -> dict[str, Any]:
    """Return the members that describe the effect of a grant; all are None without an ``effect``."""
    if effect is None:
        return dict.fromkeys(_EFFECT)
    then = effect.permissions
    values = (
        effect.breaks,
        effect.held,
        then,
        *((None, None) if then is None else (effect.added, effect.removed)),
    )
    return {name: None if value is None else [*value] for name, value in zip(_EFFECT, values, strict=True)}


def _made(_context: RequestContext, saved: Saved[Asked]) -> AccessRequest:
    return shown_request(saved.record, (), saved.record.effect)


class AccessRequestEndpoint(Responders):
    """Base class of the endpoints of requests."""

    def __init__(self, database: Database, requests: AccessRequests) -> None:
        self.database = database
        self.requests = requests

    def visible(self, context: RequestContext) -> Visible | None:
        """Return the filter of requests that the caller can see; None if the caller can see all requests."""
        if context.decide(ACCOUNT, READ_REQUESTS).allowed:
            return None
        policy = context.policy
        if policy is None:
            return Visible(context.user.user_id, ())
        # Stages alone: all callers pass the layer's objects that exempt approvers from the grant check.
        stages = filter(is_for_others, policy.rules.objects(APPROVE))
        decider, held = BatchDecider(policy), codes_asked(context.user)
        mine = {role_of(name) for name in stages if decider.opens(APPROVE, name, held)}
        return Visible(context.user.user_id, mine)

    async def answered(
        self,
        context: RequestContext,
        connection: Connection,
        request: schema.AccessRequest,
        decided: Sequence[AccessDecision] | None = None,
    ) -> AccessRequest:
        """Return a request with its decisions and the effect of the grant.

        Without ``decided``, the decisions are read from the database.
        """
        if decided is None:
            decided = (await store.decisions(connection, [request.id]))[request.id]
        policy = context.policy
        effect = None if policy is None else await self.requests.effect(connection, policy, request)
        persons = (await self.requests.persons(connection, {request.id: decided}, [request])).get(request.id)
        same = await self.requests.same_person(connection, request, decided, context.user.user_id)
        return shown_request(request, decided, effect, persons, same)


class NewAccessRequest(AccessRequestEndpoint, at="/api/access-request"):
    @login(name="createAccessRequest", refuses=[Conflict])
    @writes(
        "ask for a role",
        "INSERT",
        example={"roleCode": "auditor", "duration": 3600, "reason": "The books of this month"},
        dry_run=True,
        created="/api/access-request/{id}",
        idempotent=_made,
    )
    async def on_post(self, context: RequestContext, body: AccessRequestBody) -> AccessRequest:
        """Ask for a role, for a time; who may ask and who approves is said by its rule.

        The role is given when all stages have approved, or later, at `from`; in an emergency at once.
        """
        return _made(context, await self.requests.ask(context.write, body.given()))


class AccessRequestList(AccessRequestEndpoint, at="/api/access-request/list"):
    @login(name="listAccessRequests")
    async def on_get(self, context: RequestContext, query: AccessRequestQuery) -> Page[AccessRequest]:
        """List requests for roles: the caller's own, those that the caller may decide or has decided.

        Holders of `system:access-request:list` see the requests of all.
        """
        criteria, visible = query.filter(RequestFilter), self.visible(context)
        async with self.database.snapshot() as connection:
            listed = await store.page(
                connection,
                criteria,
                visible,
                self.requests.now(),
                page=query.page,
                size=query.size,
                sort=query.sort,
            )
            ids = [request.id for request in listed.items]
            decided = await store.decisions(connection, ids)
            persons = await self.requests.persons(connection, decided, listed.items)
        items = [shown_request(each, decided[each.id], None, persons.get(each.id)) for each in listed.items]
        return Page(items=items, page=query.page, size=query.size, total=listed.total)


class OneAccessRequest(AccessRequestEndpoint, at="/api/access-request/{id}"):
    @login(name="getAccessRequest", refuses=[NotFound])
    async def on_get(self, context: RequestContext, id: int) -> AccessRequest:
        """Read a request for a role, as far as the caller may see it."""
        visible = self.visible(context)
        async with self.database.snapshot() as connection:
            request = await store.read(connection, id, self.requests.now(), visible)
            return await self.answered(context, connection, request)

    @login(name="cancelAccessRequest", refuses=[NotFound, Conflict])
    @writes("withdraw a request", "DELETE", dry_run=True)
    async def on_delete(self, context: RequestContext, id: int) -> None:
        """Withdraw the caller's own request."""
        await self.requests.cancel(context.write, id)


class DecisionAboutRequest(AccessRequestEndpoint, at="/api/access-request/{id}/decision"):
    @login(name="decideAccessRequest", refuses=[NotFound, Conflict])
    @writes(
        "decide about a request",
        "UPDATE",
        example={"decision": "approve", "reason": "As agreed"},
        dry_run=True,
        refuses_keys="a second decision of the same person is none",
    )
    async def on_post(self, context: RequestContext, body: DecisionBody, id: int) -> AccessRequest:
        """Approve or deny a request of somebody else; a second decision of the same person is none.

        Each approval counts in a stage that its giver may decide now. A second approval of the same person
        lets all be counted anew.

        An approval may shorten what was asked for. One denial ends the request.
        """
        saved = await self.requests.decide(context.write, id, body.given(), self.visible(context))
        async with self.database.snapshot() as connection:
            return await self.answered(context, connection, *saved.record)


class ClosingOfEmergency(AccessRequestEndpoint, at="/api/access-request/{id}/closing"):
    @login(name="closeEmergency", refuses=[NotFound, Conflict])
    @writes(
        "close an emergency",
        "UPDATE",
        example={"reason": "The database was down"},
        dry_run=True,
        refuses_keys="an emergency is closed once",
    )
    async def on_post(self, context: RequestContext, body: ClosingBody, id: int) -> AccessRequest:
        """Close an emergency of somebody else, who was given a role at once.

        Those who may decide about requests for the role may do it. Until then it is a finding.
        """
        saved = await self.requests.close(context.write, id, body.reason, self.visible(context))
        async with self.database.snapshot() as connection:
            return await self.answered(context, connection, saved.record)
