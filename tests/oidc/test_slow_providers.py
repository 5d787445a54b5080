"""Providers that are slow, endless or wrong about themselves hold up no worker, and are not believed."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest

from tests.oidc.conftest import Browser, provider_settings, variables
from tests.oidc.hostile import HostileProvider
from tests.support.databases import NewDatabase
from tests.support.inside import inside_published

pytestmark = pytest.mark.anyio

DISCOVERY = "/.well-known/openid-configuration"


async def starts(
    new_database: NewDatabase, published_template: str, redis_url: str, provider: HostileProvider
) -> list[Any]:
    """Begin many sign-ins at once; return the statuses, and how long another request took meanwhile."""
    chosen = variables(provider_settings(provider, "good"))
    async with inside_published(new_database(published_template), redis_url, **chosen) as service:
        begun = time.monotonic()
        tasks = [asyncio.create_task(Browser(service, provider).start()) for _ in range(20)]
        await asyncio.sleep(0.05)
        asked = time.monotonic()
        assert (await service.ask("GET", "/api/user/info")).status == 200
        took = time.monotonic() - asked
        statuses = [answer.status for answer in await asyncio.gather(*tasks)]
        return [set(statuses), took, time.monotonic() - begun]


async def test_a_slow_provider_holds_up_nobody(
    new_database: NewDatabase, published_template: str, redis_url: str, provider: HostileProvider
) -> None:
    provider.delay = 3.0
    statuses, took, all_together = await starts(new_database, published_template, redis_url, provider)
    provider.delay = 0.0
    assert statuses == {503}
    assert took < 0.9
    assert all_together < 2.9  # seconds: they do not wait for the provider one after the other
    assert provider.asked.count(DISCOVERY) == 1


@pytest.mark.parametrize(
    "document",
    [
        b'{"issuer": "' + b"x" * 600_000 + b'"}',
        b"[" * 100_000,
        b"no JSON",
        b"[]",
        b"",
        b'{"issuer": 1}',
    ],
)
async def test_an_endless_or_malformed_answer_is_refused(
    new_database: NewDatabase,
    published_template: str,
    redis_url: str,
    provider: HostileProvider,
    document: bytes,
) -> None:
    provider.answers[DISCOVERY] = document or b" "
    statuses, _, _ = await starts(new_database, published_template, redis_url, provider)
    assert statuses == {503}


@pytest.mark.parametrize(
    "lie",
    [
        {"issuer": "https://evil.example"},
        {"token_endpoint": "http://evil.example/token"},
        {"token_endpoint": "file:///etc/passwd"},
        {"jwks_uri": "https://user@evil.example/keys"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"id_token_signing_alg_values_supported": ["none", "HS256"]},
        {"jwks_uri": None},
    ],
)
async def test_a_provider_that_is_wrong_about_itself_is_not_believed(
    new_database: NewDatabase,
    published_template: str,
    redis_url: str,
    provider: HostileProvider,
    lie: dict[str, Any],
) -> None:
    honest = provider.document(DISCOVERY) | lie
    provider.answers[DISCOVERY] = json.dumps(honest).encode()
    statuses, _, _ = await starts(new_database, published_template, redis_url, provider)
    assert statuses == {503}
