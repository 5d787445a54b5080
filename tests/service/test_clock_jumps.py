"""Real clocks that jump for twelve seconds: of a session store, of a database, of the workers' machine."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.service.callers import PASSWORD
from tests.service.conftest import variables_for
from tests.service.house import House
from tests.support import set_clock
from tests.support.running import PATIENCE, running_anew
from tests.support.set_clock import SetClock
from tests.web.driver import Answer

pytestmark = pytest.mark.extended


class Outside:
    """A service that is asked over connections."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client
        self.token: str | None = None

    async def ask(self, method: str, target: str, body: Any = None, *, token: str | None = None) -> Answer:
        """Send one request with ``body`` as JSON, over a connection of its own: any worker may take it."""
        given = token or self.token
        headers = {"Connection": "close"} | ({"Authorization": f"Bearer {given}"} if given else {})
        answer = await self._client.request(method, target, json=body, headers=headers)
        return Answer(answer.status_code, list(answer.headers.items()), answer.content)

    async def data(self, method: str, target: str, body: Any = None) -> Any:
        """Send one request that must succeed, and return what it answers."""
        answer = await self.ask(method, target, body)
        assert answer.status in (200, 201), answer.body
        return answer.json["data"]

    async def as_anonymous(self, method: str, target: str) -> Answer:
        """Send one request with no access token."""
        return await self.ask(method, target, token="none")

    async def log_in(self) -> str:
        """Return an access token of the administrator."""
        credentials = {"userName": "admin", "password": PASSWORD}
        token: str = (await self.data("POST", "/api/auth/login", credentials))["accessToken"]
        return token


@asynccontextmanager
async def open_house(house: House, folder: Path, variables: dict[str, str]) -> AsyncIterator[None]:
    """Run the service with two workers."""
    with running_anew(folder, "--workers", "2", **variables) as service:
        async with httpx.AsyncClient(base_url=service.url, timeout=PATIENCE) as client:
            house.service = Outside(client)
            house.service.token = await house.service.log_in()
            yield


@pytest.mark.parametrize("seconds", [900, 3600, -900])
@pytest.mark.parametrize("which", ["store", "database", "machine"])
async def test_a_jump_of_twelve_seconds_shuts_nobody_out_also_after_a_restart(
    tmp_path: Path, which: str, seconds: int
) -> None:
    house = House()
    with set_clock.open_folder() as folder:
        clock = SetClock(folder)
        with (
            set_clock.session_store(folder, clock if which == "store" else None) as redis_url,
            set_clock.database(folder, clock if which == "database" else None) as database_url,
        ):
            variables = variables_for(database_url, redis_url) | {"PORTCULLIS_ADMIN_PASSWORD": PASSWORD}
            variables |= clock.variables if which == "machine" else {}
            async with open_house(house, tmp_path, variables):
                await house.fill()
                await house.is_well()
                clock.set(seconds)
                for _ in range(4):
                    await house.is_well()
                    await asyncio.sleep(1.5)
                revoked, kept = await house.log_in(), await house.log_in()
                await asyncio.sleep(6)
                clock.set(0)
                assert not await house.passes(revoked["accessToken"])
                assert await house.passes((await house.refresh(kept))["accessToken"])
                await house.is_well()
            async with open_house(house, tmp_path, variables):
                assert not await house.passes(revoked["accessToken"])
                await house.is_well()
                if (which, seconds > 0) == ("store", True):
                    assert await house.clock() == "degraded"
