"""Events reach a webhook: in order, signed, again after failures, and again on request."""

import asyncio
import base64
import hashlib
import hmac
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from service.features.events import jobs, store
from service.features.events.checks import CHECKS
from service.features.events.delivery import Delivery, TakenOver
from service.features.events.parts import Webhooks
from service.features.operations.diagnosis.examination import examine
from service.operator.findings import Finding
from service.records.database.transactions import Database
from service.settings import EventDestination, Settings, load
from service.settings.event_destinations import EventDestinations
from tests.features.events.receiving import Receiver, receiving
from tests.support.inside import Inside
from tests.support.inside_fixtures import ServiceWith
from tests.support.members import member, query
from tests.support.running import portcullis

SECRET = b"k" * 32
PRIVATE = Ed25519PrivateKey.from_private_bytes(b"p" * 32)
SECRETS = " ".join(
    (
        f"whsec_{base64.b64encode(SECRET).decode()}",
        f"whsk_{base64.b64encode(b'p' * 32 + PRIVATE.public_key().public_bytes_raw()).decode()}",
    )
)
DISABLE = "UPDATE sys.user SET status = 'disabled' WHERE id = %s"
ENABLE = "UPDATE sys.user SET status = 'enabled' WHERE id = %s"


@dataclass
class Hooked:
    """A service with a destination, the receiver behind it, and the delivery of one worker."""

    site: Inside
    receiver: Receiver
    database: Database
    settings: Settings
    variables: dict[str, str]
    user_id: int

    def delivery(self, worker: str = "tested", **members: Any) -> Delivery:
        """Return the delivery of a worker; ``members`` replace those of the settings."""
        (stored,) = self.settings.events.destinations
        named = {name: getattr(stored, name) for name in ("name", "url", "secret", "internal", "timeout")}
        return Delivery(EventDestination(**{**named, **members}), self.database, worker)

    async def change(self, *statements: str) -> None:
        """Run statements about the user."""
        for statement in statements:
            await query(self.site, statement, self.user_id)

    async def due(self) -> None:
        """Let the next attempt be due now."""
        await query(self.site, "UPDATE sys.rights_event_destination SET retry_time = now()")

    def own_stores(self) -> dict[str, str]:
        """Return the variables of a process that uses the stores of the service."""
        return self.variables | {
            "PORTCULLIS_CONFIG": "",
            "DATABASE_URL": self.site.database_url,
            "REDIS_URL": self.site.redis_url,
            "JWT_SECRET": "kX7-Qw2zPv9_LrT4mNb8sYc1HjD6gUfEoAi3ZxKlVtR",
        }

    async def finding(self) -> Finding:
        """Return the finding of doctor about events."""
        settings = load(self.own_stores())
        ((_, finding),) = await examine(self.own_stores(), settings, lambda _: [], CHECKS)
        return finding

    async def state(self) -> dict[str, Any]:
        """Return the destination as the API shows it."""
        ((state),) = (await self.site.data("GET", "/api/webhook/list"))["items"]
        assert "S3cret" not in repr(state)
        return dict(state)


@pytest.fixture
async def hooked(service_with: ServiceWith, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Hooked]:
    async def wait(_part: Webhooks) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(Webhooks, "_run", wait)  # the tests step themselves
    async with receiving(Receiver()) as receiver:
        members = {"url": receiver.url, "secret": SECRETS, "internal": True, "timeout": 1}
        variables = {"PORTCULLIS_EVENTS__DESTINATIONS": json.dumps({"warehouse": members})}
        async with service_with(**variables) as site, Database(site.database_url, timeout=5.0) as database:
            async with database.transaction() as connection:
                await store.switch(connection, on=True)
            kestrel = await member(site, "kestrel")
            settings = load(variables | {"PORTCULLIS_CONFIG": ""})
            made = Hooked(site, receiver, database, settings, variables, kestrel.user_id)
            assert await made.delivery().step() > 0  # its position is that of the last event
            yield made


def verified(headers: dict[str, str], body: bytes) -> None:
    """Verify both signatures, as the standard describes them."""
    content = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    shared, private = headers["webhook-signature"].split(" ")
    expected = hmac.new(SECRET, content, hashlib.sha256).digest()
    assert shared == f"v1,{base64.b64encode(expected).decode()}"
    scheme, _, signature = private.partition(",")
    assert scheme == "v1a"
    PRIVATE.public_key().verify(base64.b64decode(signature), content)


async def test_events_arrive_in_order_signed_by_each_secret_and_once(hooked: Hooked) -> None:
    await hooked.change(DISABLE, ENABLE, DISABLE)
    await hooked.delivery().step()
    await hooked.delivery().step()
    assert [event["type"] for event in hooked.receiver.events] == [
        "user.disabled",
        "user.enabled",
        "user.disabled",
    ]
    for headers, body in hooked.receiver.requests:
        verified(headers, body)
    assert len(set(hooked.receiver.ids)) == 3
    assert hooked.receiver.events[0]["data"] == {"userId": hooked.user_id, "accountKind": "person"}


