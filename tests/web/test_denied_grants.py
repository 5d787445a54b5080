"""A denial that a responder meets, after the guard has let the request pass, is told as any other."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from service.authz.engine.policy import Policy
from service.authz.engine.rules import GRANT, Rule
from service.errors import PermissionDenied
from service.kernel.codes import HeldCodes
from service.kernel.metrics import Sample
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import public
from service.web.observability.traffic import Traffic
from service.web.requests.application import Application
from service.web.requests.middleware import RequestMiddleware
from service.web.requests.routes import Routes
from tests.policies.stock import MODEL
from tests.web.driver import ask
from tests.web.example_service import OpenGate

pytestmark = pytest.mark.anyio

POLICY = Policy(MODEL.read_text("utf-8"), [Rule(GRANT, "a:b", "a:b")], revision=7)
DENIAL = POLICY.judge(GRANT, "a:b", HeldCodes(["a:c"]))


class Role:
    """Changes nothing."""

    @public
    async def on_get(self, _context: RequestContext) -> dict[str, str]:
        """Refuse."""
        raise PermissionDenied("Not yours", DENIAL, required=["a:b", "a:d"], needed="all")


async def test_a_denied_grant_is_answered_counted_and_logged_with_its_layer_and_decision() -> None:
    app, traffic = Application(), Traffic()
    Routes(app, OpenGate()).add("/api/role", Role())
    with capture_logs() as lines:
        answer = await ask(RequestMiddleware(app, count=traffic.count), "GET", "/api/role")

    assert (answer.status, answer.json["layer"], answer.json["needed"]) == (403, "grant", "all")
    assert (answer.json["required"], answer.json["decisionId"]) == (["a:b", "a:d"], DENIAL.id)
    assert Sample("portcullis_denials_total", 1, {"layer": "grant"}) in list(traffic.samples())
    (line,) = lines
    assert (line["denied"], line["decision"]) == ("grant", DENIAL.id)
