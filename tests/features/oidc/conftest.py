"""A service with two providers of OpenID Connect, for front ends and with cookies."""

import json
import secrets
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from service.features.embedded.stores import EmbeddedStores
from tests.features.oidc.hostile import CLIENT, SECRET, HostileProvider, encoded, hostile_provider
from tests.support.inside import Inside
from tests.support.inside_fixtures import inside_own
from tests.web.driver import Answer

PUBLIC: Final = "https://portcullis.example"


def provider_settings(provider: HostileProvider, name: str, **changes: Any) -> dict[str, Any]:
    members: dict[str, Any] = {
        "name": name,
        "issuer": provider.url,
        "client_id": CLIENT,
        "client_secret": SECRET,
    }
    members |= {"create": "any", "acr": {"strong": "mfa", "passkey": "phr"}} | changes
    return {member: value for member, value in members.items() if value is not None}


def variables(*providers: dict[str, Any]) -> dict[str, str]:
    return {
        "PORTCULLIS_SERVER__PUBLIC_URL": PUBLIC,
        "PORTCULLIS_OIDC__PROVIDERS": json.dumps(providers),
        "PORTCULLIS_OIDC__NEXT_ORIGINS": "https://app.example",
        "PORTCULLIS_OIDC__TIMEOUT": "20",
    }


SHORT: Final = {"PORTCULLIS_OIDC__TIMEOUT": "2"}
"""A limit for a provider that is too slow."""


@dataclass
class Browser:
    """A front end and the browser that it is in, which sign in at a provider."""

    service: Inside
    provider: HostileProvider
    name: str = "good"
    next: str = "/front"
    cookie: str = ""
    accept: str = "application/json"

    def __post_init__(self) -> None:
        self.verifier = secrets.token_urlsafe(48)

    @property
    def challenge(self) -> str:
        return encoded(sha256(self.verifier.encode()).digest())

    async def start(self, **query: str | None) -> Answer:
        sent = {"next": self.next, "challenge": self.challenge} | query
        text = urlencode({name: value for name, value in sent.items() if value is not None})
        target = f"/api/auth/oidc/{self.name}/start?{text}"
        answer = await self.service.as_anonymous("GET", target, ("Accept", self.accept))
        self._keep(answer)
        return answer

    async def url(self, **query: str | None) -> str:
        answer = await self.start(**query)
        assert answer.status == 303, answer.body
        return answer.header("location") or ""

    async def back(self, parameters: dict[str, str], name: str | None = None) -> Answer:
        headers = [("Accept", self.accept)] + ([("Cookie", self.cookie)] if self.cookie else [])
        target = f"/api/auth/oidc/{name or self.name}/callback?{urlencode(parameters)}"
        return await self.service.as_anonymous("GET", target, *headers)

    async def code(self, **changes: Any) -> str:
        """Sign in, and return the code that the front end gets."""
        answer = await self.back(self.provider.authorized(await self.url(), **changes))
        return query_of(answer)["code"]

    async def error(self, **changes: Any) -> str:
        """Sign in, and return the error that the front end gets."""
        answer = await self.back(self.provider.authorized(await self.url(), **changes))
        return query_of(answer).get("error", "")

    async def redeem(self, code: str, verifier: str | None = None) -> Answer:
        body = {"code": code, "verifier": verifier or self.verifier}
        return await self.service.as_anonymous("POST", "/api/auth/oidc/token", body=body)

    async def sign_in(self) -> str:
        """Sign in, and return the access token."""
        answer = await self.redeem(await self.code())
        assert answer.status == 200, answer.body
        token: str = answer.json["data"]["accessToken"]
        return token

    def _keep(self, answer: Answer) -> None:
        for name, value in answer.headers:
            if name == "set-cookie":
                self.cookie = value.partition(";")[0]


def query_of(answer: Answer) -> dict[str, str]:
    assert answer.status == 303, answer.body
    return dict(parse_qsl(urlsplit(answer.header("location") or "").query))


@pytest.fixture(scope="module")
def running_provider() -> Iterator[HostileProvider]:
    with hostile_provider() as provider:
        yield provider


@pytest.fixture(scope="module")
def other_provider() -> Iterator[HostileProvider]:
    with hostile_provider() as provider:
        yield provider


@pytest.fixture
def provider(running_provider: HostileProvider) -> HostileProvider:
    """An honest provider, until a test changes it."""
    running_provider.reset()
    return running_provider


@pytest.fixture(scope="module")
async def front(
    stores: EmbeddedStores,
    published_template: str,
    running_provider: HostileProvider,
    other_provider: HostileProvider,
) -> AsyncIterator[Inside]:
    """A service for front ends."""
    chosen = variables(
        provider_settings(running_provider, "good"),
        provider_settings(other_provider, "other", create="never"),
    )
    async with inside_own(stores, published_template, **chosen) as running:
        yield running


@pytest.fixture
def browser(front: Inside, provider: HostileProvider) -> Browser:
    return Browser(front, provider)


@pytest.fixture(scope="module")
async def hasty(
    stores: EmbeddedStores, published_template: str, running_provider: HostileProvider
) -> AsyncIterator[Inside]:
    """A service for front ends that waits for its provider for two seconds."""
    chosen = variables(provider_settings(running_provider, "good")) | SHORT
    async with inside_own(stores, published_template, **chosen) as running:
        yield running


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the metadata and the keys read for each sign-in."""
    for name in ("METADATA_LIFE", "KEYS_LIFE"):
        monkeypatch.setattr(f"service.features.oidc.provider.{name}", -1.0)
    monkeypatch.setattr("service.features.oidc.provider.AGAIN", 0.0)
