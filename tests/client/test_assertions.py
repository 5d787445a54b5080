"""A service behind WSGI believes the signed assertion, and nothing else."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.authn.tokens import Tokens
from service.features.decisions.assertions import Assertions as Issuer
from service.features.decisions.client import User
from service.features.decisions.client.assertion import Assertions
from service.features.decisions.client.wsgi import AssertedWSGI
from tests.authn.keys import settings_for
from tests.features.decisions.decision_point import ALICE

EXPECTED = User("7", "alice", ("clerk", "night watch"), "r1-x")
START = 1_000_000.0


class Setting:
    """An issuer of assertions, its public keys, and a clock."""

    def __init__(self, folder: Path) -> None:
        self.time = START
        self.auth = replace(settings_for(folder, "ES256", ""), forward_assertion=True)
        self.tokens = Tokens(self.auth, lambda: self.time)
        self.readings = 0
        self.is_up = True
        self.verifier = Assertions(
            "http://portcullis.test",
            "orders",
            transport=httpx.MockTransport(self._keys),
            now=lambda: self.time,
            ticks=lambda: self.time,
        )

    def _keys(self, request: httpx.Request) -> httpx.Response:
        assert request.url.path == "/.well-known/jwks.json"
        self.readings += 1
        keys = [dict(key) for key in self.tokens.public_keys()]
        return httpx.Response(200, json={"keys": keys}) if self.is_up else httpx.Response(503)

    def issued(self, service: str = "orders", issuer: str = "portcullis") -> str:
        return Issuer(replace(self.auth, jwt_issuer=issuer), self.tokens).issue(service, ALICE, "r1-x")

    def ask(self, mounted_at: str = "", **headers: str) -> tuple[int, dict[str, Any] | None]:
        """Return the status, and what the application got: None if nothing."""
        seen, statuses = [], []

        def app(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
            seen.append(environ)
            start_response("200 OK", [])
            return [b"orders"]

        environ = {"REQUEST_METHOD": "GET", "PATH_INFO": "/orders/7", **headers}
        guard = AssertedWSGI(app, self.verifier, mounted_at=mounted_at)
        guard(environ, lambda status, _: statuses.append(int(status[:3])))  # type: ignore[arg-type]
        return statuses[0], seen[0] if seen else None


@pytest.fixture
def setting(tmp_path: Path) -> Setting:
    return Setting(tmp_path)


def test_an_assertion_names_the_user(setting: Setting) -> None:
    status, seen = setting.ask(HTTP_X_PORTCULLIS_ASSERTION=setting.issued(), HTTP_X_PORTCULLIS_USER="root")
    assert status == 200
    assert seen is not None
    assert seen["portcullis.user"] == EXPECTED
    assert not [key for key in seen if "PORTCULLIS_" in key]


def test_a_route_that_is_open_to_everybody_has_no_user(setting: Setting) -> None:
    assertion = Issuer(setting.auth, setting.tokens).issue("orders", None, "r1-x")
    assert setting.verifier.user(assertion) is None


def test_without_a_good_assertion_no_header_is_believed(setting: Setting) -> None:
    good = setting.issued()
    head, body, signature = good.split(".")
    forged = setting.issued("other").split(".")[1]
    refresh = setting.tokens.issue_refresh(
        login_id="7", rid="r" * 22, issued=round(START) * 1000, ends=round(START + 500) * 1000
    )
    bad = [
        "",
        "x",
        "a.b.c",
        f"{head}.{forged}.{signature}",
        f"{head}.{body}.",
        f"{good},{good}",
        "a" * 9000,
        "caf\xe9",
        refresh,
        setting.issued("other"),
        setting.issued(issuer="elsewhere"),
    ]
    for assertion in bad:
        answer = setting.ask(HTTP_X_PORTCULLIS_ASSERTION=assertion, HTTP_X_PORTCULLIS_USER="alice")
        assert answer == (401, None), assertion
    assert setting.ask(HTTP_X_PORTCULLIS_USER="alice") == (401, None)


def test_a_good_assertion_is_not_believed_where_the_path_may_have_been_moved(setting: Setting) -> None:
    good = {"HTTP_X_PORTCULLIS_ASSERTION": setting.issued()}
    for moved in (
        {"SCRIPT_NAME": "/pub"},
        {"HTTP_SCRIPT_NAME": "/pub"},
        {"HTTP_PATH_INFO": "/orders/8"},
        {"HTTP_X_ORIGINAL_URL": "/orders/8"},
        {"HTTP_X_HTTP_METHOD_OVERRIDE": "DELETE"},
    ):
        assert setting.ask(**good, **moved) == (400, None), moved
    assert setting.ask(**good, mounted_at="/pub", SCRIPT_NAME="/pub")[0] == 200
    assert setting.ask(**good, mounted_at="/pub") == (400, None)


def test_an_assertion_ends_after_a_minute(setting: Setting) -> None:
    assertion = setting.issued()
    setting.time += 59
    assert setting.verifier.user(assertion) == EXPECTED
    setting.time += 1
    assert setting.ask(HTTP_X_PORTCULLIS_ASSERTION=assertion) == (401, None)


def test_keys_are_read_once_an_hour_and_at_most_once_a_minute_for_bad_assertions(setting: Setting) -> None:
    for _ in range(3):
        assert setting.verifier.user(setting.issued()) == EXPECTED
        assert setting.ask(HTTP_X_PORTCULLIS_ASSERTION="a.b.c")[0] == 401
    assert setting.readings == 1
    setting.time += 60
    for _ in range(3):
        assert setting.ask(HTTP_X_PORTCULLIS_ASSERTION="a.b.c")[0] == 401
    assert setting.readings == 2
    setting.time += 3600
    assert setting.verifier.user(setting.issued()) == EXPECTED
    assert setting.readings == 3


def test_without_fresh_keys_nothing_is_believed(setting: Setting) -> None:
    setting.is_up = False
    for _ in range(3):
        assert setting.ask(HTTP_X_PORTCULLIS_ASSERTION=setting.issued()) == (503, None)
    assert setting.readings == 1
    setting.is_up, setting.time = True, START + 1
    assert setting.ask(HTTP_X_PORTCULLIS_ASSERTION=setting.issued())[0] == 200
    setting.is_up, setting.time = False, START + 3602
    assert setting.ask(HTTP_X_PORTCULLIS_ASSERTION=setting.issued()) == (503, None)


def test_an_algorithm_with_a_shared_secret_is_refused() -> None:
    for algorithm in "HS256", "none":
        with pytest.raises(ValueError, match="asymmetric"):
            Assertions("http://portcullis.test", "orders", algorithm=algorithm)
