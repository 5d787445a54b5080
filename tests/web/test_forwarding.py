"""Requests that don't arrive as ``server.trusted_proxies`` says."""

from __future__ import annotations

from ipaddress import ip_network
from types import SimpleNamespace
from typing import Any

import pytest

from service.web.messages.context import RequestContext
from service.web.messages.request import Request
from service.web.observability.forwarding import ForwardingWatch

pytestmark = pytest.mark.anyio

PROXY, STRANGER = "10.0.0.7", "192.0.2.9"


class Watched:
    """A watch that trusts the networks given, and a clock for it."""

    def __init__(self, *networks: str) -> None:
        self.now = 0.0
        self.watch = ForwardingWatch(map(ip_network, networks), lambda: self.now)

    def arrives(
        self, peer: str, *, forwarded: bool, path: str = "/api/user/list", times: int = 1, known: bool = True
    ) -> None:
        headers = [(b"x-forwarded-for", b"198.51.100.1")] if forwarded else []
        scope: dict[str, Any] = {
            "type": "http",
            "method": "GET",
            "path": path,
            "query_string": b"",
            "headers": headers,
            "client": (peer, 1),
        }
        for _ in range(times):
            context = RequestContext(scope)
            context.request = Request(scope, None)
            if known:
                context.caller = SimpleNamespace()  # type: ignore[assignment]  # any will do
            self.watch.note(context)

    async def kind(self) -> str | None:
        health = await self.watch.health()
        return health.details["kind"] if health.state == "degraded" else None


@pytest.mark.parametrize(
    ("networks", "peer", "forwarded", "kind"),
    [
        ((), PROXY, False, None),
        ((), PROXY, True, "unnamed"),
        (("10.0.0.0/24",), PROXY, True, None),
        (("10.0.0.0/24",), PROXY, False, "silent"),
        (("10.0.0.0/24",), STRANGER, True, "unnamed"),
        (("10.0.0.0/24",), STRANGER, False, None),
        (("10.0.0.0/24",), "::ffff:10.0.0.7", True, None),
        (("10.0.0.0/24",), "", False, None),
    ],
)
async def test_the_header_and_the_address_that_it_comes_from_must_fit(
    networks: tuple[str, ...], peer: str, forwarded: bool, kind: str | None
) -> None:
    site = Watched(*networks)
    site.arrives(peer, forwarded=forwarded)
    assert await site.kind() == kind
    assert sum(site.watch.counts.values()) == int(kind is not None)


async def test_the_address_of_the_proxy_is_told_to_the_operator() -> None:
    site = Watched()
    site.arrives(PROXY, forwarded=True, times=3)
    assert (await site.watch.health()).details == {"kind": "unnamed", "peer": PROXY, "requests": 3}


async def test_one_client_that_sends_the_header_degrades_nothing_where_others_are_served() -> None:
    site = Watched()
    site.arrives(PROXY, forwarded=False, times=3)
    site.arrives(STRANGER, forwarded=True, times=2)
    assert await site.kind() is None
    assert site.watch.counts == {"unnamed": 2, "silent": 0}


async def test_clients_without_an_account_degrade_nothing_however_many_requests_they_send() -> None:
    site = Watched()
    site.arrives(STRANGER, forwarded=True, times=100, known=False)
    assert await site.kind() is None
    assert site.watch.counts == {"unnamed": 0, "silent": 0}
    site.arrives(PROXY, forwarded=False)
    assert await site.kind() is None


@pytest.mark.parametrize("path", ["/health/ready", "/metrics", "/access/v1/forward/caddy/orders"])
async def test_probes_and_what_proxies_ask_for_themselves_do_not_count(path: str) -> None:
    site = Watched("10.0.0.0/24")
    site.arrives(PROXY, forwarded=False, path=path)
    assert await site.kind() is None


async def test_it_is_forgotten_within_two_minutes() -> None:
    site = Watched()
    site.arrives(PROXY, forwarded=True)
    site.now = 61.0
    assert await site.kind() == "unnamed"
    site.now = 122.0
    assert await site.kind() is None
    assert site.watch.counts["unnamed"] == 1