async def test_a_destination_gets_only_its_kinds_and_what_it_includes(hooked: Hooked) -> None:
    await hooked.change(DISABLE, ENABLE)
    delivery = hooked.delivery(include=("user_name", "email"), kinds=("user.enabled", "user.deleted"))
    await delivery.step()
    await hooked.change("DELETE FROM sys.user WHERE id = %s")
    await delivery.step()
    assert [event["data"].get("user") for event in hooked.receiver.events] == [
        {"userName": "kestrel", "email": None},
        {"userName": None, "email": None},
    ]


async def test_a_failing_receiver_gets_the_same_message_later_and_nothing_overtakes_it(
    hooked: Hooked,
) -> None:
    hooked.receiver.statuses = ["200 OK", "503 Service Unavailable"]
    await hooked.change(DISABLE, ENABLE, DISABLE)
    delivery = hooked.delivery()
    await delivery.step()
    assert len(hooked.receiver.requests) == 2
    assert (await hooked.state())["fault"] == "the receiver responds with 503"
    await delivery.step()  # not due yet
    assert len(hooked.receiver.requests) == 2
    await hooked.due()
    await delivery.step()
    ids = hooked.receiver.ids
    assert ids[1] == ids[2]
    assert [event["type"] for event in hooked.receiver.events[2:]] == ["user.enabled", "user.disabled"]
    state = await hooked.state()
    assert (state["sent"], state["fault"], state["failures"], state["lag"]) == (3, None, 0, 0.0)


@pytest.mark.parametrize(
    ("asked", "least", "most"),
    [
        ("30", 25, 31),
        (lambda: format_datetime(datetime.now(UTC) + timedelta(minutes=20), usegmt=True), 1_150, 1_201),
        ("999999999999999", 3_590, 3_601),
        (lambda: "Fri, 31 Dec 9999 23:59:59 GMT", 3_590, 3_601),
        ("soon", 0, 6),
        ("-5", 0, 6),
    ],
)
async def test_retry_after_counts_up_to_an_hour(
    hooked: Hooked, asked: str | Callable[[], str], least: float, most: float
) -> None:
    text = asked if isinstance(asked, str) else asked()
    hooked.receiver.statuses = [f"503 Busy\r\nretry-after: {text}"]
    await hooked.change(DISABLE)
    await hooked.delivery().step()
    due = "SELECT extract(epoch FROM retry_time - now())::float8 FROM sys.rights_event_destination"
    ((wait,),) = await query(hooked.site, due)
    assert least <= wait <= most


async def test_a_receiver_that_is_gone_stops_the_destination_until_a_replay(hooked: Hooked) -> None:
    hooked.receiver.statuses = ["410 Gone"]
    await hooked.change(DISABLE, ENABLE)
    delivery = hooked.delivery()
    await delivery.step()
    await query(
        hooked.site, "UPDATE sys.rights_event_destination SET failing_time = now() - interval '2 days'"
    )
    await hooked.due()
    assert await delivery.step() == await hooked.delivery().step() == 5.0
    assert len(hooked.receiver.ids) == 1, "nothing more is sent, by this worker and the next"
    state = await hooked.state()
    assert (state["fault"], state["deadLetters"]) == ("the receiver responds with 410", 0)
    assert state["stopTime"] is not None
    finding = await hooked.finding()
    assert (finding.state, finding.message.partition(" since ")[0]) == ("fault", "warehouse is stopped")

    now = datetime.now(UTC).isoformat()
    await hooked.site.data("POST", "/api/webhook/warehouse/replay", {"from": now})
    await delivery.step()
    assert [event["type"] for event in hooked.receiver.events[1:]] == ["user.disabled", "user.enabled"]
    assert ((await hooked.state())["stopTime"], (await hooked.finding()).state) == (None, "warning")


async def test_a_refused_event_becomes_a_dead_letter_that_a_replay_sends_again(hooked: Hooked) -> None:
    hooked.receiver.statuses = ["422 Unprocessable"] * 3
    before = datetime.now(UTC)
    await hooked.change(DISABLE, ENABLE)
    delivery = hooked.delivery()
    for _ in range(4):
        await delivery.step()
        await hooked.due()
    assert [event["type"] for event in hooked.receiver.events] == ["user.disabled"] * 3 + ["user.enabled"]
    (letter,) = (await hooked.site.data("GET", "/api/webhook/warehouse/dead-letters"))["items"]
    assert (letter["id"], letter["kind"]) == (hooked.receiver.ids[0], "user.disabled")
    finding = await hooked.finding()
    assert (finding.state, finding.message) == ("warning", "warehouse has 1 dead letter")
    again = await hooked.site.data("POST", "/api/webhook/warehouse/replay", {"from": before.isoformat()})
    assert again == {"events": 2}
    await delivery.step()
    assert hooked.receiver.ids[4:] == [hooked.receiver.ids[0], hooked.receiver.ids[3]]
    assert (await hooked.state())["deadLetters"] == 0


