"""Requests that a service account makes in the name of a person to whom something was denied."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from service.administration import change_log
from service.administration.access_requests.requests import AccessRequests
from service.administration.unit_of_work import RightsUnits, Saved, UnitOfWork
from service.authz.engine.policy import Decision
from service.authz.engine.rules import ASSURANCE, REQUEST, assured
from service.errors import Conflict, InvalidTaskState, NotRequestable
from service.kernel.codes import HeldCodes
from service.kernel.identity import Caller, words_asked
from service.kernel.request_objects import ask
from service.kernel.write import Write
from service.records import access_requests, access_tasks, role_rights
from service.records.access_requests import AccessRequest
from service.records.access_tasks import AccessTask

_ID_BYTES: Final = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """What was denied to ``subject``: a question about ``service``, by its digest and decision."""

    subject: Caller
    service: str
    question_digest: str
    decision_id: str


@dataclass(frozen=True, slots=True)
class Submitted:
    """A task, the request that it stands for, and the URL below which its service finds it."""

    task: AccessTask
    request: AccessRequest
    endpoint: str


class RequestsOnBehalf:
    """Makes and cancels requests of others; raises what ``RightsUnits`` raises."""

    def __init__(self, units: RightsUnits, requests: AccessRequests, endpoint: str) -> None:
        self._units = units
        self._requests = requests
        self._endpoint = endpoint

    def now(self) -> datetime:
        """Return the instant by which requests expire."""
        return self._requests.now()

    async def ask(self, write: Write, given: Mapping[str, Any], submission: Submission) -> Saved[Submitted]:
        """Ask for a role in the name of a subject, with what ``AccessRequests.ask`` takes.

        The caller must be let by the layer ``account``, and the subject, by what is stored and by what they
        have proved, by the layers ``request`` and ``assurance``: PermissionDenied or NotRequestable else.
        Raises what ``AccessRequests.ask`` raises besides.
        """
        subject = submission.subject
        async with self._units.of_rights(write, watched=False) as unit:
            unit.check.require_submitting(submission.service)
            now = self.now()
            stored = await role_rights.of_enabled_user(unit.connection, subject.user_id, now)
            satisfied = words_asked(subject, now.timestamp())

            def allow(name: str) -> Decision:
                # What is given at once is for those who ask themselves.
                if stored is None or satisfied is None or name != ask(given["role_code"]):
                    raise NotRequestable
                decisions = [
                    unit.check.ask_of(REQUEST, name, subject.held),
                    unit.check.ask_of(ASSURANCE, assured(REQUEST, name), satisfied),
                    unit.check.ask_of(REQUEST, name, HeldCodes(stored.permissions)),
                ]
                for decision in decisions:
                    if not decision.allowed:
                        raise NotRequestable("The subject may not ask for the role in this way", decision)
                return decisions[-1]

            given = {**given, "decision_id": submission.decision_id}
            try:
                made = await self._requests.make(unit, given, subject, allow)
            except Conflict as conflict:
                if conflict.extra.get("rule") != "unique":
                    raise
                raise Conflict("The subject has asked for the role already", rule="unique") from None
            task = AccessTask(
                id=secrets.token_urlsafe(_ID_BYTES),
                request_id=made.id,
                caller_id=unit.caller.user_id,
                caller_name=unit.caller.user_name,
                service=submission.service,
                question_digest=submission.question_digest,
            )
            await access_tasks.create(unit.connection, task)
            _tell(unit, made.role_code, made.id, f"submitted by {task.caller_name}")
            submitted = Submitted(task, made, self._endpoint)
            await unit.made(submitted)
        return Saved(submitted)

    async def cancel(self, write: Write, task_id: str) -> Submitted:
        """Cancel what the caller has asked for in the name of others.

        Raises ``UnknownTask``, ``PermissionDenied``, and ``InvalidTaskState`` for one that has ended.
        """
        async with self._units.of_rights(write, watched=False) as unit:
            task = await access_tasks.read(unit.connection, task_id, unit.caller.user_id)
            unit.check.require_submitting(task.service)
            now = self.now()
            request = await access_requests.read(unit.connection, task.request_id, now, for_update=True)
            if request.state != "pending":
                raise InvalidTaskState(f"It is {request.state}")
            await access_requests.end(unit.connection, request.id, "cancelled", now, by=unit.caller.user_name)
            _tell(unit, request.role_code, request.id, f"withdrawn by {unit.caller.user_name}")
            ended = await access_requests.read(unit.connection, request.id, now)
            return Submitted(task, ended, self._endpoint)


def _tell(unit: UnitOfWork, role_code: str, request_id: int, what: str) -> None:
    change_log.concerns(change_log.role_target(role_code))
    unit.changes += change_log.of_request(request_id, role_code, what)
