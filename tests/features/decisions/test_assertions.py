"""Signed assertions: verified with the public keys alone, good for one service, and for nothing else."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from joserfc import jwk, jwt

from service.errors import TokenInvalid
from tests.authn.keys import settings_for, verify_access
from tests.features.decisions.decision_point import DecisionPoint
from tests.features.decisions.test_forward import BEARER, KINDS

every = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(scope="module")
def point(tmp_path_factory: pytest.TempPathFactory) -> DecisionPoint:
    auth = settings_for(tmp_path_factory.mktemp("keys"), "ES256", "")
    return DecisionPoint(auth=replace(auth, forward_assertion=True, is_read_cookie=True))


async def assertion(point: DecisionPoint, kind: str, line: str, *headers: str) -> jwt.Token:
    answer = await point.ask(kind, line, *headers)
    assert answer.status == 200
    keys = jwk.KeySet.import_key_set({"keys": [dict(key) for key in point.tokens.public_keys()]})
    return jwt.decode(answer.header("x-portcullis-assertion") or "", keys, algorithms=["ES256"])


@every
async def test_an_assertion_names_the_user_the_service_and_the_decision(
    point: DecisionPoint, kind: str
) -> None:
    answer = await point.ask(kind, "GET /orders/7", BEARER + "alice")
    token = await assertion(point, kind, "GET /orders/7", BEARER + "alice")
    claims: dict[str, Any] = token.claims
    assert token.header["typ"] == "portcullis-assertion+jwt"
    assert claims.pop("exp") - claims.pop("iat") == 60
    assert claims == {
        "iss": "portcullis",
        "aud": "orders",
        "sub": "7",
        "user_name": "alice",
        "roles": ["clerk", "night watch"],
        "decision": answer.header("x-portcullis-decision"),
    }


@every
async def test_the_assertion_about_nobody_names_no_user(point: DecisionPoint, kind: str) -> None:
    token = await assertion(point, kind, "GET /status")
    assert set(token.claims) == {"iss", "aud", "iat", "exp", "decision"}


async def test_a_refusal_carries_no_assertion(point: DecisionPoint) -> None:
    for headers in (), (BEARER + "alice",):
        answer = await point.ask("caddy", "DELETE /orders/7", *headers)
        assert answer.status in (401, 403)
        assert answer.header("x-portcullis-assertion") is None


async def test_an_assertion_is_no_token_of_any_kind(point: DecisionPoint) -> None:
    answer = await point.ask("caddy", "GET /orders/7", BEARER + "alice")
    text = answer.header("x-portcullis-assertion") or ""
    for verify in partial(verify_access, point.tokens), point.tokens.verify_refresh:
        with pytest.raises(TokenInvalid):
            verify(text)


async def test_a_token_is_no_assertion(point: DecisionPoint) -> None:
    refresh = point.tokens.issue_refresh(login_id="7", rid="r" * 22, issued=1_000, ends=2_000)
    keys = jwk.KeySet.import_key_set({"keys": [dict(key) for key in point.tokens.public_keys()]})
    assert jwt.decode(refresh, keys, algorithms=["ES256"]).header["typ"] == "JWT"
