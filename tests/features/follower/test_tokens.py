"""Tokens are verified beside the service, and refused wherever the hub refuses them."""

import asyncio
import time

import pytest
from redis.asyncio import Redis as Client

from service.features.decisions.questions import Asked, Resource, Subject
from service.features.follower.following import Follower
from service.features.follower.kept import pieces, sealed
from service.features.follower.library import point_of
from service.features.follower.point import DecisionPoint
from service.features.follower.settings import PdpSettingsError
from service.keyspace import SessionFacts, SessionStore
from service.settings import Auth, Redis
from tests.features.follower.conftest import House, OfAnotherHub, log_in
from tests.support.cases import with_each
from tests.support.inside_fixtures import ServiceWith
from tests.support.members import query


def asked(token: str, method: str = "GET", path: str = "/orders/7") -> Asked:
    return Asked(Subject("token", token), method, Resource("route", path, "orders"))


async def hub_reason(house: House, token: str) -> str:
    body = {
        "subject": {"type": "token", "id": token},
        "action": {"name": "GET"},
        "resource": {"type": "route", "id": "/orders/7", "properties": {"service": "orders"}},
    }
    answer = await house.hub.ask("POST", "/access/v1/evaluation", body, token=house.evaluator)
    reason: str = answer.json["context"]["reason"]
    return reason


async def test_a_token_has_the_rights_that_it_carries(house: House) -> None:
    role = await house.role("bearer", house.buttons["orders:order:read"])
    await house.user("anna", role)
    token = await log_in(house.hub, "anna")
    async with house.follower() as follower:
        await follower.renew()
        answer = follower.point.evaluate(asked(token))
        assert (answer.allowed, answer.reason) == (True, "opened")
        assert follower.point.evaluate(asked(token, "POST", "/orders")).reason == "not_held"
        caller = follower.point.identify(token)
        assert caller is not None
        assert (caller.user_name, caller.roles) == ("anna", ("bearer",))
        for wrong in ("", "x", token[:-2] + ("AA" if token[-2:] != "AA" else "BB"), token + "A", house.key):
            assert follower.point.evaluate(asked(wrong)).reason == "subject_not_active"


WAYS = ("logout", "kick", "role", "ban", "disable", "delete", "again", "evicted")


@with_each("how", WAYS)
async def test_a_token_that_was_ended_is_refused_as_by_the_hub(house: House, how: str) -> None:
    await end(house, how)


async def end(house: House, how: str) -> None:
    """End a token, and see that the hub and a follower refuse it."""
    name = f"ended-{how}"
    role = await house.role(name, house.buttons["orders:order:read"])
    user = await house.user(name, role)
    token = await log_in(house.hub, name)
    async with house.following() as follower:
        assert follower.point.evaluate(asked(token)).allowed
        match how:
            case "logout":
                assert (await house.hub.ask("POST", "/api/auth/logout", token=token)).status == 200
            case "kick":
                await house.data("DELETE", f"/api/online/{user}")
            case "role":
                await house.data("PUT", f"/api/role/{role}/permissions", {"menuIds": []})
            case "ban":
                await house.data("POST", f"/api/online/{user}/ban", {"seconds": 1000, "reason": "test"})
            case "disable":
                await house.data("PATCH", f"/api/user/{user}", {"status": "disabled"})
            case "delete":
                await house.data("DELETE", f"/api/user/{user}")
            case "again":
                again = await log_in(house.hub, name)
            case "evicted":
                async with SessionStore(
                    Redis(url=house.hub.redis_url), Auth(concurrent_login=False)
                ) as store:
                    facts = SessionFacts(name, name, "10.0.0.1", "agent", "Browser 1", "System 2")
                    seen = await store.marker_of(str(user))
                    assert (await store.open_session(str(user), "phone", name, facts, seen=seen)).ended
        assert await hub_reason(house, token) == "subject_not_active"
        await refused(follower.point, token)
        if how == "again":
            assert follower.point.evaluate(asked(again)).allowed


async def refused(point: DecisionPoint, token: str) -> None:
    """Return once the token is refused by somebody who may decide; within the bound it is."""
    until = point.clock() + point.lease.bound
    while (answer := point.evaluate(asked(token))).reason != "subject_not_active":
        assert point.clock() < until, answer.reason
        await asyncio.sleep(0.005)


