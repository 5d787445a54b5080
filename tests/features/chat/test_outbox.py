"""Notices that wait for a chat, from the request for a role to the message in the channel."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from service.features.chat import store
from service.features.chat.checks import CHECKS
from service.features.chat.sending import Chats, Sending
from service.features.notices.notices import Notices
from service.features.operations.diagnosis.examination import examine
from service.operator.findings import Finding
from service.records.database.transactions import Database
from service.settings import Settings, load
from tests.features.access_requests.test_requests import asked, ruled
from tests.features.chat.receiver import Receiver, receiving
from tests.support.inside import Inside
from tests.support.inside_fixtures import ServiceWith
from tests.support.members import member, query
from tests.support.running import Ended, portcullis

SITE = "https://admin.example.com"


@dataclass
class Channel:
    """A service with a destination, and the receiver behind it."""

    site: Inside
    receiver: Receiver
    settings: Settings
    database: Database
    variables: dict[str, str]

    async def send(self) -> str:
        """Run the job once."""
        return await Sending(self.settings).run(self.database)

    async def rows(self, columns: str) -> list[Any]:
        """Return all messages by id."""
        return await query(self.site, f"SELECT {columns} FROM sys.chat_message ORDER BY id")


@pytest.fixture
async def channel(service_with: ServiceWith) -> AsyncIterator[Channel]:
    async with receiving() as receiver:
        members = {"format": "slack", "url": receiver.url, "internal": True}
        own = members | {"kinds": ["emergency_given"]}
        variables = {
            "PORTCULLIS_SERVER__PUBLIC_URL": SITE,
            "PORTCULLIS_CHAT__DESTINATIONS": json.dumps({"approvers": members, "others": own}),
        }
        async with service_with(**variables) as site:
            settings = load(variables | {"PORTCULLIS_CONFIG": ""})
            async with Database(site.database_url, timeout=5.0) as database:
                yield Channel(site, receiver, settings, database, variables)


async def test_a_request_is_posted_once_with_a_link_and_without_its_reason(channel: Channel) -> None:
    await ruled(channel.site, "system:file:list")
    heron = await member(channel.site, "heron-1")
    for name in ("kestrel", "merlin"):
        await member(channel.site, name, "system:user:list", "system:file:list")
    request = await asked(heron, reason="A private reason")
    assert await channel.rows("destination, kind, state") == [("approvers", "access_request_made", "waiting")]
    assert await channel.send() == "1 messages sent, 0 deferred, 0 given up"
    ((_, _, body),) = channel.receiver.requests
    text = body.decode()
    assert "heron-1 requested the role heron" in text
    assert f"{SITE}/console/#/access-requests/{request['id']}" in text
    assert "private" not in text
    assert await channel.rows("state, fault") == [("sent", None)]
    assert await channel.send() == "0 messages sent, 0 deferred, 0 given up"


async def test_a_message_is_in_one_language(channel: Channel) -> None:
    chats = Chats(load(channel.variables | {"PORTCULLIS_CONFIG": "", "PORTCULLIS_MAIL__LANGUAGE": "zh-cn"}))
    facts = {"role": "heron", "request": "7", "state": "denied"}
    async with channel.database.transaction() as connection:
        await Notices(chats=chats).notify_each(connection, [1], "access_request_ended", "self", facts)
    await Sending(chats.settings).run(channel.database)
    ((_, _, body),) = channel.receiver.requests
    text = json.loads(body)["text"]
    assert "heron" in text
    assert "denied" not in text
    assert "已拒绝" in text


async def test_a_receiver_that_is_away_gets_the_message_later(channel: Channel) -> None:
    async with channel.database.transaction() as connection:
        await Chats(channel.settings).put(connection, "access_request_made", facts(), "7")
    channel.receiver.status = "503 Service Unavailable"
    assert await channel.send() == "0 messages sent, 1 deferred, 0 given up"
    assert await channel.send() == "0 messages sent, 0 deferred, 0 given up"  # not due yet
    (shown,) = [row async for row in standing(channel)]
    assert (shown["waiting"], shown["fault"]) == (1, "the receiver responds with 503")
    await query(channel.site, "UPDATE sys.chat_message SET next_time = now()")
    channel.receiver.status = "200 OK"
    assert await channel.send() == "1 messages sent, 0 deferred, 0 given up"
    first, second = channel.receiver.requests
    assert first[2] == second[2]
    (shown,) = [row async for row in standing(channel)]
    assert (shown["waiting"], shown["sent"], shown["fault"]) == (0, 1, None)


def facts() -> dict[str, str]:
    return {"account": "heron\nx=1", "role": "auditor", "request": "7"}


async def standing(channel: Channel) -> AsyncIterator[dict[str, Any]]:
    answer = await channel.site.data("GET", "/api/chat/list")
    for item in answer["items"]:
        assert "url" not in item
        if item["name"] == "approvers":
            yield item


async def test_a_message_of_a_removed_destination_and_an_old_one_are_given_up(channel: Channel) -> None:
    async with channel.database.transaction() as connection:
        for name in ("approvers", "gone"):
            await store.add(
                connection,
                message_id="msg_1",
                destination=name,
                kind="access_request_made",
                facts=facts(),
                request="7",
            )
    await query(
        channel.site,
        "UPDATE sys.chat_message SET create_time = now() - interval '25 hours'"
        " WHERE destination = 'approvers'",
    )
    assert await channel.send() == "0 messages sent, 0 deferred, 2 given up"
    assert channel.receiver.requests == []
    assert await channel.rows("fault") == [
        ("no process has sent it",),
        ("the destination is no longer in the settings",),
    ]


async def test_a_full_outbox_drops_messages_and_never_holds_up_a_writer(
    channel: Channel, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(store, "MOST_WAITING", 2)
    async with channel.database.transaction() as connection:
        for _ in range(4):
            await Chats(channel.settings).put(connection, "access_request_made", facts(), "7")
    assert len(await channel.rows("id")) == 2
    logged = capfd.readouterr().err
    assert logged.count("a chat message is dropped") == 2
    assert "heron" not in logged


async def test_a_test_message_is_posted_at_once_and_a_refused_one_says_why(channel: Channel) -> None:
    target = "/api/chat/approvers/test"
    assert await channel.site.data("POST", target) == {
        "accepted": True,
        "fault": None,
        "faultCode": None,
        "faultParams": None,
    }
    ((_, _, body),) = channel.receiver.requests
    assert "Test" in body.decode()
    channel.receiver.status = "404 Not Found"
    answer = await channel.site.ask("POST", target)
    assert answer.json["data"] == {
        "accepted": False,
        "fault": "the receiver responds with 404",
        "faultCode": "receiver_responds",
        "faultParams": {"status": 404},
    }
    assert "S3cret" not in answer.body.decode()
    assert (await channel.site.ask("POST", "/api/chat/nobody/test")).status == 404
    entries = await logged_tests(channel.site)
    kept = {
        (each["status"], each["url"], json.dumps(each["response"].get("data"), sort_keys=True))
        for each in entries
    }
    assert {
        (200, target, '{"accepted": true, "fault": null, "faultCode": null, "faultParams": null}'),
        (
            200,
            target,
            (
                '{"accepted": false, "fault": "the receiver responds with 404", '
                '"faultCode": "receiver_responds", "faultParams": {"status": 404}}'
            ),
        ),
    } < kept
    assert "S3cret" not in json.dumps(entries)


async def logged_tests(site: Inside) -> list[dict[str, Any]]:
    """Return the tests that the operation log has; it is written a moment later."""
    async with asyncio.timeout(20):
        while True:
            entries = (await site.data("GET", "/api/operation-log/list?size=200"))["items"]
            tests = [each for each in entries if each["action"] == "send a test message"]
            if len(tests) >= 3:
                return [await site.data("GET", f"/api/operation-log/{each['id']}") for each in tests]
            await asyncio.sleep(0.02)


async def finding_of(channel: Channel) -> Finding:
    environ = channel.variables | own_stores(channel)
    ((_, finding),) = await examine(environ, load(environ), lambda _: [], CHECKS)
    return finding


def own_stores(channel: Channel) -> dict[str, str]:
    return {
        "PORTCULLIS_CONFIG": "",
        "DATABASE_URL": channel.site.database_url,
        "REDIS_URL": channel.site.redis_url,
        "JWT_SECRET": "kX7-Qw2zPv9_LrT4mNb8sYc1HjD6gUfEoAi3ZxKlVtR",
    }


async def test_the_doctor_names_a_destination_that_accepts_nothing_until_it_accepts(channel: Channel) -> None:
    async def put() -> None:
        async with channel.database.transaction() as connection:
            await Chats(channel.settings).put(connection, "access_request_made", facts(), "7")

    channel.receiver.status = "404 Not Found"
    await put()
    assert await channel.send() == "0 messages sent, 0 deferred, 1 given up"
    failing = await finding_of(channel)
    assert failing.state == "fault"
    assert failing.message == "approvers accepts no notices: the receiver responds with 404"
    assert "portcullis notices test approvers" in failing.remedy
    channel.receiver.status = "200 OK"
    await put()
    await channel.send()
    clear = await finding_of(channel)
    assert (clear.state, clear.message) == ("warning", "approvers receives notices unencrypted")
    await put()
    await query(channel.site, "UPDATE sys.chat_message SET create_time = now() - interval '11 minutes'")
    late = await finding_of(channel)
    assert (late.state, late.message) == ("fault", "approvers accepts no notices: no process sends messages")


async def test_the_command_says_whether_a_destination_accepts_a_test_message(
    channel: Channel, tmp_path: Path
) -> None:
    async def command(name: str) -> Ended:
        variables = channel.variables | own_stores(channel)
        return await asyncio.to_thread(portcullis, tmp_path, "notices", "test", name, **variables)

    accepted = await command("approvers")
    assert (accepted.status, accepted.output) == (0, "approvers accepted the message\n")
    assert len(channel.receiver.requests) == 1
    channel.receiver.status = "403 Forbidden"
    refused = await command("approvers")
    assert refused.status != 0
    assert "The message was not accepted: the receiver responds with 403" in refused.errors
    assert "S3cret" not in refused.output + refused.errors
    unknown = await command("nobody")
    assert unknown.status != 0
    assert "There is no such destination; chat.destinations has approvers, others" in unknown.errors
    assert len(channel.receiver.requests) == 2
