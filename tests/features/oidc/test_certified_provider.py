"""Signing in with ``oidc-provider``, a certified provider from npm: what it sends is what is understood."""

import asyncio
import base64
import json
import re
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from joserfc.jwk import ECKey

import dev
from service.features.embedded.stores import EmbeddedStores
from tests.features.oidc.conftest import PUBLIC, Browser, query_of, variables
from tests.features.oidc.hostile import CLIENT, SECRET, HostileProvider, new_key
from tests.support.databases import database, session_store
from tests.support.inside import Inside, inside_published
from tests.support.left_out import NO_NODE
from tests.support.ports import free_port
from tests.web.served import served

pytestmark = pytest.mark.extended

SOURCES: Final = Path(__file__).with_name("node")
CALLBACK: Final = f"{PUBLIC}/api/auth/oidc/certified/callback"
METHODS: Final = ("client_secret_basic", "private_key_jwt")


@dataclass
class Certified:
    """The provider on ``port``: who is its client, and by which keys it signs."""

    modules: Path
    port: int
    client: dict[str, Any]
    keys: list[dict[str, Any]] = field(default_factory=lambda: [new_key("first").as_dict(private=True)])
    conform: bool = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @contextmanager
    def running(self) -> Iterator[None]:
        facts = {
            "modules": str(self.modules.resolve()),
            "port": self.port,
            "client": self.client,
            "keys": self.keys,
            "conform": self.conform,
        }
        command = ["node", str(SOURCES / "provider.js"), json.dumps(facts)]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            try:
                self._wait(process)
                yield
            finally:
                process.terminate()

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        for _ in range(400):
            assert process.poll() is None
            try:
                httpx.get(f"{self.url}/.well-known/openid-configuration", trust_env=False)
            except httpx.TransportError:
                pass
            else:
                return
        pytest.fail("the provider does not answer")


@dataclass
class Person:
    """Somebody at a browser, who knows the provider's pages."""

    provider: Certified
    browser: Browser
    pages: httpx.AsyncClient

    async def led(self, url: str, **typed: str) -> dict[str, str]:
        """Go to the provider, log in there or refuse to; return the parameters of the way back."""
        answer = await self.pages.get(url)
        while not (place := answer.headers["location"]).startswith(PUBLIC):
            place = str(httpx.URL(self.provider.url).join(place))
            if "/interaction/" in place:
                answer = await self.pages.post(f"{place}?{urlencode(typed)}")
            else:
                answer = await self.pages.get(place)
        assert place.partition("?")[0] == CALLBACK
        return dict(parse_qsl(urlsplit(place).query))

    async def sign_in(self, account: str = "heron", **typed: str) -> str:
        """Sign in, and return the access token."""
        back = await self.browser.back(await self.led(await self.browser.url(), account=account, **typed))
        return await self.redeemed(query_of(back))

    async def redeemed(self, query: dict[str, str]) -> str:
        answer = await self.browser.redeem(query["code"])
        assert answer.status == 200, answer.body
        token: str = answer.json["data"]["accessToken"]
        return token


