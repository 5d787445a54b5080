"""A role that begins and ends at its instant, whichever way a caller comes in.

``docs/explanation/rights-over-time.md`` names these tests.
"""

import asyncio
import base64
import json
import re
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.docs.pages import ROOT
from tests.docs.shown_by import missing_files, missing_tests
from tests.features.decisions.conftest import Access
from tests.features.decisions.test_whole_service import key_of, set_up
from tests.support.cases import with_each
from tests.support.members import member, query
from tests.support.seeded import ADMINISTRATOR_PASSWORD
from tests.support.windows import Record, Window, repeat
from tests.web.driver import Answer, ask

PAGE = ROOT / "docs" / "explanation" / "rights-over-time.md"
LIST, READ, ORDER = "system:role:list", "record:record-1:read", "orders:order:read"
FORM = ("Content-Type", "application/x-www-form-urlencoded")
BEFORE, LASTS = 3.3, 3.4
"""Seconds until the role begins, and for which it is in force: no whole ones."""
ASSIGNED = """
SELECT user_id, role_id FROM sys.user_role JOIN sys.user ON user_id = "user".id
WHERE user_name IN ('heron', 'robot')
"""
CHANGES = (False, True, False)
"""What each way is answered: before the role begins, while it is in force, and after its end."""

Question = Callable[[], Awaitable[bool]]


def payload(token: str) -> dict[str, Any]:
    """Return the claims of a token, as a service reads them that verifies it by the public keys."""
    part = token.split(".")[1]
    claims: dict[str, Any] = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return claims


class Person:
    """A client with a session: it refreshes when it is introspected to, as clients do."""

    def __init__(self, access: Access, tokens: dict[str, Any]) -> None:
        self.access = access
        self.tokens = tokens
        self._refreshing = asyncio.Lock()

    async def refresh(self, refused: str = "") -> None:
        """Refresh, unless the token that was ``refused`` has been replaced meanwhile."""
        async with self._refreshing:
            if refused and refused != self.tokens["accessToken"]:
                return
            body = {"refreshToken": self.tokens["refreshToken"]}
            answer = await self.access.service.as_anonymous("POST", "/api/auth/refresh", body=body)
            assert answer.status == 200, answer.body
            self.tokens = answer.json["data"]

    async def answer(self, target: str, send: Callable[[str], Awaitable[Answer]] | None = None) -> Answer:
        """Send a request with the access token, once more after a refresh if it is refused as outdated."""
        service = self.access.service
        sending = send or (lambda token: service.ask("GET", target, token=token))
        token = self.tokens["accessToken"]
        answer = await sending(token)
        if answer.status == 401:
            await self.refresh(token)
            answer = await sending(self.tokens["accessToken"])
        return answer


class Ways:
    """Each way in, for a person and for a service account, both in a role with the same window."""

    def __init__(self, access: Access, persons: list[Person], key: str, proxy: str) -> None:
        self.access = access
        self.person, self.remote, self.proxied, self.checked = persons
        self.key = key
        self.proxy = proxy
        self.client_token = ""
        self.client_token_elsewhere = ""

    async def session(self) -> bool:
        return self._passed(await self.person.answer("/api/role/list"))

    async def own_account(self) -> bool:
        return LIST in (await self.person.answer("/api/user/info")).json["data"]["permissions"]

    async def own_menus(self) -> bool:
        return LIST in (await self.person.answer("/api/menu/mine")).json["data"]["permissions"]

    async def refresh(self) -> bool:
        """Refresh each time, so that the rights are those of the refresh."""
        await self.remote.refresh()
        return self._holds(self.remote.tokens["accessToken"])

    async def api_key(self) -> bool:
        return self._passed(await self.access.service.ask("GET", "/api/role/list", token=self.key))

    async def client_credentials(self) -> bool:
        """Take one token, and then ask with it as long as it lives."""
        if not self.client_token or payload(self.client_token)["exp"] <= time.time():
            self.client_token = await self._client_token()
        answer = await self.access.service.ask("GET", "/api/role/list", token=self.client_token)
        return answer.status == 200

    async def forwarded_session(self) -> bool:
        return (await self.proxied.answer("", self._forwarded)).status == 200

    async def forwarded_api_key(self) -> bool:
        return (await self._forwarded(self.key)).status == 200

    async def subject_user(self) -> bool:
        return await self._decided({"type": "user", "id": "heron"})

    async def subject_identity(self) -> bool:
        return await self._decided(
            {"type": "identity", "id": payload(self.person.tokens["accessToken"])["sub"]}
        )

    async def subject_token(self) -> bool:
        """Ask about the token of a session, which is refreshed when it is said to be worth nothing."""
        decided = await self._decided({"type": "token", "id": self.checked.tokens["accessToken"]})
        if not decided:
            await self.checked.refresh()
            decided = await self._decided({"type": "token", "id": self.checked.tokens["accessToken"]})
        return decided

    async def subject_api_key(self) -> bool:
        return await self._decided({"type": "token", "id": self.key})

    async def search(self) -> bool:
        body = {"subject": {"type": "user"}, "action": {"name": "read"}}
        body["resource"] = {"type": "record", "id": "record-1"}
        answer = await self.access.ask("/access/v1/search/subject", body, by="searcher")
        return "heron" in {each["id"] for each in answer.json["results"]}

    async def introspection(self) -> bool:
        """Introspect the API key; what is answered says until when it holds."""
        body = urlencode({"token": self.key}).encode()
        introspected = (await self.access.service.ask_raw("POST", "/oauth/introspect", body, FORM)).json
        if LIST in introspected["scope"].split():
            assert introspected["exp"] <= self.window.end
        elif time.time() < self.window.begin:
            assert introspected["exp"] <= self.window.begin
        return LIST in introspected["scope"].split()

    async def verified_elsewhere(self) -> bool:
        """Judge a client token by its claims alone, and take another one only when it has expired."""
        if not self.client_token_elsewhere or payload(self.client_token_elsewhere)["exp"] <= time.time():
            self.client_token_elsewhere = await self._client_token()
        return LIST in payload(self.client_token_elsewhere).get("scope", "").split()

    window: Window

    async def _client_token(self) -> str:
        number = self.key.split("_")[1]
        form = {"grant_type": "client_credentials", "client_id": number, "client_secret": self.key}
        answer = await ask(
            self.access.service._app, "POST", "/oauth/token", FORM, body=urlencode(form).encode()
        )
        assert answer.status == 200, answer.body
        assert answer.json["expires_in"] >= 1
        token: str = answer.json["access_token"]
        return token

    async def _forwarded(self, token: str) -> Answer:
        headers = {
            "X-Portcullis-Key": self.proxy,
            "X-Original-Method": "GET",
            "X-Original-URI": "/orders/7",
            "X-Original-Host": "orders.example.com",
            "Authorization": f"Bearer {token}",
        }
        path = "/access/v1/forward/nginx/orders"
        return await self.access.service.as_anonymous("GET", path, *headers.items())

    async def _decided(self, subject: dict[str, str]) -> bool:
        answer = await self.access.decision(subject, "read", {"type": "record", "id": "record-1"})
        decision: bool = answer["decision"]
        return decision

    @staticmethod
    def _passed(answer: Answer) -> bool:
        assert answer.status in (200, 403), answer.body
        return answer.status == 200

    @staticmethod
    def _holds(token: str) -> bool:
        claims = payload(token)
        assert claims["iat"] < claims["exp"]
        return "heron" in claims["roles"]


