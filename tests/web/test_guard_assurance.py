"""The layer ``assurance`` in the guard: who has proved enough, and what a refusal tells."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from service.authz.engine.policy import Policy
from service.authz.engine.rules import Rule
from service.kernel.assurance import Authentication
from service.web.requests.credentials import HeaderToken
from service.web.requests.guard import AuthorizationGuard
from service.web.requests.middleware import RequestMiddleware
from tests.web.driver import ask
from tests.web.example_service import example
from tests.web.test_guard import (
    CALLERS,
    ENDPOINTS,
    OPENINGS,
    REVISION,
    NeverAsked,
    Table,
    caller,
    live_policy,
)

DEMANDING = [
    *OPENINGS,
    *ENDPOINTS,
    Rule("assurance", "resource @unregistered", "@anyone"),
    Rule("assurance", "endpoint GET /api/thing", "@two-factors-within-15m"),
    Rule("assurance", "endpoint GET /api/thing/{id}", "@login"),
    Rule("assurance", "endpoint GET /api/thing/{id}", "@service"),
]


def demanding(*lines: Rule, rules: Iterable[Rule] = DEMANDING) -> RequestMiddleware:
    live = live_policy([])
    live.offer(Policy(live.current.model_text, [*rules, *lines], {}, REVISION + 1))
    guard = AuthorizationGuard(
        HeaderToken("Authorization", "Bearer "),
        Table(REVISION + 1),
        live,
        NeverAsked(),
        now=lambda: 1_000_000.0,
    )
    return example(guard)[0]


AUTHENTICATED = {
    "strong": Authentication("mfa", ("pwd", "otp"), 1_000_000.0 - 899),
    "late": Authentication("mfa", ("pwd", "otp"), 1_000_000.0 - 900),
    "weak": Authentication("pwd", ("pwd",), 1_000_000.0),
    "initial": Authentication("pwd", ("pwd",), 1_000_000.0, initial=True),
}


@pytest.fixture
def authenticated(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, authentication in AUTHENTICATED.items():
        monkeypatch.setitem(CALLERS, name, replace(caller(4, "*"), authentication=authentication))
    monkeypatch.setitem(CALLERS, "key", replace(caller(5, "*"), kind="service", key_id=1))


async def status_of(app: RequestMiddleware, token: str, target: str = "/api/thing") -> int:
    return (await ask(app, "GET", target, ("Authorization", f"Bearer {token}"))).status


@pytest.mark.usefixtures("authenticated")
async def test_a_demand_must_be_met_beside_the_code() -> None:
    app = demanding()

    assert {name: await status_of(app, name) for name in (*AUTHENTICATED, "key")} == {
        "strong": 200,
        "late": 401,
        "weak": 401,
        "initial": 401,
        "key": 403,
    }
    assert await status_of(app, "nobody") == 403  # nobody steps up for what stays closed
    assert await status_of(app, "key", "/api/thing/7") == 200
    assert await status_of(app, "initial", "/api/thing/7") == 401


@pytest.mark.usefixtures("authenticated")
async def test_the_demand_on_the_resource_must_be_met_too() -> None:
    bound = [
        Rule("resource", "GET /api/thing/7", "@login"),
        Rule("assurance", "resource GET /api/thing/7", "@phishing-resistant"),
    ]
    app = demanding(*bound)

    assert await status_of(app, "weak", "/api/thing/8") == 200
    assert await status_of(app, "strong", "/api/thing/7") == 401
    assert await status_of(app, "key", "/api/thing/7") == 403


@pytest.mark.usefixtures("authenticated")
async def test_without_a_line_a_request_is_closed_and_no_step_up_helps() -> None:
    app = demanding(
        rules=[rule for rule in DEMANDING if "{id}" not in rule.object or rule.layer != "assurance"]
    )

    assert await status_of(app, "strong", "/api/thing/7") == 403


@pytest.mark.usefixtures("authenticated")
async def test_a_refusal_tells_how_to_step_up() -> None:
    answer = await ask(demanding(), "GET", "/api/thing", ("Authorization", "Bearer late"))
    problem = answer.json

    assert answer.header("www-authenticate") == (
        'Bearer error="insufficient_user_authentication", acr_values="mfa phr", max_age="900"'
    )
    assert problem["code"] == "insufficient_user_authentication"
    assert (problem["layer"], problem["required"]) == ("assurance", ["@two-factors-within-15m"])
    assert (problem["acrValues"], problem["maxAge"], problem["methods"]) == (["mfa", "phr"], 900, [])
    assert problem["decisionId"].startswith(f"r{REVISION + 1}-")


@pytest.mark.usefixtures("authenticated")
async def test_a_refusal_for_age_alone_names_the_password() -> None:
    app = demanding(
        rules=[
            *OPENINGS,
            *ENDPOINTS,
            Rule("assurance", "resource @unregistered", "@anyone"),
            Rule("assurance", "endpoint GET /api/thing", "@login-within-15m"),
        ]
    )
    late = await ask(app, "GET", "/api/thing", ("Authorization", "Bearer late"))
    initial = await ask(app, "GET", "/api/thing", ("Authorization", "Bearer initial"))

    assert (late.json["methods"], late.json["acrValues"]) == (["password"], ["pwd", "mfa", "phr"])
    assert initial.json["methods"] == []
