"""Attacks on a follower, beside faults: see docs/explanation/decisions-beside-services.md."""

import asyncio
import hashlib
import hmac
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from service.features.decisions.messages import MOST_AT_ONCE
from service.features.follower import hub as following
from service.features.follower import rights
from service.features.follower.following import Follower, RefusedError, seal_key_of
from service.features.follower.kept import Kept
from service.features.follower.library import point_of
from service.features.follower.point import DecisionPoint
from service.features.follower.server import PdpApp
from service.features.follower.state import DivergedError
from tests.features.follower.conftest import House, log_in, may
from tests.support.members import ids_of
from tests.support.tls import Authority


async def test_once_its_key_is_deleted_a_follower_learns_nothing_and_denies(house: House) -> None:
    follow = await house.role("follower-to-end", *await ids_of(house.hub, "system:policy:follow"))
    account, key = await house.account("orders-to-end", follow, service="orders")
    role = await house.role("asked-about", house.buttons["orders:order:read"])
    await house.user("quentin", role)
    now = 1000.0
    async with house.follower(key) as follower:
        point = follower.point = DecisionPoint(("orders",), clock=lambda: now)
        await follower.renew()
        assert may(point, "quentin")
        (shown,) = (await house.data("GET", f"/api/user/{account}/keys"))["items"]
        await house.data("DELETE", f"/api/user/{account}/keys/{shown['id']}")
        with pytest.raises(RefusedError, match="401"):
            await follower.renew()
        now += point.lease.bound
        assert not may(point, "quentin")