def client_of(port: int, method: str, folder: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the client as the provider knows it, and the settings by which the service proves to be it."""
    client: dict[str, Any] = {
        "client_id": CLIENT,
        "redirect_uris": [CALLBACK],
        "post_logout_redirect_uris": [f"{PUBLIC}/"],
        "backchannel_logout_uri": f"http://127.0.0.1:{port}/api/auth/oidc/certified/backchannel-logout",
        "backchannel_logout_session_required": True,
        "token_endpoint_auth_method": method,
    }
    if method == "client_secret_basic":
        return client | {"client_secret": SECRET}, {"client_secret": SECRET}
    key = ECKey.import_key(ec.generate_private_key(ec.SECP256R1()), {"kid": "client"})
    path = folder / "client.pem"
    path.write_bytes(key.as_pem(private=True))
    path.chmod(0o600)
    public = {"jwks": {"keys": [key.as_dict(private=False)]}, "token_endpoint_auth_signing_alg": "ES256"}
    return client | public, {"client_key_file": str(path)}


@asynccontextmanager
async def installation(
    stores: EmbeddedStores, template: str, method: str, folder: Path
) -> AsyncIterator[tuple[Inside, Certified]]:
    """Run a service that knows the provider, which is not running yet."""
    modules = dev.node_packages(SOURCES)
    if modules is None:
        pytest.skip(NO_NODE)
    provider = Certified(modules, free_port(), {})
    settings = {
        "name": "certified",
        "issuer": provider.url,
        "client_id": CLIENT,
        "create": "any",
        "acr": {"strong": "mfa", "passkey": "phr"},
    }
    with database(stores, template) as url, session_store(stores) as redis_url:
        # The port of the service is part of what the provider knows of its client: the key comes first.
        client, secret = client_of(0, method, folder)
        chosen = variables(settings | secret)
        async with inside_published(url, redis_url, **chosen) as front, served(front._app) as port:
            place = f"http://127.0.0.1:{port}/api/auth/oidc/certified/backchannel-logout"
            provider.client = client | {"backchannel_logout_uri": place}
            yield front, provider


@pytest.fixture(scope="module", params=METHODS)
async def installed(
    stores: EmbeddedStores,
    published_template: str,
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[tuple[Inside, Certified]]:
    folder = tmp_path_factory.mktemp("client")
    async with installation(stores, published_template, request.param, folder) as both:
        with both[1].running():
            yield both


@pytest.fixture
async def person(installed: tuple[Inside, Certified]) -> AsyncIterator[Person]:
    front, provider = installed
    async with httpx.AsyncClient(trust_env=False) as pages:
        yield Person(provider, _browser(front), pages)


def _browser(front: Inside) -> Browser:
    unused: HostileProvider = None  # type: ignore[assignment]  # the provider is another one here
    return Browser(front, unused, name="certified")


async def info(person: Person, token: str) -> tuple[int, Any]:
    answer = await person.browser.service.ask("GET", "/api/user/info", token=token)
    return answer.status, answer.json.get("data")


def claims_of(token: str) -> dict[str, Any]:
    part = token.split(".")[1]
    read: dict[str, Any] = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return read


async def test_a_person_signs_in_and_is_the_same_one_next_time(person: Person) -> None:
    status, first = await info(person, await person.sign_in())
    assert (status, first["userName"], first["nickName"]) == (200, "heron", "Person heron")
    # The provider remembers the login, and asks nobody.
    _, second = await info(person, await person.sign_in(account="nobody-is-asked"))
    assert second["userId"] == first["userId"]


async def test_who_refuses_at_the_provider_is_not_signed_in(person: Person) -> None:
    parameters = await person.led(await person.browser.url())
    assert parameters["error"] == "access_denied"
    assert query_of(await person.browser.back(parameters))["error"] == "sign_in_failed"


async def test_a_code_is_bound_to_its_sign_in_at_the_provider_too(person: Person) -> None:
    stolen = await person.led(await person.browser.url(), account="heron")
    own = await person.led(await person.browser.url(), account="heron")
    swapped = await person.browser.back(own | {"code": stolen["code"]})
    assert query_of(swapped)["error"] == "sign_in_failed"


async def test_a_step_up_logs_in_anew_and_tells_how_and_when(person: Person) -> None:
    token = await person.sign_in()
    assert claims_of(token)["acr"] == "pwd"
    order = {"next": "/front", "challenge": person.browser.challenge, "acr": "mfa", "maxAge": 0}
    answer = await person.browser.service.ask("POST", "/api/auth/oidc/certified/step-up", order, token=token)
    url = answer.json["data"]["url"]
    asked = dict(parse_qsl(urlsplit(url).query))
    assert (asked["acr_values"], asked["max_age"]) == ("strong passkey", "0")
    back = await person.browser.back(await person.led(url, account="heron", acr="strong", amr="pwd otp"))
    stronger = claims_of(await person.redeemed(query_of(back)))
    assert (stronger["acr"], stronger["amr"]) == ("mfa", ["pwd", "otp"])
    assert stronger["auth_time"] >= claims_of(token)["auth_time"]
    assert (await info(person, token))[0] == 401  # another session has taken its place


async def test_a_logout_at_the_provider_is_sent_here_and_ends_the_session(person: Person) -> None:
    token = await person.sign_in()
    answer = await person.browser.service.ask("POST", "/api/auth/oidc/logout", token=token)
    assert (await info(person, token))[0] == 401

    # A session that was opened meanwhile in the same browser ends with the provider's own.
    token = await person.sign_in()
    page = await person.pages.get(answer.json["data"]["url"])
    found_secret = re.search(r'name="xsrf" value="(\w+)"', page.text)
    assert found_secret is not None
    form = {"xsrf": found_secret[1], "logout": "yes"}
    done = await person.pages.post(f"{person.provider.url}/session/end/confirm", data=form)
    assert done.headers["location"] == f"{PUBLIC}/"
    for _ in range(100):
        if (await info(person, token))[0] == 401:
            return
        await asyncio.sleep(0.05)
    pytest.fail("the session is still open")


async def test_other_keys_after_a_restart_are_read(
    stores: EmbeddedStores, published_template: str, tmp_path: Path
) -> None:
    async with (
        installation(stores, published_template, "client_secret_basic", tmp_path) as (front, provider),
        httpx.AsyncClient(trust_env=False) as pages,
    ):
        person = Person(provider, _browser(front), pages)
        with provider.running():
            await person.sign_in()
        # The keys are asked for again at most every ten seconds.
        provider.keys = [new_key("second").as_dict(private=True)]
        pages.cookies.clear()
        with provider.running():
            parameters = await person.led(await person.browser.url(), account="heron")
            failed = query_of(await person.browser.back(parameters))
            assert failed.keys() <= {"code", "error"}
            await asyncio.sleep(10.5)
            assert (await info(person, await person.sign_in()))[0] == 200


async def test_a_provider_that_tells_names_by_userinfo_alone_signs_in_too(
    stores: EmbeddedStores, published_template: str, tmp_path: Path
) -> None:
    async with (
        installation(stores, published_template, "client_secret_basic", tmp_path) as (front, provider),
        httpx.AsyncClient(trust_env=False) as pages,
    ):
        provider.conform = True
        with provider.running():
            person = Person(provider, _browser(front), pages)
            _, user = await info(person, await person.sign_in())
            assert (user["userName"], user["nickName"]) == ("heron", "Person heron")
