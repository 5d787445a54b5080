"""Requests for roles: ``/api/access-request``."""

from collections.abc import Collection, Sequence
from datetime import datetime
from itertools import zip_longest
from types import SimpleNamespace
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from service.administration.unit_of_work import Saved
from service.authz.engine.rules import ACCOUNT, APPROVE
from service.endpoints.request_rules import Stage
from service.errors import Conflict, NotFound
from service.features.access_requests import schema, store, store_catalogue
from service.features.access_requests.effects import Effect
from service.features.access_requests.feature import READ_REQUESTS
from service.features.access_requests.requests import AccessRequests, Asked
from service.features.access_requests.schema import AccessDecision, State, Verdict
from service.features.access_requests.self_approval import Deciding
from service.features.access_requests.store import RequestFilter, Visible
from service.kernel.coded_sentences import Sentence
from service.kernel.identity import codes_asked
from service.kernel.persons import Persons
from service.kernel.request_objects import is_for_others, role_of
from service.kernel.stored_sentences import STORED_REFUSALS
from service.kernel.value_rules import MAX_DURATION, REASON, bounds_of
from service.laboratory.findings import passing
from service.laboratory.proof.batch_decider import BatchDecider
from service.records.database.transactions import Connection, Database
from service.web.messages.context import RequestContext
from service.web.messages.dry_run import StatedSentence
from service.web.messages.operation_metadata import Responders, by_session, login, writes
from service.web.messages.record_schemas import Shown, filters_of, shows
from service.web.messages.schema import (
    Id,
    Moment,
    Page,
    PageQuery,
    Schema,
    SentenceParams,
    sort_keys,
    stated_as,
)

_Reason = Annotated[str, bounds_of(REASON), Meta(examples=["The books of this month"])]
_Until = Annotated[datetime, Meta(tz=True, description="The requested end of the role.")]
_From = Annotated[datetime, Meta(tz=True, description="The start; by default at once.")]


_EFFECT = ("breaks", "break_sentences", "held", "permissions", "permissions_added", "permissions_removed")


