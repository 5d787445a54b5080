"""A refresh of which nobody learned costs no session, and gives nobody a second pair."""

from __future__ import annotations

import asyncio

import pytest

from service.authn.token_issuer import TokenPair
from service.errors import RefreshRejected, Unavailable
from service.kernel.permission_map import PermissionMap
from tests.authn.conftest import Container
from tests.authn.people import log_in

pytestmark = pytest.mark.anyio

MAP = PermissionMap({"*": 0, "system:user:list": 9})


async def lost(parts: Container, pair: TokenPair) -> TokenPair:
    """Refresh for a client that goes away before its answer."""

    async def gone() -> bool:
        return True

    renewed = await parts.refresh.renew(parts.refresh.verify(pair.refresh_token))
    await parts.refresh.hand_out(renewed, gone)
    return renewed


async def test_of_forty_clients_that_repeat_a_lost_refresh_one_gets_the_successor(
    parts: Container, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.authn.refresh.PATIENCE", 30.0)  # however slow the machine is
    pair = await log_in(parts)
    await lost(parts, pair)
    again = [parts.refresh.refresh(pair.refresh_token) for _ in range(40)]
    results = await asyncio.gather(*again, return_exceptions=True)
    reasons = [outcome.extra["reason"] for outcome in results if isinstance(outcome, RefreshRejected)]

    assert sum(isinstance(outcome, TokenPair) for outcome in results) == 1
    assert reasons == ["superseded"] * 39


async def test_a_replay_of_the_token_after_the_successor_arrived_gets_nothing(parts: Container) -> None:
    pair = await log_in(parts)
    await lost(parts, pair)
    await parts.refresh.refresh(pair.refresh_token)
    for _ in range(3):
        with pytest.raises(RefreshRejected) as raised:
            await parts.refresh.refresh(pair.refresh_token)
        assert raised.value.extra["reason"] == "superseded"


async def test_an_access_token_that_is_used_proves_that_its_pair_arrived(parts: Container) -> None:
    """Although the process that handed it out could not tell the store."""
    pair = await log_in(parts)
    renewed = await lost(parts, pair)
    await parts.authenticator.authenticate(renewed.access_token, MAP)
    for _ in range(1000):
        if not await parts.store._client.keys("auth:undelivered:*"):
            break
        await asyncio.sleep(0.02)

    with pytest.raises(RefreshRejected) as raised:
        await parts.refresh.refresh(pair.refresh_token)
    assert raised.value.extra["reason"] == "superseded"


async def test_while_nobody_knows_a_repeat_is_told_to_come_again_and_not_that_it_lost(
    parts: Container, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process that rotated was killed a moment ago: its lease is not over yet."""
    monkeypatch.setattr("service.authn.refresh.PATIENCE", 0.1)
    pair = await log_in(parts)
    await parts.refresh.renew(parts.refresh.verify(pair.refresh_token))

    with pytest.raises(Unavailable):
        await parts.refresh.refresh(pair.refresh_token)
