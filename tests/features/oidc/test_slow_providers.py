"""Providers that are slow, endless or wrong about themselves hold up no worker, and are not believed."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.features.oidc.conftest import SHORT, Browser, provider_settings, variables
from tests.features.oidc.hostile import HostileProvider
from tests.support.databases import NewDatabase
from tests.support.inside import inside_published

pytestmark = pytest.mark.anyio

DISCOVERY = "/.well-known/openid-configuration"


async def starts(
    new_database: NewDatabase, published_template: str, redis_url: str, provider: HostileProvider
) -> tuple[set[int], bool]:
    """Begin many sign-ins at once; return the statuses, and whether others were answered meanwhile."""
    chosen = variables(provider_settings(provider, "good")) | SHORT
    async with inside_published(new_database(published_template), redis_url, **chosen) as service:
        tasks = [asyncio.create_task(Browser(service, provider).start()) for _ in range(20)]
        await asyncio.sleep(0.05)
        assert (await service.ask("GET", "/api/user/info")).status == 200
        meanwhile = not any(task.done() for task in tasks)
        return {answer.status for answer in await asyncio.gather(*tasks)}, meanwhile


async def test_a_slow_provider_holds_up_nobody(
    new_database: NewDatabase, published_template: str, redis_url: str, provider: HostileProvider
) -> None:
    provider.delay = 60.0
    statuses, meanwhile = await starts(new_database, published_template, redis_url, provider)
    provider.delay = 0.0
    assert statuses == {503}
    assert meanwhile
    assert not provider.woken  # nobody waits for that, and they do not wait one after the other
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
    statuses, _ = await starts(new_database, published_template, redis_url, provider)
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
    statuses, _ = await starts(new_database, published_template, redis_url, provider)
    assert statuses == {503}