class AccessRequestBody(Schema, kw_only=True):
    """A role to request, by its id or its code, with either a duration or an end.

    `from` is a later start: all approvals are checked again at that time.
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
    """A decision; an approval may set an earlier end."""

    decision: Verdict
    reason: Annotated[str, bounds_of(REASON), Meta(min_length=1, examples=["As agreed"])]
    valid_until: _Until | None = msgspec.field(default=None, name="until")


class ClosingBody(Schema, kw_only=True):
    """The result of the review of an emergency."""

    reason: Annotated[str, bounds_of(REASON), Meta(min_length=1, examples=["The database was down"])]


class ClosingOfRequest(Schema, kw_only=True):
    """The closing of an emergency: author, reason and time."""

    user_name: Annotated[str, Meta(examples=["kestrel"])]
    reason: str
    time: Moment


@shows(AccessDecision, valid_until="until")
class DecisionOfRequest(Shown, kw_only=True):
    """A decision; `stages` are those that its author may decide, by the policy decisions `decisionIds`.

    Those of an approval are as of the last approval of the request.
    """

    decision: Verdict


class StageOfRequest(Stage, kw_only=True):
    """A stage, the number of its recorded approvals, and its remaining approvers.

    `approvers` are user names, sorted; null if more than a few may approve, for a request that takes no
    decision, for a new one, and in lists.
    """

    counted: Annotated[int, Meta(ge=0, examples=[0])]
    approvers: Annotated[list[str] | None, Meta(examples=[["quentin"]])]


@shows(
    schema.AccessRequest,
    leave_out=("stage_codes", "stage_approvals", "grant_needed", "complete", "granted_from", "granted_until"),
    before="stages",
    valid_from="from",
    valid_until="until",
)
class AccessRequest(Shown, kw_only=True):
    """An access request; `from`, `until` and `duration` (seconds) are the requested ones.

    After the approval, `from` and `until` are those of the assignment. `breaks`, `held` and the members about
    `permissions` exist only for a pending request, and are null in lists.
    """

    id: Id
    role_name: Annotated[
        str | None,
        Meta(examples=["Auditor"], description="The current name of the role; null for a deleted role."),
    ]
    state: State
    stages: list[StageOfRequest]
    decisions: list[DecisionOfRequest]
    breaks: Annotated[
        list[str] | None,
        Meta(description="The invariants that the assignment would break now."),
    ]
    break_sentences: Annotated[
        list[StatedSentence] | None, Meta(description="`breaks` with codes and parameters.")
    ]
    held: Annotated[
        list[str] | None, Meta(description="The codes of the role that its author already holds, sorted.")
    ]
    permissions: Annotated[
        list[str] | None,
        Meta(description="The codes of the role at the time of the request, sorted; null if not kept."),
    ]
    permissions_added: Annotated[
        list[str] | None, Meta(description="The codes that the role has gained since, sorted.")
    ]
    permissions_removed: Annotated[
        list[str] | None, Meta(description="The codes that the role has lost since, sorted.")
    ]
    same_person: Annotated[
        str | None,
        Meta(
            description="The reason that the caller counts as the author or as an earlier approver, and may "
            "not approve or close it; null without one, and in lists."
        ),
    ]
    same_person_code: Annotated[str, Meta(examples=["same_person"])] | None
    same_person_params: SentenceParams | None
    end_reason_code: Annotated[str, Meta(examples=["author_gone"])] | None
    end_reason_params: SentenceParams | None
    may_decide: Annotated[
        list[Deciding] | None,
        Meta(
            description="The decisions that the policy lets the caller make now; null for a new request, and "
            "in commands. The decision itself also checks the expiry of the grant."
        ),
    ]
    closed: Annotated[
        ClosingOfRequest | None, Meta(description="The user who closed it; for emergencies only.")
    ]


@filters_of(RequestFilter)
class AccessRequestQuery(PageQuery):
    """Filters and order of requests."""

    sort: Annotated[str, sort_keys("AccessRequestSort", store.SORTS)] = "-id"


def shown_request(
    request: schema.AccessRequest,
    decided: Sequence[AccessDecision],
    effect: Effect | None = None,
    persons: Persons | None = None,
    *,
    role_name: str | None,
    same_person: Sentence | None = None,
    may_decide: list[Deciding] | None = None,
    approvers: Sequence[list[str] | None] = (),
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
        SimpleNamespace(
            code=stage.code, approvals=stage.approvals, counted=counted.count(number), approvers=named
        )
        for number, (stage, named) in enumerate(zip_longest(request.stages, approvers), 1)
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
        role_name=role_name,
        **stated_as("same_person", same_person),
        **stated_as("end_reason", STORED_REFUSALS.read(request.end_reason)),
        may_decide=may_decide,
    )


def _of_pending(effect: Effect | None) -> dict[str, Any]:
    """Return the members that describe the effect of a grant; all are None without an ``effect``."""
    if effect is None:
        return dict.fromkeys(_EFFECT)
    then = effect.permissions
    values = (
        map(str, effect.breaks),
        [StatedSentence(**each.as_member()) for each in effect.breaks],
        effect.held,
        then,
        *((None, None) if then is None else (effect.added, effect.removed)),
    )
    return {name: None if value is None else [*value] for name, value in zip(_EFFECT, values, strict=True)}


def _made(_context: RequestContext, saved: Saved[Asked]) -> AccessRequest:
    return shown_request(saved.record, (), saved.record.effect, role_name=saved.record.role_name)


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
        by_id = {request.id: decided}
        allowed = await self.requests.decisions_allowed(connection, policy, context.user, [request], by_id)
        names = await store_catalogue.role_names(connection, [request.role_id])
        return shown_request(
            request,
            decided,
            effect,
            persons,
            role_name=names.get(request.role_id),
            same_person=same,
            may_decide=allowed[request.id],
            approvers=await self.requests.approvers(connection, policy, request, decided),
        )


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
    @by_session("request")
    async def on_post(self, context: RequestContext, body: AccessRequestBody) -> AccessRequest:
        """Request a role for a time; its request rule names the requesters and approvers.

        The role is assigned after the approval of all stages, or later, at `from`. In an emergency it is
        assigned at once.
        """
        return _made(context, await self.requests.ask(context.write, body.given()))


class AccessRequestList(AccessRequestEndpoint, at="/api/access-request/list"):
    @login(name="listAccessRequests")
    async def on_get(self, context: RequestContext, query: AccessRequestQuery) -> Page[AccessRequest]:
        """List access requests of the caller, and those that the caller may decide or has decided.

        Holders of `system:access-request:list` see all requests.
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
            names = await store_catalogue.role_names(connection, {each.role_id for each in listed.items})
            allowed = await self.requests.decisions_allowed(
                connection, context.policy, context.user, listed.items, decided
            )
        items = [
            shown_request(
                each,
                decided[each.id],
                None,
                persons.get(each.id),
                role_name=names.get(each.role_id),
                may_decide=allowed[each.id],
            )
            for each in listed.items
        ]
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
    @by_session("request")
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
        refuses_keys="a repeated decision counts once",
    )
    @by_session("approve")
    async def on_post(self, context: RequestContext, body: DecisionBody, id: int) -> AccessRequest:
        """Approve or deny a request of another person; a repeated decision counts once.

        An approval counts in each stage that the approver may decide now. A repeated approval counts all
        approvals again.

        An approval may shorten the requested time. One denial ends the request.
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
    @by_session("approve")
    async def on_post(self, context: RequestContext, body: ClosingBody, id: int) -> AccessRequest:
        """Close an emergency of another person, who got a role at once.

        Approvers of requests for the role may close it. An open emergency is a finding.
        """
        saved = await self.requests.close(context.write, id, body.reason, self.visible(context))
        async with self.database.snapshot() as connection:
            return await self.answered(context, connection, saved.record)
