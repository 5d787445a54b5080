"""How this client proves itself to a provider, and what it asks of it beside the ID token."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from joserfc.jwk import ECKey, RSAKey

from tests.features.oidc.conftest import SHORT, Browser, provider_settings, variables
from tests.features.oidc.hostile import HostileProvider
from tests.features.oidc.test_sign_in import info
from tests.support.inside import Inside
from tests.support.inside_fixtures import ServiceWith


@pytest.fixture
def browser_with(service_with: ServiceWith, provider: HostileProvider) -> Any:
    """What runs a service with other members of its provider."""

    @asynccontextmanager
    async def running(**changes: Any) -> AsyncIterator[Browser]:
        chosen = variables(provider_settings(provider, "good", **changes)) | SHORT
        async with service_with(**chosen) as service:
            yield Browser(service, provider)

    return running


@pytest.fixture
def hurried(hasty: Inside, provider: HostileProvider) -> Browser:
    return Browser(hasty, provider)


def pem(key: Any) -> bytes:
    form = serialization.PrivateFormat.PKCS8
    return bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))


def key_file(folder: Path, content: bytes) -> str:
    path = folder / "client.pem"
    path.write_bytes(content)
    path.chmod(0o600)
    return str(path)


@pytest.mark.parametrize("kind", ["EC", "RSA"])
async def test_a_client_with_a_key_proves_itself_by_an_assertion_that_is_new_each_time(
    browser_with: Any, provider: HostileProvider, tmp_path: Path, kind: str
) -> None:
    if kind == "EC":
        private: Any = ec.generate_private_key(ec.SECP256R1())
        provider.client_key = ECKey.import_key(private.public_key())
    else:
        private = rsa.generate_private_key(65537, 2048)
        provider.client_key = RSAKey.import_key(private.public_key())
    path = key_file(tmp_path, pem(private))
    async with browser_with(client_secret=None, client_key_file=path) as browser:
        await browser.sign_in()
        await browser.sign_in()
    assert len(provider.assertions) == 2


async def test_a_key_that_the_provider_does_not_know_is_refused_there(
    browser_with: Any, provider: HostileProvider, tmp_path: Path
) -> None:
    provider.client_key = ECKey.import_key(ec.generate_private_key(ec.SECP256R1()).public_key())
    path = key_file(tmp_path, pem(ec.generate_private_key(ec.SECP256R1())))
    async with browser_with(client_secret=None, client_key_file=path) as browser:
        assert await browser.error() == "sign_in_failed"


@pytest.mark.parametrize("content", [b"no key", b""])
async def test_a_file_without_a_key_opens_nothing(
    browser_with: Any, provider: HostileProvider, tmp_path: Path, content: bytes
) -> None:
    path = key_file(tmp_path, content)
    async with browser_with(client_secret=None, client_key_file=path) as browser:
        answer = await browser.back(provider.authorized(await browser.url()))
        assert answer.code == "unavailable"
        assert str(tmp_path).encode() not in answer.body


async def test_a_secret_is_sent_in_the_form_where_the_provider_takes_nothing_else(
    browser_with: Any, provider: HostileProvider
) -> None:
    provider.metadata = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    async with browser_with() as browser:
        await browser.sign_in()


async def test_what_the_id_token_does_not_say_is_asked_of_the_provider(
    hurried: Browser, provider: HostileProvider
) -> None:
    provider.userinfo = {
        "preferred_username": "heron-of-userinfo",
        "email": "heron@example.com",
        "email_verified": True,
        "groups": ["Readers"],
        "acr": "passkey",
        "auth_time": 1,
    }
    provider.changes = {"preferred_username": None}
    token = await hurried.sign_in()
    user = await info(hurried.service, token)
    profile = (await hurried.service.ask("GET", "/api/user/profile", token=token)).json["data"]
    assert (user["userName"], profile["email"]) == ("heron-of-userinfo", "heron@example.com")


async def test_what_the_id_token_says_is_not_replaced_and_a_full_one_asks_nothing(
    hurried: Browser, provider: HostileProvider
) -> None:
    provider.userinfo = {"preferred_username": "another", "email": "evil@example.com", "email_verified": True}
    provider.changes = {"email": "heron@example.com", "email_verified": False}
    token = await hurried.sign_in()  # the groups are missing
    user = await info(hurried.service, token)
    profile = (await hurried.service.ask("GET", "/api/user/profile", token=token)).json["data"]
    assert user["userName"] == f"u-{provider.subject}"
    assert profile["email"] is None  # not confirmed by the answer that has told it
    assert "/userinfo" in provider.asked
    provider.asked.clear()
    provider.changes |= {"groups": []}
    await hurried.sign_in()
    assert "/userinfo" not in provider.asked


async def test_what_is_known_of_another_subject_is_refused(
    hurried: Browser, provider: HostileProvider
) -> None:
    for subject in ("somebody-else", None, 7):
        provider.userinfo = {"sub": subject, "groups": ["Readers"]}
        assert await hurried.error() == "sign_in_failed"


async def test_signed_userinfo_is_not_read(hurried: Browser, provider: HostileProvider) -> None:
    provider.userinfo, provider.userinfo_type = {"groups": ["Readers"]}, "application/jwt"
    answer = await hurried.back(provider.authorized(await hurried.url()))
    assert answer.code == "unavailable"


async def test_an_endless_or_malformed_answer_to_a_code_is_refused(
    hurried: Browser, provider: HostileProvider
) -> None:
    for body in (b'{"id_token": "' + b"x" * 600_000 + b'"}', b"[]", b"{", b'{"id_token": 7}'):
        url = await hurried.url()
        provider.token_answer = body
        answer = await hurried.back(provider.authorized(url))
        assert answer.status in (303, 503)
        assert "code=" not in (answer.header("location") or "")


async def test_a_redirect_of_the_provider_is_not_followed(
    hurried: Browser, provider: HostileProvider
) -> None:
    url = await hurried.url()
    provider.redirect = "https://evil.example/keys"
    answer = await hurried.back(provider.authorized(url))
    assert "code=" not in (answer.header("location") or "")


async def test_a_slow_exchange_ends_with_the_limit_and_holds_up_nobody(
    hurried: Browser, provider: HostileProvider
) -> None:
    parameters = provider.authorized(await hurried.url())
    provider.delay = 60.0
    waiting = asyncio.create_task(hurried.back(parameters))
    assert (await hurried.service.ask("GET", "/api/user/info")).status == 200
    answer = await waiting
    provider.delay = 0.0
    assert answer.code == "unavailable"
    assert not provider.woken  # nobody waits for that


async def test_a_group_that_nobody_can_see_ends_the_sign_in(
    browser: Browser, provider: HostileProvider
) -> None:
    for group in ("a\x00b", "\ud800", "Read\u202eers", "a\nb"):
        provider.changes = {"groups": ["Readers", group]}
        assert await browser.error() != ""


@pytest.mark.parametrize("listed", ["münchen.example", "xn--mnchen-3ya.example"])
async def test_a_domain_is_known_by_both_spellings(
    browser_with: Any, provider: HostileProvider, listed: str
) -> None:
    async with browser_with(create="known-domain", domains=[listed]) as browser:
        for claimed in ("heron@München.example", "heron@xn--mnchen-3ya.example"):
            provider.subject = claimed
            provider.changes = {"email": claimed, "email_verified": True}
            assert await browser.sign_in()
