"""What changes at the hub is followed, and only a whole answer gives a lease."""

import asyncio
import json
import math
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from service.features.decisions.questions import Asked, Resource, Subject
from service.features.follower.point import DecisionPoint
from tests.features.follower.conftest import House, may
from tests.support.members import query


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


async def test_a_ban_without_an_end_is_compared_as_it_was_sent(house: House) -> None:
    role = await house.role("banned", house.buttons["orders:order:read"])
    user = await house.user("dora", role)
    async with house.follower() as follower:
        await follower.renew()
        assert may(follower.point, "dora")
        await house.data("POST", f"/api/online/{user}/ban", {"reason": "test"})
        try:
            for _ in range(3):  # each renewal compares records, and a difference raises
                await follower.renew(wait=False)
                assert not may(follower.point, "dora")
        finally:
            await house.data("DELETE", f"/api/online/{user}/ban")
        await follower.renew(wait=False)
        assert may(follower.point, "dora")


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
        # On a busy machine the limit may pass before the request is sent.
        assert reads == pytest.approx([reads[0] * 2**number for number in range(len(reads))])
        assert len(reads) > 1
        assert math.log2(reads[0] / 0.12) == pytest.approx(round(math.log2(reads[0] / 0.12)))
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
