"""The library: a decision point in the process of a program, that follows as long as it is used."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from service.pdp import decision_point
from tests.pdp.conftest import House

pytestmark = pytest.mark.anyio


async def test_a_program_asks_a_decision_point_of_its_own(house: House, tmp_path: Path) -> None:
    role = await house.role("library", house.buttons["orders:order:read"])
    user = await house.user("paula", role)
    settings = house.settings(house.key, file=tmp_path / "policy")
    async with decision_point(settings, transport=house.transport) as point:
        assert point.may("paula", "GET", "/orders/7")
        assert not point.may("paula", "use", "orders:order:write")
        await house.data("PATCH", f"/api/user/{user}", {"roleIds": []})
        async with asyncio.timeout(point.lease.bound):
            while point.may("paula", "GET", "/orders/7"):  # noqa: ASYNC110 - there is no event for it
                await asyncio.sleep(0.005)
        assert not point.is_stale
    assert await asyncio.to_thread((tmp_path / "policy").exists)


async def test_a_hub_that_is_away_is_not_waited_for_for_ever(house: House) -> None:
    settings = house.settings("pck_1_wrong_key")
    async with decision_point(settings, first=0.2, transport=house.transport) as point:
        assert point.is_stale
        assert not point.may("admin", "GET", "/orders/7")
