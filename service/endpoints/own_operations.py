"""What the caller may call: ``/api/user/operations``."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from service.authz.engine.policy import Policy
from service.authz.publishing.discovery import any_request
from service.authz.publishing.live import LivePolicy
from service.kernel.codes import HeldCodes
from service.kernel.services import PORTCULLIS
from service.web.messages.context import RequestContext
from service.web.messages.description import Operation
from service.web.messages.operation_metadata import login, named, tagged
from service.web.messages.preconditions import answer_tag, content_tag
from service.web.messages.schema import Revision, Schema
from service.web.openapi.document import shown_path
from service.web.requests.routes import Routes


class OwnOperations(Schema):
    """The operations that the caller may call by this revision of the policy, by method and path.

    Paths are those of this document. An operation with parameters is there if a request passes whose values
    no other resource names.
    """

    revision: Revision
    operations: list[Annotated[str, Meta(examples=["GET /api/user/{id}"])]]


class OwnOperationList:
    """``/api/user/operations``."""

    def __init__(self, live: LivePolicy, routes: Routes) -> None:
        self._live = live
        self._routes = routes

    @login
    @tagged
    @named("listOwnOperations")
    async def on_get(self, context: RequestContext) -> OwnOperations:
        """List what the caller may call now, decided as requests are, through both layers.

        A user interface offers what is listed. 304 if `If-None-Match` names the `ETag`, which changes with
        the answer.
        """
        policy = context.policy or self._live.current
        held = context.user.held
        passed = [
            f"{operation.method} {shown_path(operation.template)}"
            for operation in self._routes.operations
            if _passes(policy, operation, held)
        ]
        answer = OwnOperations(policy.revision, passed)
        answer_tag(context, content_tag(answer))
        return answer


def _passes(policy: Policy, operation: Operation, held: HeldCodes) -> bool:
    path = any_request(operation.template)
    return policy.judge_route(PORTCULLIS, operation.method, path, held).allowed
