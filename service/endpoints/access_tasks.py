"""Requests of other services in the name of persons: ``/access/v1/requests`` (AuthZEN, a draft profile)."""

from datetime import datetime
from typing import Annotated, Any, Final, Literal

from msgspec import UNSET, Meta, UnsetType, field

from service.administration.access_requests.asking import LONGEST
from service.administration.access_requests.on_behalf import Submission, Submitted
from service.administration.unit_of_work import Saved
from service.authz.engine.rules import ACCOUNT
from service.endpoints.access_profile import PATH, AccessProfile
from service.errors import (
    BadRequest,
    Conflict,
    ExpiredDenial,
    InvalidDenialBinding,
    InvalidTaskState,
    NotFound,
    NotRequestable,
    Unavailable,
    UnknownTask,
    ValidationFailed,
)
from service.kernel.account_acts import submitting
from service.kernel.value_rules import REASON
from service.records import access_requests, access_tasks
from service.records.access_requests import State
from service.web.messages import operation_metadata as operation
from service.web.messages.authzen import Approval, Evaluation, TaskId
from service.web.messages.context import RequestContext
from service.web.messages.schema import Moment, ProtocolSchema, moment

_NEEDS: Final = "system:policy:evaluate"
_MEMBERS: Final = {
    "until": "requested_access.requested_until",
    "duration": "requested_access.requested_until",
    "reason": "context.business_justification",
}
"""The members that stand for the fields of a request."""


class Denial(ProtocolSchema):
    """The denial, as its answer told it in `context.access_request`."""

    expires_at: Annotated[datetime, Meta(tz=True)]
    binding_token: Annotated[str, Meta(max_length=1024)]


class RequestedAccess(ProtocolSchema):
    """Until when the role is asked for; without it, for as long as its rule allows."""

    requested_until: Annotated[datetime, Meta(tz=True)] | UnsetType = UNSET
    emergency: bool = False


class Client(ProtocolSchema):
    """Who submits: `actor` is refused, since nothing proves a chain of actors."""

    actor: Any = UNSET


class AccessSubmission(Evaluation, kw_only=True):
    """The question that was denied, and its denial. `context.business_justification` is the reason.

    `items` and `callback` are refused: they are not supported.
    """

    denial: Denial
    requested_access: RequestedAccess = field(default_factory=RequestedAccess)
    client: Client = field(default_factory=Client)
    items: Any = UNSET
    callback: Any = UNSET

    def require_supported(self) -> None:
        """Return if nothing is asked for that would be left out; ``BadRequest`` else."""
        for member, given in (
            ("items", self.items is not UNSET),
            ("callback", self.callback is not UNSET),
            ("client.actor", self.client.actor is not UNSET),
            ("requested_access.emergency", self.requested_access.emergency),
        ):
            if given:
                raise BadRequest(f"{member}: is not supported here")

    def given(self) -> dict[str, Any]:
        """Return what is asked for beside the role."""
        until = self.requested_access.requested_until
        given: dict[str, Any] = {"duration": LONGEST} if until is UNSET else {"valid_until": until}
        if (reason := self.context.get("business_justification")) is not None:
            given["reason"] = _reason(reason)
        return given


def _reason(value: object) -> str:
    fault = REASON(value) if isinstance(value, str) else "must be a text"
    if fault is not None:
        raise BadRequest(f"{_MEMBERS['reason']}: {fault}")
    return str(value)


class Links(ProtocolSchema):
    """Where a task is cancelled."""

    cancel: str


class Task(ProtocolSchema, omit_defaults=True):
    """A task; while it is pending, with when it expires, and where it is cancelled."""

    id: TaskId
    status: State
    status_endpoint: str
    expires_at: Moment | UnsetType = UNSET
    links: Links | UnsetType = UNSET


class Result(ProtocolSchema):
    """How a task was completed."""

    approval: Approval
    mode: Literal["reevaluate"] = "reevaluate"


class TaskAnswer(ProtocolSchema, omit_defaults=True):
    """A task, and its result once it is approved."""

    task: Task
    result: Result | UnsetType = UNSET

    @property
    def id(self) -> str:
        """The id of the task, of which its path is made."""
        return self.task.id


def _shown(submitted: Submitted) -> TaskAnswer:
    task, request = submitted.task, submitted.request
    here = f"{submitted.endpoint}/{task.id}"
    shown = Task(task.id, request.state, here)
    if request.state == "pending":
        shown.expires_at, shown.links = moment(request.deadline), Links(f"{here}/cancel")
    return TaskAnswer(shown)