async def test_a_token_of_an_api_key_ends_with_it(house: House) -> None:
    role = await house.role("program", *house.buttons.values())
    user, key = await house.account("batch", role)
    form = f"grant_type=client_credentials&scope=orders:order:read&client_id=batch&client_secret={key}"
    answer = await house.hub.as_anonymous_form(
        "/oauth/token", dict(part.split("=") for part in form.split("&"))
    )
    token = answer.json["access_token"]
    async with house.following() as follower:
        point = follower.point
        assert point.evaluate(asked(token)).allowed
        assert point.evaluate(asked(token, "POST", "/orders")).reason == "not_held"
        assert await hub_reason(house, token) == "opened"
        await house.data(
            "PUT", f"/api/role/{role}/permissions", {"menuIds": [house.buttons["orders:order:write"]]}
        )
        async with asyncio.timeout(point.lease.bound):
            while point.evaluate(asked(token)).allowed:  # noqa: ASYNC110 - the follower has no event
                await asyncio.sleep(0.005)
        assert point.evaluate(asked(token)).reason == await hub_reason(house, token) == "not_held"
        await house.data("PUT", f"/api/role/{role}/permissions", {"menuIds": list(house.buttons.values())})
        (shown,) = (await house.data("GET", f"/api/user/{user}/keys"))["items"]
        await house.data("DELETE", f"/api/user/{user}/keys/{shown['id']}")
        await refused(point, token)
        assert await hub_reason(house, token) == "subject_not_active"


class Clock:
    """A clock since boot that stands still until it is moved."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


async def test_a_session_that_has_ended_does_not_come_back_by_clocks_or_a_shorter_life(house: House) -> None:
    role = await house.role("ended-for-good", house.buttons["orders:order:read"])
    user = await house.user("ended-for-good", role)
    token = await log_in(house.hub, "ended-for-good")
    transport, settings, clock = OfAnotherHub(house.transport), house.settings(house.key), Clock()
    transport.time = time.time()
    await query(house.hub, "INSERT INTO sys.token_life (seconds, last_time) VALUES (86400, now())")
    async with Follower(settings, point_of(settings), transport) as follower:
        point = follower.point = DecisionPoint(("orders",), clock=clock)

        async def reason(*, later: float, since_boot: float) -> str:
            transport.later, clock.now = later, 1000.0 + since_boot
            await follower.renew(wait=False)
            return point.evaluate(asked(token)).reason

        assert await reason(later=0, since_boot=0) == "opened"
        await log_in(house.hub, "ended-for-good")  # ends the session before
        assert await reason(later=0, since_boot=1) == "subject_not_active"
        assert user not in point.state.marked
        assert point.state.tokens is not None
        assert point.state.tokens.life == 86400
        await query(house.hub, "DELETE FROM sys.token_life WHERE seconds = 86400")
        assert await reason(later=100_000, since_boot=2) == "subject_not_active", "expired"
        assert await reason(later=0, since_boot=3) == "subject_not_active", "the hub's clock was ahead"
        assert await reason(later=8000, since_boot=8000) == "subject_not_active", "expired"
        assert await reason(later=0, since_boot=8001) == "subject_not_active", "the life was longer"
        assert await reason(later=0, since_boot=100_000) == "subject_not_active", (
            "the hub's clock was set back"
        )

        other = DecisionPoint(("orders",), clock=lambda: 5.0)  # after the machine was started again
        other.restore(sealed(pieces(point.state.kept()), b"k"), b"k")
        ages = {name: clock() - each.read for name, each in point.state.ended.items()}
        assert {name: 5.0 - each.read for name, each in other.state.ended.items()} == ages
        assert await reason(later=100_000, since_boot=100_001) == "subject_not_active"
        assert point.state.ended == {}, "nothing is kept for ever"


async def test_tokens_from_before_the_first_known_revocation_are_refused(house: House) -> None:
    role = await house.role("early", house.buttons["orders:order:read"])
    await house.user("nina", role)
    token = await log_in(house.hub, "nina")
    async with house.follower() as follower:
        await follower.renew()
        assert follower.point.evaluate(asked(token)).allowed
        async with Client.from_url(house.hub.redis_url) as client:
            await client.delete("auth:revocations")
        await follower.renew()
        assert follower.point.evaluate(asked(token)).reason == "subject_not_active"
        assert follower.point.evaluate(asked(await log_in(house.hub, "nina"))).allowed


async def test_a_hub_that_signs_by_a_shared_key_is_not_followed(
    service_with: ServiceWith, house: House
) -> None:
    async with service_with() as hub:
        other = House(hub, house.folder)
        await other.data("POST", "/api/service", {"name": "orders"})
        (following,) = [
            row[0]
            for row in await query(hub, "SELECT id FROM sys.menu WHERE auth_mark = 'system:policy:follow'")
        ]
        role = await other.role("follower", following)
        _, other.key = await other.account("orders-pdp", role, service="orders")
        async with other.follower() as follower:
            with pytest.raises(
                PdpSettingsError, match=r"HS256.* auth.jwt_private_key and auth.jwt_public_key"
            ):
                await follower.renew()
            assert not follower.point.lease.holds()
