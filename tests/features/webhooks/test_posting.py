"""Where a message may go, and what is said if it is not accepted."""

import base64
import hashlib
import hmac
from ipaddress import ip_address
from time import monotonic
from typing import Any

import pytest

from service.features.webhooks import posting
from service.features.webhooks.posting import PostFault, is_allowed, post
from service.settings import ChatDestination
from tests.features.chat.receiver import receiving
from tests.support.cases import with_each
from tests.support.flooding import CHUNK, DROP, ENDLESS, MOST_BUFFERED, OK, Flood, flooding

KEY = base64.b64encode(b"k" * 32).decode()


def destination(url: str, **members: Any) -> ChatDestination:
    return ChatDestination(name="approvers", url=url, **{"format": "slack", "internal": True, **members})


async def refused(to: ChatDestination) -> PostFault:
    with pytest.raises(PostFault) as fault:
        await post(to, "msg_1", b"{}")
    assert "S3cret" not in fault.value.fault
    assert to.url not in fault.value.fault
    return fault.value


@with_each(
    ("address", "public", "internal"),
    [
        ("93.184.216.34", True, True),
        ("2606:2800:220:1::1", True, True),
        ("127.0.0.1", False, True),
        ("10.1.2.3", False, True),
        ("fd00::1", False, True),
        ("::1", False, True),
        ("169.254.169.254", False, False),
        ("169.254.1.1", False, False),
        ("100.100.100.200", False, False),
        ("168.63.129.16", False, False),
        ("fd00:ec2::254", False, False),
        ("fe80::1", False, False),
        ("::ffff:169.254.169.254", False, False),
        ("::ffff:127.0.0.1", False, True),
        ("2002:a9fe:a9fe::1", False, False),
        ("64:ff9b::a9fe:a9fe", False, False),
        ("64:ff9b::a01:203", False, True),
        ("64:ff9b::5db8:d822", True, True),
        ("::a9fe:a9fe", False, False),
        ("fec0::1", False, False),
        ("0.0.0.0", False, False),
        ("224.0.0.1", False, False),
        ("::", False, False),
    ],
)
def test_only_public_addresses_are_contacted_and_private_ones_where_it_is_allowed(
    address: str, public: bool, internal: bool
) -> None:
    assert is_allowed(ip_address(address), internal=False) is public
    assert is_allowed(ip_address(address), internal=True) is internal


async def test_a_host_that_resolves_to_an_address_within_is_refused_before_a_connection() -> None:
    async with receiving() as receiver:
        fault = await refused(destination(receiver.url.replace("http:", "https:"), internal=False))
        assert (fault.fault, fault.final) == ("its host has an address that is not allowed", True)
        assert receiver.requests == []


async def test_the_checked_address_is_the_one_that_is_contacted(monkeypatch: pytest.MonkeyPatch) -> None:
    async with receiving() as receiver:
        asked = []

        async def resolved(url: Any, *, internal: bool) -> Any:
            asked.append((url.host, internal))
            return ip_address("127.0.0.1")

        monkeypatch.setattr(posting, "_resolved", resolved)
        await post(destination(receiver.url.replace("127.0.0.1", "chat.invalid")), "msg_1", b"{}")
        ((line, headers, body),) = receiver.requests
        assert asked == [("chat.invalid", True)]
        assert line == "POST /services/T0/S3cretPath HTTP/1.1"
        assert headers["host"].startswith("chat.invalid:")
        assert body == b"{}"


async def test_a_redirect_is_not_followed() -> None:
    async with receiving() as receiver, receiving() as other:
        receiver.status, receiver.headers = "307 Temporary Redirect", f"location: {other.url}\r\n"
        fault = await refused(destination(receiver.url))
        assert (fault.final, other.requests) == (True, [])


@with_each(
    ("status", "headers", "final", "after"),
    [
        ("404 Not Found", "", True, None),
        ("429 Too Many Requests", "retry-after: 120\r\n", False, 120.0),
        ("429 Too Many Requests", "retry-after: x\r\n", False, None),
        ("429 Too Many Requests", "retry-after: Sun, 22 Nov 2026 12:00:30 GMT\r\n", False, 0.0),
        ("410 Gone", "", True, None),
        ("503 Service Unavailable", "", False, None),
    ],
)
async def test_a_refusal_is_final_or_retried(
    status: str, headers: str, final: bool, after: float | None
) -> None:
    async with receiving() as receiver:
        receiver.status, receiver.headers = status, headers
        fault = await refused(destination(receiver.url))
        assert (fault.final, fault.after) == (final, after)
        assert fault.fault == f"the receiver responds with {status[:3]}"


@with_each(
    ("part", "pause"),
    [
        (CHUNK, 0.0),
        (DROP, 0.2),
    ],
)
async def test_an_accepted_answer_without_an_end_is_left(part: bytes, pause: float) -> None:
    async with flooding(Flood(OK + ENDLESS, part, pause)) as flood:
        begun = monotonic()
        await post(destination(flood.url, timeout=10), "msg_1", b"{}")
        assert monotonic() - begun < 5
    assert (flood.requests, flood.sent < MOST_BUFFERED) == (1, True)


@with_each(
    ("head", "part", "reason"),
    [
        (OK, b"x-more: " + b"x" * 4096 + b"\r\n", "the receiver can't be reached: RemoteProtocolError"),
        (b"HTTP/1.1 500 No\r\n" + ENDLESS, CHUNK, "the receiver responds with 500"),
        (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n", "no answer within 1 s"),
    ],
)
async def test_headers_and_refusals_without_an_end_are_left(head: bytes, part: bytes, reason: str) -> None:
    async with flooding(Flood(head, part)) as flood:
        fault = await refused(destination(flood.url, timeout=1))
        assert fault.fault == reason
    assert flood.sent < MOST_BUFFERED


async def test_a_receiver_that_is_away_is_named_without_its_address() -> None:
    async with receiving() as receiver:
        url = receiver.url
    fault = await refused(destination(url))
    assert (fault.fault, fault.final) == ("the receiver can't be reached: ConnectError", False)


@with_each("host", ["xn--.example.com", f"{'a' * 64}.example.com"])
async def test_a_host_that_is_no_name_is_a_fault_of_its_message_alone(host: str) -> None:
    fault = await refused(destination(f"https://{host}/services/S3cret"))
    assert fault.fault.startswith("the receiver can't be reached: ")


async def test_a_standard_webhook_is_signed() -> None:
    async with receiving() as receiver:
        await post(destination(receiver.url, format="standard", secret=f"whsec_{KEY}"), "msg_1", b'{"a":1}')
        ((_, headers, body),) = receiver.requests
    content = f"msg_1.{headers['webhook-timestamp']}.".encode() + body
    expected = base64.b64encode(hmac.new(b"k" * 32, content, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"
