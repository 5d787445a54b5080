"""A clock that is wrong shuts nobody out and revives nothing, and the service says that it is wrong."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.service.callers import log_in
from tests.service.conftest import variables_for
from tests.service.house import House
from tests.support.inside import inside
from tests.support.running import running_anew
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD
from tests.support.shifted import Clocks, DatabaseClock, shift, shifted_variables

ROLE_LIST = "/api/role/list"
WARNING = "this machine's clock differs from the session store's"


@pytest.mark.parametrize("seconds", [-30.0, 30.0])
async def test_a_node_whose_clock_is_half_a_minute_off_logs_in_decides_and_refreshes(
    seeded_database_url: str, redis_url: str, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    shift(monkeypatch, seconds)
    async with inside(seeded_database_url, redis_url, PORTCULLIS_AUTH__ACCESS_TIMEOUT="20") as service:
        assert (await service.ask("GET", ROLE_LIST)).status == 200


async def test_a_token_expires_at_its_time_on_a_node_whose_clock_is_slow(
    seeded_database_url: str, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shift(monkeypatch, -30.0)
    async with inside(seeded_database_url, redis_url, PORTCULLIS_AUTH__ACCESS_TIMEOUT="1") as service:
        for _ in range(100):  # by the node's own clock it would take half a minute
            answer = await service.ask("GET", ROLE_LIST)
            if answer.status != 200:
                break
            await asyncio.sleep(0.1)
        assert (answer.status, answer.code) == (401, "token_expired")


@pytest.mark.extended
def test_two_nodes_a_minute_apart_take_one_anothers_tokens_and_the_log_says_whose_clock_is_wrong(
    seeded_database_url: str, redis_url: str, tmp_path: Path
) -> None:
    variables = variables_for(seeded_database_url, redis_url)
    slow, fast = (shifted_variables(tmp_path / str(off), off) for off in (-30, 30))
    with (
        running_anew(tmp_path, "--workers", "1", **variables, **slow) as left,
        running_anew(tmp_path, "--workers", "1", **variables, **fast) as right,
        left.client() as to_left,
        right.client() as to_right,
    ):
        nodes = (to_left, to_right)
        for issuer in nodes:
            header = log_in(issuer, ADMINISTRATOR, ADMINISTRATOR_PASSWORD)
            assert [node.get(ROLE_LIST, headers=header).status_code for node in nodes] == [200, 200]
        for node, offset in ((left, 30), (right, -30)):
            (line,) = [line for line in node.log if line["event"] == WARNING]
            assert line["offset"] == pytest.approx(offset, abs=2)


def rarely(*values: Any) -> Any:
    """Return a set of parameters for extended runs only."""
    return pytest.param(*values, marks=pytest.mark.extended)


class OwnHouse(House):
    """A house whose service runs in this process; it can be started anew on the same stores."""

    def __init__(self, database_url: str, redis_url: str) -> None:
        super().__init__()
        self._urls = database_url, redis_url
        self._secret = secrets.token_urlsafe(48)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Run the service; the administrator has logged in."""
        async with inside(*self._urls, JWT_SECRET=self._secret) as self.service:
            yield


@pytest.fixture
def house(seeded_database_url: str, redis_url: str) -> OwnHouse:
    return OwnHouse(seeded_database_url, redis_url)


@pytest.mark.parametrize("seconds", [900, rarely(3600)])
async def test_a_session_store_that_was_ahead_for_twelve_seconds_shuts_nobody_out_and_revives_nothing(
    house: OwnHouse, clocks: Clocks, seconds: int
) -> None:
    async with house.open():
        await house.fill()
        clocks.set(store=seconds)
        await house.is_well()
        revoked, kept = await house.log_in(), await house.log_in()
        assert (await house.passes(revoked["accessToken"]), await house.passes(kept["accessToken"])) == (
            False,
            True,
        )
        clocks.wait(12)
        clocks.set()
        house.service.token = await house.service.log_in()  # the worker has looked at the store's clock
        answer = await house.service.ask("GET", "/api/user/info", token=kept["accessToken"])
        assert (answer.status, answer.code) == (401, "refresh_required")
        assert await house.passes((await house.refresh(kept))["accessToken"])
        await house.is_well()
    async with house.open():  # it is not over, and does no harm
        assert await house.clock() == "degraded"
        await house.is_well()
        clocks.wait(seconds + 1)
        for token in (revoked["accessToken"], kept["accessToken"]):
            assert not await house.passes(token)
        await house.is_well()


@pytest.mark.parametrize("seconds", [rarely(900), 3600])
async def test_after_a_restart_nobody_is_shut_out_either(
    house: OwnHouse, clocks: Clocks, seconds: int
) -> None:
    async with house.open():
        await house.fill()
        clocks.set(store=seconds)
        await house.is_well()
        revoked = await house.log_in()
        await house.log_in()
    clocks.wait(12)
    clocks.set()
    async with house.open():
        await house.is_well()
        clocks.wait(seconds + 1)
        assert not await house.passes(revoked["accessToken"])


@pytest.mark.parametrize(
    ("which", "seconds"),
    [
        *(("store", -900), ("store", 30), ("machine", -900), ("machine", 3600)),
        *(rarely("store", seconds) for seconds in (-3600, -30, 900, 3600)),
        *(rarely("machine", seconds) for seconds in (-3600, -30, 30, 900)),
    ],
)
async def test_while_a_clock_is_wrong_and_once_it_is_right_all_that_users_do_works(
    house: OwnHouse, clocks: Clocks, which: str, seconds: int
) -> None:
    async with house.open():
        await house.fill()
        await house.is_well()
        clocks.set(**{which: seconds})
        await house.is_well()
        clocks.wait(12)
        clocks.set()
        await house.is_well()


@pytest.mark.parametrize(
    ("which", "each"),
    [("store", 300), rarely("store", -300), rarely("machine", -300), rarely("machine", 300)],
)
async def test_while_a_clock_drifts_all_that_users_do_works(
    house: OwnHouse, clocks: Clocks, which: str, each: int
) -> None:
    async with house.open():
        await house.fill()
        for _ in range(3):
            clocks.drift(**{which: each})
            await house.is_well()
        clocks.set()
        await house.is_well()


@pytest.mark.parametrize("seconds", [-900, rarely(-3600), rarely(900), 3600])
async def test_whatever_the_clock_of_the_database_says_all_that_users_do_works(
    house: OwnHouse, seeded_database_url: str, seconds: int
) -> None:
    clock = DatabaseClock(seeded_database_url)
    async with house.open():
        await house.fill()
        for ahead in (seconds, 0):
            clock.set(ahead)
            await house.is_well()
    async with house.open():
        await house.is_well()
