"""The allowed origins change node by node while pages refresh: each answer says what its node allows."""

import asyncio
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from service.features.embedded.stores import EmbeddedStores
from tests.support.databases import database, session_store
from tests.support.inside import Inside, inside_published
from tests.support.seeded import ADMINISTRATOR_PASSWORD
from tests.support.waiting import eventually_here
from tests.web.driver import Answer

OLD, NEW = "https://old.example", "https://new.example"
PATH = "/api/auth/refresh"
WITHOUT_SUCCESS: tuple[dict[str, str], ...] = ({"refreshToken": "no token"}, {"refreshToken": ""}, {})

Node = Callable[..., AbstractAsyncContextManager[Inside]]


@pytest.fixture
async def node(stores: EmbeddedStores, published_template: str) -> AsyncIterator[Node]:
    """Runs a node that allows some origins; all nodes share their stores and the secret."""
    secret = {
        "JWT_SECRET": secrets.token_urlsafe(48),
        "PORTCULLIS_THROTTLE__ENABLED": "false",
        "PORTCULLIS_AUTH__MAX_DEVICES": "20",
    }
    with database(stores, published_template) as url, session_store(stores) as redis_url:
        yield lambda *origins: inside_published(
            url, redis_url, **secret, PORTCULLIS_SERVER__CORS_ORIGINS=",".join(origins)
        )


class Page:
    """A page of an origin with a session, which refreshes at the nodes in turn."""

    def __init__(self, origin: str, nodes: list[tuple[Inside, tuple[str, ...]]]) -> None:
        self.origin = origin
        self._nodes = nodes
        self._refresh = ""
        self.seen: Counter[tuple[int, bool]] = Counter()
        """Answers by status, and whether the browser lets the page read them."""

    async def log_in(self) -> None:
        body = {
            "userName": "admin",
            "password": ADMINISTRATOR_PASSWORD,
            "device": f"page-{secrets.token_hex(3)}",
        }
        answer = await self._nodes[0][0].as_anonymous("POST", "/api/auth/login", body=body)
        self._refresh = answer.json["data"]["refreshToken"]

    async def refresh(self, over: asyncio.Event) -> None:
        """Refresh twice at once, and send what is refused, until it is over; check all headers."""
        turn = 0
        while not over.is_set():
            turn += 1
            service, allowed = self._nodes[turn % len(self._nodes)]
            bodies: list[Any] = [{"refreshToken": self._refresh}] * 2 + [*WITHOUT_SUCCESS]
            sent = (service.as_anonymous("POST", PATH, ("Origin", self.origin), body=body) for body in bodies)
            for answer in await asyncio.gather(*sent):
                self._check(answer, allowed)
                if answer.status == 200:
                    self._refresh = answer.json["data"]["refreshToken"]

    def _check(self, answer: Answer, allowed: tuple[str, ...]) -> None:
        listed = self.origin in allowed
        assert answer.header("access-control-allow-origin") == (self.origin if listed else None)
        assert answer.header("access-control-allow-credentials") is None
        assert answer.header("vary") == "Origin"
        assert ("Retry-After" in (answer.header("access-control-expose-headers") or "")) == listed
        assert answer.status in (200, 401, 422), answer.body
        if answer.status == 401:
            assert answer.json.get("reason", "superseded") == "superseded"
        self.seen[answer.status, listed] += 1


async def answered(pages: list[Page]) -> None:
    """Return when each page has got some answers of each node."""
    goals = [page.seen.total() + 40 for page in pages]
    assert await eventually_here(
        lambda: all(page.seen.total() >= goal for page, goal in zip(pages, goals, strict=True))
    )


async def test_refreshes_beside_a_change_of_origins_carry_what_their_node_allows(node: Node) -> None:
    over = asyncio.Event()
    async with node(OLD) as first, node(OLD) as second:
        nodes: list[tuple[Inside, tuple[str, ...]]] = [(first, (OLD,)), (second, (OLD,))]
        pages = [Page(OLD, nodes), Page(NEW, nodes)]
        for page in pages:
            await page.log_in()
        tasks = [asyncio.create_task(page.refresh(over)) for page in pages]
        async with node(OLD, NEW) as third, node(NEW) as fourth:
            changes = ((0, (third, (OLD, NEW))), (1, (third, (OLD, NEW))), (0, (fourth, (NEW,))))
            for number, changed in changes:
                await answered(pages)
                nodes[number] = changed
            await answered(pages)
            over.set()
            await asyncio.gather(*tasks)
    for page in pages:
        # All kinds of answers, where the page may read them and where not.
        assert set(page.seen) == {(status, listed) for status in (200, 401, 422) for listed in (True, False)}