@asynccontextmanager
async def listening(authority: Authority, received: list[bytes]) -> AsyncIterator[int]:
    """A server with a certificate of ``authority``, which answers 404 and keeps what it was sent."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=authority.server("127.0.0.1"))
    async with server:
        yield server.sockets[0].getsockname()[1]


async def test_a_hub_without_a_trusted_certificate_is_sent_no_key(house: House, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    authority, other = Authority(tmp_path), Authority(tmp_path / "other")
    received: list[bytes] = []
    async with listening(authority, received) as port:
        for ca_file, error in (
            (None, httpx.ConnectError),
            (other.file, httpx.ConnectError),
            (authority.file, RefusedError),
        ):
            assert received == []
            settings = house.settings(house.key, hub=f"https://127.0.0.1:{port}", ca_file=ca_file)
            async with Follower(settings, point_of(settings)) as follower:
                with pytest.raises(error):
                    await follower.renew()
                assert not follower.point.lease.holds()
    assert house.key.encode() in received[0]


class Repeating(httpx.AsyncBaseTransport):
    """Carries renewals to a hub, and answers each with what the first was answered."""

    def __init__(self, transport: httpx.AsyncBaseTransport) -> None:
        self._transport = transport
        self._answer = b""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if not self._answer:
            self._answer = await (await self._transport.handle_async_request(request)).aread()
        return httpx.Response(200, content=self._answer)


async def test_an_answer_to_another_renewal_prolongs_nothing(house: House) -> None:
    settings = house.settings(house.key)
    async with Follower(settings, point_of(settings), Repeating(house.transport)) as follower:
        await follower.renew()
        until = follower.point.lease.until
        with pytest.raises(ValueError, match="another renewal"):
            await follower.renew()
        assert follower.point.lease.until == until


async def test_a_file_that_was_forged_is_not_used(house: House, tmp_path: Path) -> None:
    path = tmp_path / "policy"
    async with house.follower(file=path) as follower:
        await follower.renew()
        follower.keep_now()
    content = path.read_bytes()[32:]
    path.write_bytes(hashlib.sha256(content).digest() + content)
    async with house.follower(file=path) as follower:
        assert not follower.restore(), "a digest is no seal"
    path.write_bytes(sealed(house.key, content))
    async with house.follower(file=path) as follower:
        assert follower.restore()
    path.write_bytes(sealed(house.evaluator, content))
    async with house.follower(file=path) as follower:
        assert not follower.restore(), "of another API key"


def sealed(key: str, content: bytes) -> bytes:
    return hmac.digest(seal_key_of(key), content, "sha256") + content


async def test_lines_that_are_not_those_of_the_hub_never_decide(house: House, tmp_path: Path) -> None:
    await house.user("rupert")
    path = tmp_path / "policy"
    async with house.follower(file=path) as follower:
        await follower.renew()
        follower.keep_now()
        kept = msgspec.msgpack.decode(path.read_bytes()[32:], type=Kept)
        state = follower.point.state
        lines = {layer: dict(objects) for layer, objects in kept.lines.items()}
        opened: dict[str, tuple[str, ...]] = dict.fromkeys(lines["resource"], ("@anyone",))
        lines["resource"] = opened
        for name, codes in opened.items():
            state.digest.add("resource", name, kept.lines["resource"][name], -1)
            state.digest.add("resource", name, codes)
        forged = msgspec.structs.replace(kept, lines=lines, digest=state.digest.text)
        path.write_bytes(sealed(house.key, msgspec.msgpack.encode(forged)))
    async with house.follower(file=path) as follower:
        assert follower.restore(), "who has the API key can seal it"
        assert not may(follower.point, "rupert")
        with pytest.raises(DivergedError):
            await follower.renew()
        assert not may(follower.point, "rupert")
        await follower.renew()
        assert follower.point.lease.holds()
        assert not may(follower.point, "rupert")


async def renewed(follower: Follower, times: int) -> None:
    for _ in range(times):
        await follower.renew(wait=False)


@pytest.mark.parametrize("forged", ["role", "user", "name", "key", "ban", "lost", "added"])
async def test_rights_that_are_not_those_of_the_hub_are_read_anew(
    house: House, monkeypatch: pytest.MonkeyPatch, forged: str
) -> None:
    monkeypatch.setattr(rights, "_CHECKED", 3)  # so that there are several parts
    role = await house.role(f"forged-{forged}", house.buttons["orders:order:read"])
    user = await house.user(f"forged-{forged}", role)
    async with house.follower() as follower:
        await follower.renew()
        state = follower.point.state
        before = dict(state.users), dict(state.roles), dict(state.keys)
        await renewed(follower, sum(len(each) for each in before))  # the right ones are never told to differ
        mine, key = state.users[user], next(iter(state.keys.values()))
        match forged:
            case "role":
                state.roles[role] = ("orders:order:read", "orders:order:write")
            case "user":
                state.users[user] = msgspec.structs.replace(mine, roles=(role, 1))
            case "name":
                state.users[user] = msgspec.structs.replace(mine, name=b"x" * 16)
            case "key":
                state.keys[key.id] = msgspec.structs.replace(key, ends=None, scopes=("*",))
            case "ban":
                state.users[user] = msgspec.structs.replace(mine, banned_until=-1)
            case "lost":
                del state.users[user]
            case "added":
                state.users[user + 1000] = msgspec.structs.replace(mine, id=user + 1000)
        with pytest.raises(DivergedError):
            await renewed(follower, sum(len(each) for each in before))
        assert not may(follower.point, f"forged-{forged}")
        await follower.renew()
        assert (state.users, state.roles, state.keys) == before
        assert may(follower.point, f"forged-{forged}")


async def test_revocations_that_were_lost_are_read_anew(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = await house.user("revoked-again")
    await log_in(house.hub, "revoked-again")
    async with house.follower() as follower:
        await follower.renew()
        await house.data("POST", f"/api/online/{user}/ban", {"seconds": 600, "reason": "left"})
        await follower.renew()
        state = follower.point.state
        marked, ended = dict(state.marked), dict(state.ended)
        assert user in marked
        state.marked.clear()
        state.ended.clear()
        await follower.renew(wait=False)
        assert user not in state.marked
        monkeypatch.setattr(following, "_REVOKED_ANEW", 0.0)
        await follower.renew(wait=False)
        assert state.marked.keys() == marked.keys()
        assert state.ended.keys() == ended.keys()


async def test_questions_that_are_too_large_or_too_many_are_refused(house: House) -> None:
    async with house.follower() as follower:
        await follower.renew()
        transport = httpx.ASGITransport(PdpApp(follower))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
            media = {"Content-Type": "application/json"}
            too_long = b" " * (4 * 1024 * 1024 + 1)
            large = await http.post("/access/v1/evaluation", content=too_long, headers=media)
            assert (large.status_code, large.json()["code"]) == (413, "too_large")
            questions: Any = {"evaluations": [{}] * (MOST_AT_ONCE + 1)}
            many = await http.post("/access/v1/evaluations", json=questions)
            assert (many.status_code, many.json()["code"]) == (400, "bad_request")
