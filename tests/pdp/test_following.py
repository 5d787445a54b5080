"""What changes at the hub is followed, and only a whole answer gives a lease."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import httpx
import psycopg
import pytest

from service.evaluation import follow_protocol
from service.evaluation.following import Hub
from service.evaluation.questions import Asked, Resource, Subject
from service.keyspace import SessionStore
from service.keyspace.following import RevocationList, is_reached
from service.pdp.point import DecisionPoint
from service.settings import Auth, Redis
from tests.pdp.conftest import House, log_in, may
from tests.support.members import query

pytestmark = pytest.mark.anyio


async def test_a_follower_decides_by_what_the_hub_has(house: House) -> None:
    role = await house.role("reader", house.buttons["orders:order:read"])
    await house.user("alice", role)
    async with house.follower() as follower:
        point = follower.point
        assert not may(point, "alice"), "before the first renewal"
        await follower.renew()
        assert point.lease.holds()
        assert may(point, "alice")
        assert may(point, "ALICE", path="/reports/7")
        assert not may(point, "alice", "POST", "/orders")
        assert not may(point, "bob")
        asked = Asked(Subject("user", "alice"), "GET", Resource("route", "/orders/7", "orders"))
        answer = point.evaluate(asked)
        assert (answer.allowed, answer.reason) == (True, "opened")
        assert answer.decision is not None
        assert answer.decision.line is not None
        assert answer.decision.line.code == "orders:order:read"


async def test_each_change_is_there_with_the_next_renewal(house: House) -> None:
    read, write = (house.buttons[code] for code in ("orders:order:read", "orders:order:write"))
    role = await house.role("changing", read)
    user = await house.user("carol", role)
    async with house.follower() as follower:
        point = follower.point

        async def seen() -> tuple[bool, bool]:
            await follower.renew(wait=False)
            return may(point, "carol"), may(point, "carol", "POST", "/orders")

        assert await seen() == (True, False)
        await house.data("PUT", f"/api/role/{role}/permissions", {"menuIds": [read, write]})
        assert await seen() == (True, True)
        await house.data("PUT", f"/api/role/{role}/permissions", {"menuIds": [write]})
        assert await seen() == (False, True)
        await house.data("PATCH", f"/api/menu/{write}", {"enabled": False})
        assert await seen() == (False, False)
        await house.data("PATCH", f"/api/menu/{write}", {"enabled": True})
        assert await seen() == (False, True)
        await house.data("POST", f"/api/online/{user}/ban", {"seconds": 1000, "reason": "test"})
        assert await seen() == (False, False)
        await house.data("DELETE", f"/api/online/{user}/ban")
        assert await seen() == (False, True)
        await house.data("PATCH", f"/api/user/{user}", {"userName": "carola"})
        assert await seen() == (False, False)
        assert may(point, "carola", "POST", "/orders")
        await house.data("PATCH", f"/api/user/{user}", {"status": "disabled"})
        assert await seen() == (False, False)
        assert not may(point, "carola", "POST", "/orders")
        await house.data("PATCH", f"/api/user/{user}", {"status": "enabled", "roleIds": []})
        await seen()
        assert not may(point, "carola", "POST", "/orders")
        await house.data("DELETE", f"/api/user/{user}")
        await seen()
        asked = Asked(Subject("identity", str(user)), "POST", Resource("route", "/orders", "orders"))
        assert point.evaluate(asked).reason == "subject_not_active"


async def test_each_change_of_the_policy_is_followed_by_what_came_and_went(house: House) -> None:
    role = await house.role("deleting", house.buttons["orders:order:write"])
    await house.user("dave", role)
    async with house.follower() as follower:
        await follower.renew()
        revision = follower.revision
        resource = await house.resource("DELETE", "/orders/{id}", house.buttons["orders:order:write"])
        await follower.renew()
        assert follower.revision > revision
        assert may(follower.point, "dave", "DELETE")
        await house.data("PUT", f"/api/resource/{resource}/buttons", {"menuIds": []})
        await follower.renew(wait=False)
        assert not may(follower.point, "dave", "DELETE")
        until = datetime.now(UTC) + timedelta(hours=1)
        opening = {"service": "orders", "resourceId": resource, "code": "@login"}
        await house.data("POST", "/api/opening", opening | {"until": f"{until:%Y-%m-%dT%H:%M:%SZ}"})
        await follower.renew(wait=False)
        assert may(follower.point, "dave", "DELETE")
        await house.data("DELETE", f"/api/resource/{resource}")
        await follower.renew(wait=False)
        assert not may(follower.point, "dave", "DELETE")


async def test_a_role_begins_and_ends_at_its_instant_by_the_hubs_time(house: House) -> None:
    role = await house.role("passing", house.buttons["orders:order:read"])
    user = await house.user("erin")
    begins = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=2)
    ends = begins + timedelta(seconds=1)
    window = {name: f"{at:%Y-%m-%dT%H:%M:%SZ}" for name, at in (("from", begins), ("until", ends))}
    await house.data("POST", f"/api/user/{user}/roles", {"roleId": role} | window)
    async with house.following() as follower:
        point, seen = follower.point, []
        while (now := point.time.now()) < ends.timestamp() + 0.3:
            before = now
            allowed = may(point, "erin")
            seen.append((before, allowed, point.time.now()))
            await asyncio.sleep(0.005)
        inside = [
            allowed
            for before, allowed, after in seen
            if begins.timestamp() <= before and after < ends.timestamp()
        ]
        outside = [
            allowed
            for before, allowed, after in seen
            if after < begins.timestamp() or before >= ends.timestamp()
        ]
        assert len(inside) > 20
        assert all(inside)
        assert outside
        assert not any(outside)


async def test_without_a_lease_everything_is_denied_and_it_comes_back(house: House) -> None:
    role = await house.role("leasing", house.buttons["orders:order:read"])
    await house.user("frank", role)
    clock = Clock()
    async with house.follower() as follower:
        point = follower.point = DecisionPoint(("orders",), clock=clock)
        await follower.renew()
        assert may(point, "frank")
        clock.add(1.99)
        assert may(point, "frank")
        clock.add(0.01)
        assert not may(point, "frank"), "as old as the bound"
        asked = Asked(Subject("user", "frank"), "GET", Resource("route", "/orders/7", "orders"))
        assert point.evaluate(asked).reason == "stale"
        await follower.renew()
        assert may(point, "frank")


async def test_a_lease_counts_from_the_sending_of_its_renewal(house: House) -> None:
    clock = Clock()

    async def slow(_request: httpx.Request) -> None:
        clock.add(1.5)

    async with house.follower() as follower:
        point = follower.point = DecisionPoint(("orders",), clock=clock)
        house.transport.after = slow
        try:
            await follower.renew()
        finally:
            house.transport.after = None
        assert point.lease.age == pytest.approx(1.5)
        clock.add(0.49)
        assert point.lease.holds()
        clock.add(0.02)
        assert not point.lease.holds()


async def test_the_last_known_is_answered_where_that_is_set(house: House) -> None:
    role = await house.role("lasting", house.buttons["orders:order:read"])
    await house.user("grace", role)
    clock = Clock()
    async with house.follower() as follower:
        point = follower.point = DecisionPoint(("orders",), clock=clock, last_known=True)
        assert not may(point, "grace"), "nothing is known yet"
        await follower.renew()
        clock.add(100)
        assert may(point, "grace")
        assert point.is_stale


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


async def shown_followers(house: House) -> list[Any]:
    return cast(list[Any], (await house.data("GET", "/api/policy/followers"))["followers"])


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


async def test_a_transaction_that_commits_late_is_not_passed_over(house: House) -> None:
    role = await house.role("late", house.buttons["orders:order:read"])
    users = [await house.user(f"late-{number}") for number in range(6)]
    given = "INSERT INTO sys.user_role (user_id, role_id) VALUES (%s, %s)"
    async with house.follower() as follower:
        await follower.renew()
        connections = [await psycopg.AsyncConnection.connect(house.hub.database_url) for _ in users]
        for connection, user in zip(connections, users, strict=True):
            await connection.execute(given, (user, role))  # each has its number now
        for number in (5, 3, 4, 0, 2, 1):
            assert not may(follower.point, f"late-{number}")
            await connections[number].commit()
            await follower.renew(wait=False)
            assert may(follower.point, f"late-{number}"), number
        for connection in connections:
            await connection.close()


async def test_everything_anew_is_waited_for_longer_each_time_where_there_is_no_lease(house: House) -> None:
    limits: list[dict[str, float]] = []

    async def slow(request: httpx.Request) -> None:
        limits.append(request.extensions["timeout"])
        await asyncio.sleep(0.4)

    async with house.follower(bound=0.2) as follower:
        await follower.renew()
        follower.point.lease.give_up()
        follower.point.state.position = "of another hub"
        house.transport.after = slow
        try:
            async with asyncio.timeout(60):
                await follower.first()
        finally:
            house.transport.after = None
        reads = [limit["read"] for limit in limits]
        assert reads == pytest.approx([0.12 * 2**number for number in range(len(reads))])
        assert [limit["connect"] for limit in limits] == pytest.approx([0.12] * len(limits))


async def test_a_hub_that_is_out_of_reach_is_not_waited_for_longer(house: House) -> None:
    limits: list[float] = []

    async def unreachable(request: httpx.Request) -> None:
        limits.append(request.extensions["timeout"]["read"])
        if len(limits) < 4:
            raise httpx.ConnectTimeout("nobody is there")

    async with house.follower() as follower:
        await follower.renew()
        follower.point.lease.give_up()
        house.transport.before = unreachable
        try:
            await follower.first()
        finally:
            house.transport.before = None
        assert limits == pytest.approx([1.2] * 4)


async def test_a_change_is_pushed_while_a_renewal_waits(house: House) -> None:
    role = await house.role("pushed", house.buttons["orders:order:read"])
    user = await house.user("heidi")
    async with house.following() as follower:
        assert not may(follower.point, "heidi")
        await house.data("PATCH", f"/api/user/{user}", {"roleIds": [role]})
        begun = time.monotonic()
        while not may(follower.point, "heidi"):
            assert time.monotonic() < begun + 5
            await asyncio.sleep(0.002)


async def test_positions_of_others_are_answered_with_everything(house: House) -> None:
    async with house.follower() as follower:
        point = follower.point
        await follower.renew()
        users, position = dict(point.state.users), point.state.position
        snapshots = ("1;2", "9:5:", "5:9:7,6", "0:0:", "5:9:9", "5:9:1")
        faulty = [json.dumps(["", 1, "", "", "", "", snapshot]) for snapshot in snapshots]
        for wrong in ("x", "[]", "{}", str(position).replace("orders", "stock"), *faulty):
            point.state.position = wrong
            await follower.renew()
            assert point.state.users == users
            assert point.lease.holds()


async def test_an_emptied_table_is_noticed(house: House) -> None:
    role = await house.role("emptied", house.buttons["orders:order:read"])
    user = await house.user("ivan", role)
    async with house.follower() as follower:
        await follower.renew()
        assert may(follower.point, "ivan")
        await query(
            house.hub,
            "BEGIN; CREATE TEMP TABLE kept AS TABLE sys.user_role; TRUNCATE sys.user_role;"
            " INSERT INTO sys.user_role (user_id, role_id) SELECT user_id, role_id FROM kept"
            f" WHERE user_id <> {user};"
            " COMMIT",
        )
        await follower.renew(wait=False)
        assert not may(follower.point, "ivan")
        assert follower.point.lease.holds()


async def test_who_follows_is_shown(house: House) -> None:
    async with house.follower(name="shown-1") as follower:
        await follower.renew()
        await follower.renew(wait=False)
        listed = await house.data("GET", "/api/policy/followers")
        (shown,) = [each for each in listed["followers"] if each["name"] == "shown-1"]
        assert shown["revision"] == listed["revision"] == follower.revision
        assert 0 < shown["rights"] <= follower.point.state.rights
        assert (shown["userName"], shown["services"], shown["following"]) == ("orders-pdp", ["orders"], True)


async def test_only_service_accounts_follow_and_bound_ones_their_service(house: House) -> None:
    body = {"follower": "x", "services": ["orders"], "nonce": "n", "names": "A" * 22}
    refused = await house.hub.ask("POST", "/access/v1/follow", body)
    assert (refused.status, refused.code) == (403, "permission_denied")
    for services in (["stock"], ["orders", "stock"], ["portcullis"]):
        refused = await house.hub.ask(
            "POST", "/access/v1/follow", body | {"services": services}, token=house.key
        )
        assert (refused.status, refused.code) == (403, "permission_denied")
    faulty: list[dict[str, Any]] = [{"names": "AA"}, {"wait": 2}, {"services": []}, {"lease": 0}]
    for wrong in (*faulty, {"follower": "a b"}):
        refused = await house.hub.ask("POST", "/access/v1/follow", body | wrong, token=house.key)
        assert (refused.status, refused.code) == (400, "bad_request"), wrong


async def test_what_is_sent_has_no_names_and_no_secrets(house: House) -> None:
    role = await house.role("private", house.buttons["orders:order:read"])
    await house.user("judy-the-secret", role, email="judy@example.com", phone="12345678")
    body = {"follower": "x", "services": ["orders"], "nonce": "n", "names": "A" * 22}
    answer = await house.hub.ask("POST", "/access/v1/follow", body, token=house.key)
    sent = answer.body.decode()
    assert set(answer.json["policy"]["lines"]) <= {
        "resource",
        "assurance",
        "service",
        "permission",
        "account",
    }
    for word in ("judy", "example.com", "12345678", "argon2"):
        assert word not in sent
    rows = await query(house.hub, "SELECT encode(digest, 'hex') FROM sys.api_key")
    assert rows
    assert not any(digest in sent for (digest,) in rows)


async def test_a_file_saves_the_download_and_gives_no_lease(house: House, tmp_path: Path) -> None:
    role = await house.role("kept", house.buttons["orders:order:read"])
    user = await house.user("mallory", role)
    path = tmp_path / "policy"
    async with house.follower(file=path) as follower:
        await follower.renew()
        follower.keep_now()
        assert path.stat().st_mode & 0o077 == 0
    async with house.follower(file=path) as follower:
        assert follower.restore()
        assert not may(follower.point, "mallory")
        assert not follower.point.lease.holds()
        await house.data("PATCH", f"/api/user/{user}", {"roleIds": []})
        await follower.renew()
        assert not may(follower.point, "mallory")
        await house.data("PATCH", f"/api/user/{user}", {"roleIds": [role]})
        await follower.renew()
        assert may(follower.point, "mallory")
    content = path.read_bytes()
    for damaged in (b"", content[:-1], content[:50] + b"x" + content[51:], b"x" * 100):
        path.write_bytes(damaged)
        async with house.follower(file=path) as follower:
            assert not follower.restore()
            await follower.renew()
            assert may(follower.point, "mallory")
    path.write_bytes(content)
    async with house.follower(file=path, services=("stock",)) as follower:
        assert not follower.restore()


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def add(self, seconds: float) -> None:
        self.now += seconds


async def test_a_change_can_wait_for_those_who_follow(house: House) -> None:
    """With ``policy.await_followers``; the hub of these tests has it off, so it is asked here."""
    store = SessionStore(Redis(url=house.hub.redis_url), Auth())
    hub = Hub(cast(Any, None), store, cast(Any, None), cast(Any, None), Auth(), patience=4.0)
    role = await house.role("awaited", house.buttons["orders:order:read"])
    user = await house.user("otto")
    try:
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
    finally:
        await store.close()


@asynccontextmanager
async def waiting_hub(house: House, patience: float) -> AsyncIterator[Hub]:
    """A hub that waits for followers, and forgets them at the end."""
    store = SessionStore(Redis(url=house.hub.redis_url), Auth())
    try:
        hub = Hub(cast(Any, None), store, cast(Any, None), cast(Any, None), Auth(), patience=patience)
        yield hub
        await store.followers.forget(*(each.key for each in await hub.followers()))
    finally:
        await store.close()


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


@pytest.mark.parametrize(
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