def _made(_context: RequestContext, saved: Saved[Submitted]) -> TaskAnswer:
    return _shown(saved.record)


class _Tasks:
    """The base of the endpoints of the profile."""

    def __init__(self, profile: AccessProfile | None) -> None:
        """``profile`` is None where the setting is off: then nothing is here."""
        self._profile = profile

    @property
    def profile(self) -> AccessProfile:
        """The parts that serve it; ``NotFound`` where it is off."""
        if self._profile is None:
            raise NotFound
        return self._profile


class NewAccessTask(_Tasks):
    """``/access/v1/requests``."""

    @operation.needs(_NEEDS)
    @operation.named("createAccessTask")
    @operation.created(f"{PATH}/{{id}}")
    @operation.idempotent(_made)
    @operation.logged("access-request", "ask for a role in the name of a person", "INSERT", params=False)
    @operation.refuses(NotFound, Conflict, NotRequestable, InvalidDenialBinding, ExpiredDenial)
    @operation.example_body(
        {
            "subject": {"type": "user", "id": "alice"},
            "action": {"name": "GET"},
            "resource": {"type": "route", "id": "/api/role/list"},
            "context": {"business_justification": "The books of this month"},
            "denial": {"expires_at": "2026-11-30T12:10:00Z", "binding_token": "WzcsIi4uLiJd.5f0c39d1a2b4"},
        }
    )
    async def on_post(self, context: RequestContext, body: AccessSubmission) -> TaskAnswer:
        """Ask for the role that would open what was denied to a person, in the name of that person.

        The Access Request and Approval Profile of OpenID AuthZEN, a draft: 404 unless the setting
        `policy.request_profile` is on. The role is given when others have approved; then the question is to
        be asked again.
        """
        profile, policy = self.profile, context.policy
        asking = context.user
        body.require_supported()
        given = body.given()
        if policy is None:
            raise Unavailable("No policy has been loaded yet")
        subject, answer = await profile.evaluator.evaluate_one(policy, asking, body.asked, context.all_rights)
        if subject is None:
            raise NotRequestable
        digest = body.digest(subject)
        denial = body.denial
        decision_id = profile.denials.opened(denial.binding_token, asking, digest, denial.expires_at)
        role = await profile.denials.role_for(policy, asking, body.asked, subject, answer)
        if role is None:
            raise NotRequestable
        submission = Submission(
            subject=subject,
            service=role.service,
            question_digest=digest,
            decision_id=decision_id,
        )
        try:
            saved = await profile.requests.ask(
                context.write, given | {"role_code": role.role_code}, submission
            )
        except ValidationFailed as refusal:
            fault, *_ = refusal.extra["errors"]
            member = _MEMBERS.get(fault["field"], fault["field"])
            raise BadRequest(f"{member}: {fault['message']}") from None
        return _shown(saved.record)


class OneAccessTask(_Tasks):
    """``/access/v1/requests/{id}``."""

    @operation.needs(_NEEDS)
    @operation.named("getAccessTask")
    @operation.refuses(NotFound, UnknownTask)
    async def on_get(self, context: RequestContext, id: TaskId) -> TaskAnswer:
        """Read what has become of a request that the caller has made in the name of a person.

        Approval grants nothing by itself: the question is to be asked again with `result.approval` as
        `context.approval`.
        """
        profile, asking = self.profile, context.user
        async with profile.database.snapshot() as connection:
            task = await access_tasks.read(connection, id, asking.user_id)
            name = submitting(asking.service, task.service, by_person=asking.kind == "person")
            if not context.decide(ACCOUNT, name).allowed:
                raise UnknownTask
            request = await access_requests.read(connection, task.request_id, profile.requests.now())
            approval = await profile.approval_of(connection, task.id, request)
        shown = _shown(Submitted(task, request, profile.endpoint))
        if approval is not None:
            shown.result = Result(approval)
        return shown


class CancelledAccessTask(_Tasks):
    """``/access/v1/requests/{id}/cancel``."""

    @operation.needs(_NEEDS)
    @operation.named("cancelAccessTask")
    @operation.logged("access-request", "withdraw a request of another person", "UPDATE")
    @operation.refuses(NotFound, UnknownTask, InvalidTaskState)
    async def on_post(self, context: RequestContext, id: TaskId) -> TaskAnswer:
        """Withdraw a pending request that the caller has made in the name of a person."""
        return _shown(await self.profile.requests.cancel(context.write, id))
