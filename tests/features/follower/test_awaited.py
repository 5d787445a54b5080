"""Who follows is known by the hub, shown and waited for."""

import asyncio
import time
from collections.abc import Awaitable, Callable

from service.features.follower.followers import is_reached
from tests.features.follower.conftest import House, log_in, may, shown_followers, waiting_hub
from tests.support.cases import with_each


async def test_a_change_can_wait_for_those_who_follow(house: House) -> None:
    """With ``policy.await_followers``; the hub of these tests has it off, so it is asked here."""
    role = await house.role("awaited", house.buttons["orders:order:read"])
    user = await house.user("otto")
    async with waiting_hub(house, 4.0) as hub:
        async with house.following(name="waits") as follower:
            answer = await house.hub.ask("PATCH", f"/api/user/{user}", {"roleIds": [role]})
            assert await hub.followed(follower.revision, int(answer.header("portcullis-rights") or 0))
            assert may(follower.point, "otto")
            far = int(answer.header("portcullis-rights") or 0) + 10**6
            begun = time.monotonic()
            assert not await hub.followed(0, far)
            assert time.monotonic() - begun < 10
        # Its lease goes on for a while, and then nobody is waited for.
        assert await until_true(lambda: hub.followed(0, far))


async def test_each_process_of_a_name_is_waited_for(house: House) -> None:
    role = await house.role("twins", house.buttons["orders:order:read"])
    user = await house.user("twins")
    async with (
        waiting_hub(house, 1.0) as hub,
        house.follower(name="twins", bound=30.0) as slow,
        house.following(name="twins") as quick,
    ):
        await slow.renew()
        answer = await house.hub.ask("PATCH", f"/api/user/{user}", {"roleIds": [role]})
        number = int(answer.header("portcullis-rights") or 0)
        assert not await hub.followed(0, number)
        assert may(quick.point, "twins")
        assert not may(slow.point, "twins")
        assert [each["name"] for each in await shown_followers(house)].count("twins") == 2
        for _ in range(2):  # what it has is in the next renewal
            await slow.renew(wait=False)
        assert await until_true(lambda: hub.followed(0, number))
        assert may(slow.point, "twins")


async def test_what_a_change_has_revoked_is_waited_for_too(house: House) -> None:
    user = await house.user("revoked-too")
    answer = await house.hub.ask("PATCH", f"/api/user/{user}", {"nickName": "x"})
    number = int(answer.header("portcullis-rights") or 0)
    async with waiting_hub(house, 0.3) as hub, house.follower(name="revoked-too", bound=30.0) as follower:
        for _ in range(2):
            await follower.renew(wait=False)
        assert await until_true(lambda: hub.followed(0, number))
        token = await log_in(house.hub, "revoked-too")
        assert (await house.hub.ask("POST", "/api/auth/logout", token=token)).status == 200
        assert not await hub.followed(0, number)
        for _ in range(2):
            await follower.renew(wait=False)
        assert await until_true(lambda: hub.followed(0, number))


async def test_a_process_that_was_started_again_is_shown_once(house: House) -> None:
    for bound in (0.2, 0.2, 2.0):
        async with house.follower(name="again", bound=bound) as follower:
            await follower.renew()
    async with asyncio.timeout(20):
        while [each["name"] for each in await shown_followers(house)].count("again") > 1:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    (shown,) = [each for each in await shown_followers(house) if each["name"] == "again"]
    assert shown["leaseTime"] > shown["seenTime"]


@with_each(
    ("place", "at", "reached"),
    [
        ("5-0", "5-0", True),
        ("5-1", "5-0", False),
        ("5-1", "10-0", True),
        ("5-1", "", False),
        ("5-1,7-0", "5-1,7-1", True),
        ("5-1,7-0", "6-0,6-9", False),
        ("5-1", "5-1,7-1", False),
        ("5-1,7-0", "9-9", False),
    ],
)
def test_a_place_of_the_revocations_is_reached_in_each_list(place: str, at: str, reached: bool) -> None:
    assert is_reached(place, at) is reached


async def until_true(holds: Callable[[], Awaitable[bool]]) -> bool:
    for _ in range(10):
        if await holds():
            return True
    return False