async def test_a_replay_during_a_delivery_is_not_lost(hooked: Hooked) -> None:
    await hooked.change(DISABLE, ENABLE)
    first = hooked.delivery()
    await first.step()
    await hooked.change(DISABLE)
    hooked.receiver.delay = 0.3

    async def replay() -> None:
        await query(hooked.site, "UPDATE sys.rights_event_destination SET position = position - 1")

    async with asyncio.TaskGroup() as group:
        stepping = group.create_task(taken_over(first))
        await asyncio.sleep(0.1)
        await replay()
    assert stepping.result()
    hooked.receiver.delay = 0.0
    await first.step()
    assert len(hooked.receiver.requests) == 5
    assert len(set(hooked.receiver.ids)) == 3


async def taken_over(delivery: Delivery) -> bool:
    try:
        await delivery.step()
    except TakenOver:
        return True
    return False


async def test_one_worker_sends_at_a_time_and_another_takes_over(hooked: Hooked) -> None:
    first, second = hooked.delivery("first"), hooked.delivery("second")
    await query(hooked.site, "UPDATE sys.rights_event_destination SET worker = NULL")
    await first.step()
    await hooked.change(DISABLE)
    await second.step()
    assert hooked.receiver.requests == []
    await first.close()
    await second.step()
    assert len(hooked.receiver.requests) == 1


async def test_a_receiver_that_hangs_is_left_within_the_timeout(hooked: Hooked) -> None:
    hooked.receiver.delay = 5.0
    await hooked.change(DISABLE)
    async with asyncio.timeout(4):
        await hooked.delivery().step()
    assert (await hooked.state())["fault"] == "no answer within 1 s"


async def test_events_that_were_deleted_before_they_were_sent_are_counted(hooked: Hooked) -> None:
    await hooked.change(DISABLE, ENABLE)
    await jobs.put_in_order(hooked.database)
    await query(hooked.site, "UPDATE sys.rights_event SET event_time = now() - interval '8 days'")
    assert await jobs.forget(hooked.database, hooked.settings.events) != "0 events deleted"
    assert (await hooked.state())["missed"] == 2
    await hooked.delivery().step()
    assert hooked.receiver.requests == []


async def test_the_state_of_a_removed_destination_is_kept_as_long_as_events(hooked: Hooked) -> None:
    delivery = hooked.delivery()
    await delivery.step()
    await delivery.close()
    removed = replace(hooked.settings.events, destinations=EventDestinations())
    kept = "SELECT count(*) FROM sys.rights_event_destination"
    await jobs.forget(hooked.database, removed)
    assert await query(hooked.site, kept) == [(1,)]
    await query(
        hooked.site,
        "UPDATE sys.rights_event_destination SET lease_time = now() - interval '8 days', success_time = NULL",
    )
    await jobs.forget(hooked.database, removed)
    assert await query(hooked.site, kept) == [(0,)]


async def test_the_operator_tests_a_destination_and_sends_events_again(
    hooked: Hooked, tmp_path: Path
) -> None:
    tested = await hooked.site.data("POST", "/api/webhook/warehouse/test")
    assert tested == {"accepted": True, "fault": None, "faultCode": None, "faultParams": None}
    assert hooked.receiver.events[-1]["type"] == "test"
    verified(*hooked.receiver.requests[-1])
    hooked.receiver.statuses = ["404 Not Found"]
    tested = await hooked.site.data("POST", "/api/webhook/warehouse/test")
    assert tested == {
        "accepted": False,
        "fault": "the receiver responds with 404",
        "faultCode": "receiver_responds",
        "faultParams": {"status": 404},
    }
    assert (await hooked.site.ask("POST", "/api/webhook/nowhere/test")).status == 404
    command = partial(portcullis, tmp_path, "events", **hooked.own_stores())
    done = await asyncio.to_thread(command, "replay", "warehouse", "--since", "2026-01-01T00:00:00Z")
    assert (done.status, done.output.endswith("will be sent\n")) == (0, True), done
    listed = await asyncio.to_thread(command, "status")
    assert "warehouse" in listed.output
    accepted = await asyncio.to_thread(command, "test", "warehouse")
    assert accepted.output == "warehouse accepted the event\n"
