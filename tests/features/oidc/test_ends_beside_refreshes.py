"""A session ends while it is refreshed and its tokens are introspected, at two nodes, in every way."""

import asyncio
import random
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import pytest
from redis.asyncio import Redis

from service.features.embedded.stores import EmbeddedStores
from service.keyspace.keys import LOG_STREAM
from tests.features.oidc.conftest import Browser, provider_settings, variables
from tests.features.oidc.hostile import HostileProvider
from tests.support.cases import with_each
from tests.support.databases import database, session_store
from tests.support.inside import Inside, inside_published
from tests.support.members import query, until_row
from tests.support.waiting import eventually_here
from tests.web.driver import Answer

FORM = ("Content-Type", "application/x-www-form-urlencoded")
REFRESHERS, INTROSPECTORS = 3, 2
AFTER = 3
"""What each of them sends once the end is acknowledged."""


@dataclass
class Storm:
    """One session, those who refresh it and who ask about it, and what they were answered."""

    nodes: tuple[Inside, ...]
    browser: Browser
    user_id: int
    access: str
    refresh: str
    ended: float = float("inf")
    """When the first end of the session was acknowledged."""
    handed_out: list[str] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    @property
    def node(self) -> Inside:
        """One of the nodes, by chance."""
        return random.choice(self.nodes)

    async def refreshing(self) -> None:
        """Spend the newest refresh token again and again, until some time after the end."""
        left = AFTER
        while left:
            begun, body = time.monotonic(), {"refreshToken": self.refresh}
            left -= begun > self.ended
            answer = await self.node.as_anonymous("POST", "/api/auth/refresh", body=body)
            if answer.status == 200:
                tokens = answer.json["data"]
                self.access, self.refresh = tokens["accessToken"], tokens["refreshToken"]
                self.handed_out.append(self.access)
            reason = "rotated" if answer.status == 200 else str(answer.json.get("reason", answer.code))
            self.outcomes[reason] += 1
            if reason not in ("rotated", "superseded", "ended"):
                self.faults.append(f"a refresh was answered {answer.status} {reason}")
            if begun > self.ended and reason not in ("superseded", "ended"):
                self.faults.append(f"a refresh after the end was answered {answer.status} {reason}")

    async def introspecting(self) -> None:
        """Ask what the newest access token is worth, until some time after the end."""
        left = AFTER
        while left:
            begun = time.monotonic()
            left -= begun > self.ended
            if await is_active(self.node, self.access):
                self.outcomes["active"] += 1
                if begun > self.ended:
                    self.faults.append("a token was active after the end")

    async def ending(self, act: Callable[[], Awaitable[Answer]]) -> None:
        """End the session; note when that was acknowledged."""
        answer = await act()
        if answer.status in (200, 204):
            self.ended = min(self.ended, time.monotonic())
        elif answer.status not in (400, 401, 404):
            self.faults.append(f"an end was answered {answer.status} {answer.body!r}")


async def is_active(node: Inside, token: str) -> bool:
    answer = await node.ask_raw("POST", "/oauth/introspect", urlencode({"token": token}).encode(), FORM)
    assert answer.status == 200, answer.body
    return bool(answer.json["active"])


Acts = list[Callable[[], Awaitable[Answer]]]


def by_provider(storm: Storm) -> Acts:
    """Three orders of the provider, of which one is sent twice."""
    orders = [storm.browser.provider.logout_token() for _ in range(3)]
    path = "/api/auth/oidc/good/backchannel-logout"

    def sent(order: str) -> Callable[[], Awaitable[Answer]]:
        return lambda: storm.node.as_anonymous_form(path, {"logout_token": order})

    return [sent(order) for order in (*orders, orders[0])]


def by_owner(storm: Storm) -> Acts:
    return [lambda: storm.node.ask("POST", "/api/auth/logout", token=storm.access)] * 2


def by_owner_there_too(storm: Storm) -> Acts:
    return [lambda: storm.node.ask("POST", "/api/auth/oidc/logout", token=storm.access)] * 2


def by_owner_everywhere(storm: Storm) -> Acts:
    return [lambda: storm.node.ask("POST", "/api/auth/logout/all", token=storm.access)] * 2


def by_kick(storm: Storm) -> Acts:
    return [lambda: storm.node.ask("DELETE", f"/api/online/{storm.user_id}")] * 2


def by_kick_of_the_device(storm: Storm) -> Acts:
    return [lambda: storm.node.ask("DELETE", f"/api/online/{storm.user_id}/web")] * 2


def by_all(storm: Storm) -> Acts:
    return [acts[0] for acts in (each(storm) for each in WAYS[:-1])]


WAYS = (
    by_provider,
    by_owner,
    by_owner_there_too,
    by_owner_everywhere,
    by_kick,
    by_kick_of_the_device,
    by_all,
)


