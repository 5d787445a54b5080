"""What takes several renewals to read gives a lease, and decides, only as a whole."""

import httpx
import pytest

from service.features.decisions.questions import Asked, Resource, Subject
from service.features.follower import protocol as follow_protocol
from service.features.follower.point import DecisionPoint
from service.keyspace.following import RevocationList
from tests.features.follower.conftest import House, log_in, may, shown_followers
from tests.support.members import query


async def test_rights_are_read_in_parts_and_give_a_lease_with_the_last(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    role = await house.role("many", house.buttons["orders:order:read"])
    for number in range(12):
        await house.user(f"many-{number}", role)
    monkeypatch.setattr(follow_protocol, "MOST_RECORDS", 5)
    leases = []

    async def look(_request: httpx.Request) -> None:
        leases.append(point.lease.holds())

    async with house.follower() as follower:
        point = follower.point
        house.transport.after = look
        try:
            await follower.renew()
        finally:
            house.transport.after = None
        assert len(leases) > 4
        assert not any(leases)
        assert all(may(point, f"many-{number}") for number in range(12))


async def test_what_changes_while_rights_are_read_in_parts_is_not_passed_over(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    role = await house.role("moving", house.buttons["orders:order:read"])
    users = [await house.user(f"moving-{number}", role) for number in range(8)]
    monkeypatch.setattr(follow_protocol, "MOST_RECORDS", 3)
    async with house.follower() as follower:
        changed = 0

        async def change(_request: httpx.Request) -> None:
            nonlocal changed
            if changed < len(users):
                changed += 1
                await query(house.hub, "DELETE FROM sys.user_role WHERE user_id = %s", users[changed - 1])

        house.transport.after = change
        try:
            await follower.renew()
        finally:
            house.transport.after = None
        await follower.renew(wait=False)
        assert changed
        for number in range(8):
            assert may(follower.point, f"moving-{number}") is (number >= changed), number


async def test_what_is_read_in_parts_gives_no_lease_to_what_its_first_part_has_said(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    role = await house.role("in-parts", house.buttons["orders:order:read"])
    await house.user("in-parts", role)
    async with house.follower() as other:
        await other.renew()
        state = other.point.state
        monkeypatch.setattr(follow_protocol, "MOST_RECORDS", len(state.keys) + len(state.roles))
    renewals = 0

    async def take_the_right(_request: httpx.Request) -> None:
        nonlocal renewals
        renewals += 1
        if renewals == 1:  # all roles are sent, and the pass does not come back to them
            await house.data("PUT", f"/api/role/{role}/permissions", {"menuIds": []})

    async with house.follower() as follower:
        house.transport.after = take_the_right
        try:
            await follower.renew()
        finally:
            house.transport.after = None
        assert renewals > 2
        assert follower.point.lease.holds()
        assert not may(follower.point, "in-parts")


async def test_what_decides_is_never_half_of_what_is_read_in_parts(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last known is answered while everything is read, also where a session ended long ago."""
    role = await house.role("halves", house.buttons["orders:order:read"])
    user = await house.user("halves", role)
    token = await log_in(house.hub, "halves")
    await house.data("DELETE", f"/api/online/{user}")
    monkeypatch.setattr(follow_protocol, "MOST_RECORDS", 4)
    monkeypatch.setattr(RevocationList.behind, "__defaults__", (1,))
    bearer = Asked(Subject("token", token), "GET", Resource("route", "/orders/7", "orders"))
    answers: list[tuple[bool, str]] = []

    async def look(_request: httpx.Request) -> None:
        answers.append((may(point, "halves"), point.evaluate(bearer).reason))

    async with house.follower() as follower:
        point = follower.point = DecisionPoint(("orders",), last_known=True)
        for known in ((False, "stale"), (True, "subject_not_active")):
            house.transport.before = house.transport.after = look
            try:
                await follower.renew()
            finally:
                house.transport.before = house.transport.after = None
            assert len(answers) > 8
            assert set(answers) == {known}
            assert (may(point, "halves"), point.evaluate(bearer).reason) == (True, "subject_not_active")
            answers.clear()
            point.state.position = "of another hub"


async def test_the_hub_counts_what_a_follower_decides_by_and_not_what_it_has_read_of_more(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    users = [await house.user(f"counted-{number}") for number in range(9)]
    rights: list[tuple[int, int]] = []

    async def look(_request: httpx.Request) -> None:
        (shown,) = [each for each in await shown_followers(house) if each["name"] == "counted"]
        rights.append((shown["rights"], point.state.rights))

    async with house.follower(name="counted") as follower:
        point = follower.point
        await follower.renew()
        monkeypatch.setattr(follow_protocol, "MOST_RECORDS", 4)
        await query(house.hub, "UPDATE sys.user SET status = 'disabled' WHERE id = ANY (%s)", users)
        house.transport.after = look
        try:
            await follower.renew()
        finally:
            house.transport.after = None
        assert len(rights) == 4
        assert all(shown == decides for shown, decides in rights)
        assert point.state.rights > rights[-1][1]
        assert point.lease.holds()
