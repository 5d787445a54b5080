"""A service with a key for second factors and an address for passkeys, shared by the tests of a file."""

import base64
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

import pytest

from service.features.embedded.stores import EmbeddedStores
from service.features.second_factors import totp
from tests.support.authenticator import Passkey
from tests.support.inside import Inside
from tests.support.inside_fixtures import inside_own
from tests.web.driver import Answer

ORIGIN: Final = "https://id.example.com"
PASSWORD: Final = "seven wary herons at dusk"
SETTINGS: Final = {
    "PORTCULLIS_AUTH__FACTOR_KEY": "a key of second factors, for tests".replace(" ", "-"),
    "PORTCULLIS_SERVER__PUBLIC_URL": ORIGIN,
}
_numbers = count(1)


@dataclass
class Person:
    """A user of the test's own, who logs in by an app, a passkey and recovery codes, once enrolled."""

    site: Inside
    id: int
    name: str
    token: str = ""
    refresh_token: str = ""
    secret: bytes = b""
    app: int = 0
    codes: list[str] = field(default_factory=list)
    passkey: Passkey = field(default_factory=lambda: Passkey("id.example.com", ORIGIN))
    password: str = PASSWORD

    async def ask(self, method: str, target: str, body: Any = None) -> Answer:
        """Send a request with the person's token."""
        return await self.site.ask(method, target, body, token=self.token)

    async def data(self, method: str, target: str, body: Any = None) -> Any:
        """Send a request that must succeed, and return what it answers."""
        answer = await self.ask(method, target, body)
        assert answer.status in (200, 201), answer.body
        return answer.json["data"]

    async def first_step(self, password: str | None = None, **other: str) -> Answer:
        """Send name and password."""
        body = {"userName": self.name, "password": password or self.password, **other}
        return await public(self.site, "/api/auth/login", body)

    async def challenged(self) -> dict[str, Any]:
        """Return the refusal of a first step with the right password."""
        answer = await self.first_step()
        assert (answer.status, answer.json["code"]) == (401, "second_factor_required"), answer.body
        refusal: dict[str, Any] = answer.json
        return refusal

    async def second_step(self, challenge: str, method: str, **proof: Any) -> Answer:
        """Answer a challenge."""
        body = {"challenge": challenge, "method": method, **proof}
        return await public(self.site, "/api/auth/login/second-factor", body)

    async def log_in(self) -> None:
        """Log in by the password alone."""
        self._take(await self.first_step())

    async def log_in_by_app(self) -> None:
        """Log in by password and app."""
        refusal = await self.challenged()
        self._take(await self.second_step(refusal["challenge"], "totp", code=self.code()))

    async def renew(self) -> None:
        """Refresh the own session."""
        self._take(await public(self.site, "/api/auth/refresh", {"refreshToken": self.refresh_token}))

    def _take(self, answer: Answer) -> None:
        assert answer.status == 200, answer.body
        pair = answer.json["data"]
        self.token, self.refresh_token = pair["accessToken"], pair["refreshToken"]

    def code(self) -> str:
        """Return what the app shows now, which may be used again: nobody waits half a minute for the next."""
        self.site.beside().execute(
            "UPDATE sys.user_factor SET last_step = NULL WHERE user_id = %s", [self.id]
        )
        return totp.code_at(self.secret, int(time.time()) // totp.PERIOD)

    async def step_up(self) -> None:
        """Prove the app again."""
        body = {"method": "totp", "code": self.code()}
        self._take(await self.ask("POST", "/api/auth/step-up", body))

    async def enrol_app(self) -> list[str] | None:
        """Enrol an app, and return the recovery codes that come with a first factor."""
        app = await self.data("POST", "/api/user/profile/factors/totp", {"name": "My phone"})
        self.app, self.secret = app["id"], base64.b32decode(app["secret"])
        target = f"/api/user/profile/factors/totp/{app['id']}/confirm"
        codes: list[str] | None = (await self.data("POST", target, {"code": self.code()}))["recoveryCodes"]
        self.codes = codes or self.codes
        return codes

    async def enrol_passkey(self, passkey: Passkey | None = None) -> dict[str, Any]:
        """Enrol a passkey, and return the answer."""
        options = await self.data("POST", "/api/user/profile/factors/passkey/options")
        credential = (passkey or self.passkey).register(options["publicKey"])
        body = {"name": "My key", "credential": credential}
        enrolled: dict[str, Any] = await self.data("POST", "/api/user/profile/factors/passkey", body)
        self.codes = enrolled["recoveryCodes"] or self.codes
        return enrolled


async def public(site: Inside, target: str, body: Mapping[str, Any] | None = None) -> Answer:
    """Send a POST request without a token."""
    return await site.as_anonymous("POST", target, body=body)


@pytest.fixture(scope="module")
async def site(stores: EmbeddedStores, published_template: str) -> AsyncIterator[Inside]:
    """The service of a file; each test has a person of its own."""
    async with inside_own(stores, published_template, **SETTINGS) as running:
        yield running


@pytest.fixture
async def person(site: Inside) -> Person:
    """Somebody who has just logged in, without a second factor."""
    name = f"person-{next(_numbers)}"
    body = {"userName": name, "nickName": name, "password": PASSWORD}
    made = await site.data("POST", "/api/user", body)
    person = Person(site, made["id"], name)
    await person.log_in()
    return person