@pytest.fixture(scope="module")
async def nodes(
    stores: EmbeddedStores, published_template: str, running_provider: HostileProvider
) -> AsyncIterator[tuple[Inside, ...]]:
    chosen = variables(provider_settings(running_provider, "good"))
    chosen |= {"JWT_SECRET": secrets.token_urlsafe(48), "PORTCULLIS_THROTTLE__ENABLED": "false"}
    with database(stores, published_template) as url, session_store(stores) as redis_url:
        async with (
            inside_published(url, redis_url, **chosen) as first,
            inside_published(url, redis_url, **chosen) as second,
        ):
            first.token = second.token  # the second login has taken the place of the first
            yield first, second


async def stormed(
    nodes: tuple[Inside, ...], provider: HostileProvider, way: Callable[[Storm], Acts]
) -> Storm:
    """End a session in the middle of a storm, and see that it has ended."""
    provider.reset()
    browser = Browser(nodes[0], provider)
    tokens = (await browser.redeem(await browser.code())).json["data"]
    info = await nodes[0].ask("GET", "/api/user/info", token=tokens["accessToken"])
    user_id = info.json["data"]["userId"]
    storm = Storm(nodes, browser, user_id, tokens["accessToken"], tokens["refreshToken"])
    acts, begun = way(storm), random.randint(1, 5)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        for _ in range(REFRESHERS):
            group.create_task(storm.refreshing())
        for _ in range(INTROSPECTORS):
            group.create_task(storm.introspecting())
        assert await eventually_here(lambda: len(storm.handed_out) >= begun)
        for act in acts:
            group.create_task(storm.ending(act))
    assert storm.faults == []
    assert storm.outcomes["rotated"] >= begun
    for token in {tokens["accessToken"], *storm.handed_out}:
        assert not await is_active(storm.node, token)
        assert (await storm.node.ask("GET", "/api/user/info", token=token)).status == 401
    last = await storm.node.as_anonymous("POST", "/api/auth/refresh", body={"refreshToken": storm.refresh})
    assert (last.status, last.json["reason"]) == (401, "ended")
    return storm


async def until_written(nodes: tuple[Inside, ...]) -> None:
    """Wait until all is in the login log that the nodes have answered.

    A node hands its entries on in their order, so its refused login comes last. The nodes share the stream,
    and what one of them has taken may be written after what the other took later: so it has to be empty.
    """
    invented = {"userName": "nobody", "password": "none"}
    for node in nodes:
        refused = await node.as_anonymous("POST", "/api/auth/login", body=invented)
        written = f"SELECT count(*) FROM sys.login_log WHERE request_id = '{refused.header('x-request-id')}'"
        await until_row(nodes[0], written, (1,))
    async with Redis.from_url(nodes[0].redis_url) as store, asyncio.timeout(20):
        while await store.xlen(LOG_STREAM):  # noqa: ASYNC110 - no event tells of it
            await asyncio.sleep(0.02)


async def entries_of(nodes: tuple[Inside, ...], users: list[int]) -> Counter[tuple[int, str]]:
    """Return how many entries of the login log each of the users has, by event, once all are written."""
    await until_written(nodes)
    counted = "SELECT user_id, event, count(*) FROM sys.login_log WHERE user_id = ANY (%s) GROUP BY 1, 2"
    return Counter({(user, event): n for user, event, n in await query(nodes[0], counted, users)})


async def tried(
    nodes: tuple[Inside, ...], provider: HostileProvider, way: Callable[[Storm], Acts], rounds: int
) -> None:
    """End sessions in one way: each has one entry that it has ended, and none was taken for stolen."""
    storms = [await stormed(nodes, provider, way) for _ in range(rounds)]
    users = [storm.user_id for storm in storms]
    entries = await entries_of(nodes, users)
    ends: dict[int, Any] = {
        user: {
            event: n for (of, event), n in entries.items() if of == user and event not in ("login", "refresh")
        }
        for user in users
    }
    assert [events for events in ends.values() if sum(events.values()) != 1] == []
    assert {event for events in ends.values() for event in events} <= {"kick", "logout", "logout_all"}
    print(f"\n{way.__name__}: {sum((storm.outcomes for storm in storms), Counter())}")  # noqa: T201 - figures


@with_each("way", WAYS)
async def test_a_session_that_ends_beside_refreshes_stays_ended_and_has_one_entry(
    nodes: tuple[Inside, ...], running_provider: HostileProvider, way: Callable[[Storm], Acts]
) -> None:
    await tried(nodes, running_provider, way, 1)


@pytest.mark.extended
@pytest.mark.parametrize("way", WAYS)
async def test_fifty_sessions_that_end_beside_refreshes_stay_ended_and_have_one_entry_each(
    nodes: tuple[Inside, ...], running_provider: HostileProvider, way: Callable[[Storm], Acts]
) -> None:
    await tried(nodes, running_provider, way, 50)
