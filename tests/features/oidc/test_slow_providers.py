"""Providers that are slow, endless or wrong about themselves hold up no worker, and are not believed."""

import asyncio
import json
from typing import Any

import pytest

from tests.features.oidc.conftest import Browser
from tests.features.oidc.hostile import HostileProvider
from tests.support.inside import Inside

DISCOVERY = "/.well-known/openid-configuration"


async def test_a_slow_provider_holds_up_nobody(hasty: Inside, provider: HostileProvider) -> None:
    provider.delay = 60.0
    tasks = [asyncio.create_task(Browser(hasty, provider).start()) for _ in range(20)]
    await asyncio.sleep(0.05)
    assert (await hasty.ask("GET", "/api/user/info")).status == 200
    assert not any(task.done() for task in tasks)
    assert {answer.status for answer in await asyncio.gather(*tasks)} == {503}
    provider.delay = 0.0
    assert not provider.woken  # nobody waits for that, and they do not wait one after the other
    assert provider.asked.count(DISCOVERY) == 1


DOCUMENTS = (
    b'{"issuer": "' + b"x" * 600_000 + b'"}',
    b"[" * 100_000,
    b"no JSON",
    b"[]",
    b" ",
    b'{"issuer": 1}',
)
LIES: tuple[dict[str, Any], ...] = (
    {"issuer": "https://evil.example"},
    {"token_endpoint": "http://evil.example/token"},
    {"token_endpoint": "file:///etc/passwd"},
    {"jwks_uri": "https://user@evil.example/keys"},
    {"authorization_endpoint": "javascript:alert(1)"},
    {"id_token_signing_alg_values_supported": ["none", "HS256"]},
    {"jwks_uri": None},
)


@pytest.mark.usefixtures("fresh")
async def test_a_provider_whose_metadata_is_endless_malformed_or_wrong_is_not_believed(
    browser: Browser,
) -> None:
    provider = browser.provider
    honest = provider.document(DISCOVERY)
    for document in (*DOCUMENTS, *(json.dumps(honest | lie).encode() for lie in LIES)):
        provider.answers[DISCOVERY] = document
        assert (await browser.start()).status == 503, document[:200]
    provider.answers.clear()
    assert (await browser.start()).status == 303
