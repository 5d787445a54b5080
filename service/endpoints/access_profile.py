"""What answers say by the OpenID AuthZEN Access Request and Approval Profile, where that is on."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from service.administration.access_requests.on_behalf import RequestsOnBehalf
from service.authz.engine.policy import Policy
from service.errors import UnknownTask
from service.evaluation.answers import Answer, Evaluator
from service.evaluation.questions import Asked
from service.evaluation.requestable_denials import RequestableDenials
from service.kernel.identity import Caller
from service.records import access_requests, access_tasks
from service.records.access_requests import AccessRequest
from service.records.database.transactions import Connection, Database
from service.web.messages.authzen import Approval, NextAction, RequestableDenial
from service.web.messages.schema import moment

CAPABILITY: Final = "urn:openid:authzen:capability:access-request"
PATH: Final = "/access/v1/requests"


def approval_in(context: Mapping[str, Any]) -> str | None:
    """Return the id of the approval that the context of a question names; "" for a malformed one."""
    if "approval" not in context:
        return None
    approval = context["approval"]
    named = approval.get("id") if isinstance(approval, dict) else None
    return named if isinstance(named, str) and "\0" not in named else ""


@dataclass(frozen=True, slots=True)
class AccessProfile:
    """The parts that serve the profile; ``public_url`` is how clients reach the service."""

    public_url: str
    denials: RequestableDenials
    evaluator: Evaluator
    requests: RequestsOnBehalf
    database: Database

    @property
    def endpoint(self) -> str:
        """Where access is requested."""
        return f"{self.public_url}{PATH}"

    async def members_for(
        self,
        policy: Policy,
        asking: Caller,
        asked: Asked,
        subject: Caller | None,
        answer: Answer,
        *,
        digest: str,
        approval_id: str | None,
    ) -> dict[str, Any]:
        """Return the members that the profile adds to the context of an answer to ``asking``."""
        members: dict[str, Any] = {}
        decision = answer.decision
        role = await self.denials.role_for(policy, asking, asked, subject, answer)
        if role is not None and decision is not None:
            token, expires_at = self.denials.bind(asking, digest, decision.id)
            members["access_request"] = RequestableDenial(self.endpoint, moment(expires_at), token)
        if approval_id is None:
            return members
        if not answer.allowed:
            next_action: NextAction = "request" if members else "none"
            return members | {"next_action": next_action}
        approval = await self._approval(asking, approval_id, digest)
        return members if approval is None else {"approval": approval}

    async def _approval(self, asking: Caller, approval_id: str, digest: str) -> Approval | None:
        """Return an approval of ``asking`` for the question that holds now; None for any other."""
        now = self.requests.now()
        async with self.database.snapshot() as connection:
            try:
                task = await access_tasks.read(connection, approval_id, asking.user_id)
            except UnknownTask:
                return None
            request = await access_requests.read(connection, task.request_id, now)
            approval = await self.approval_of(connection, task.id, request)
        if approval is None or task.question_digest != digest:
            return None
        return approval if approval.approved_until > moment(now) else None

    async def approval_of(
        self, connection: Connection, task_id: str, request: AccessRequest
    ) -> Approval | None:
        """Return the approval of a request that was approved; one whose role was revoked is over at once."""
        approved_at: datetime | None = request.end_time
        if request.state != "approved" or approved_at is None:
            return None
        until = await access_tasks.granted_until(connection, request, self.requests.now())
        return Approval(task_id, moment(approved_at), moment(until or approved_at))