WAYS = (
    "session",
    "own_account",
    "own_menus",
    "refresh",
    "api_key",
    "client_credentials",
    "forwarded_session",
    "forwarded_api_key",
    "subject_user",
    "subject_identity",
    "subject_token",
    "subject_api_key",
    "search",
    "introspection",
    "verified_elsewhere",
)


async def person(access: Access, device: str) -> Person:
    """Log heron in on a device."""
    body = {"userName": "heron", "password": ADMINISTRATOR_PASSWORD, "device": device}
    answer = await access.service.as_anonymous("POST", "/api/auth/login", body=body)
    assert answer.status == 200, answer.body
    return Person(access, answer.json["data"])


async def limit(access: Access, user_id: int, role_id: int, window: Window) -> None:
    """Let a user have a role in a window alone: by another assignment in place of what is still in force."""
    roles = f"/api/user/{user_id}/roles"
    had = (await access.service.data("GET", roles))["items"]
    begin, end = (datetime.fromtimestamp(each, UTC).isoformat() for each in (window.begin, window.end))
    await access.service.data("POST", roles, {"roleId": role_id, "from": begin, "until": end})
    for assignment in had:
        await access.service.data("DELETE", f"{roles}/{assignment['id']}")


@pytest.fixture(scope="module")
async def records(access: Access) -> dict[str, Record]:
    """Ask in all ways while the role of heron and of a robot begins and ends."""
    service = access.service
    proxy, _ = await set_up(service)
    key = await key_of(service, "robot", LIST, READ, ORDER)
    await member(service, "heron", LIST, READ, ORDER)
    assigned = await query(service, ASSIGNED)
    persons = [await person(access, device) for device in ("web", "ios", "tv", "car")]
    ways = Ways(access, persons, key, proxy)
    for times in (1, 2, 4, 8):  # a busy machine takes longer to set it up, and for each answer
        now = time.time()
        begin = round(now + times * BEFORE, 3)
        window = ways.window = Window(begin, round(begin + times * LASTS, 3))
        for user_id, role_id in assigned:
            await limit(access, user_id, role_id, window)
        ways.client_token = ways.client_token_elsewhere = ""
        await asyncio.gather(*(each.refresh() for each in persons))
        kept = {way: Record([window]) for way in WAYS}
        await asyncio.gather(*(repeat(kept[way], getattr(ways, way), every=0.1) for way in WAYS))
        records = kept.values()
        if all(each.kinds == CHANGES for each in records) or any(each.faults() for each in records):
            break
    return kept


def test_the_page_names_the_test_of_each_way() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert set(re.findall(r"`\[(\w+)\]`", page)) == set(WAYS)
    assert missing_files(page) + missing_tests(page) == []


@with_each("way", WAYS)
async def test_a_role_begins_and_ends_at_its_instant(records: dict[str, Record], way: str) -> None:
    record = records[way]
    assert record.faults() == []
    assert record.kinds == CHANGES, "it was asked before, meanwhile and afterwards"
