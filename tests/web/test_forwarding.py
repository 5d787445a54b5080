"""From where a client is taken to come, and requests that don't arrive as the settings say."""

from ipaddress import ip_network
from types import SimpleNamespace
from typing import Any

import pytest

from service.web.messages.address import address_behind
from service.web.messages.context import RequestContext
from service.web.messages.request import Request
from service.web.observability.readiness import ForwardingWatch
from tests.support.cases import with_each

PROXY, STRANGER = "10.0.0.7", "192.0.2.9"


class Watched:
    """A watch that trusts the networks given, and a clock for it."""

    def __init__(self, *networks: str) -> None:
        self.now = 0.0
        self.watch = ForwardingWatch(map(ip_network, networks), lambda: self.now)

    def arrives(
        self,
        peer: str,
        *,
        forwarded: bool,
        path: str = "/api/user/list",
        times: int = 1,
        known: bool = True,
        server: str = "10.0.0.1",
        http_version: str = "1.1",
        headers: dict[str, str] | None = None,
    ) -> None:
        given = {"x-forwarded-for": "198.51.100.1"} if forwarded else {}
        given |= headers or {}
        scope: dict[str, Any] = {
            "type": "http",
            "method": "GET",
            "path": path,
            "query_string": b"",
            "headers": [(name.encode(), value.encode()) for name, value in given.items()],
            "client": (peer, 1),
            "server": (server, 8080),
            "http_version": http_version,
        }
        for _ in range(times):
            context = RequestContext(scope)
            context.request = Request(scope, None)  # type: ignore[arg-type]  # nothing is received
            if known:
                context.caller = SimpleNamespace()  # type: ignore[assignment]  # any will do
            self.watch.note(context)

    async def kind(self) -> str | None:
        health = await self.watch.health()
        return health.details["kind"] if health.state == "degraded" else None


@with_each(
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


@with_each(
    ("peer", "server", "host"),
    [
        ("127.0.0.1", "127.0.0.1", "127.0.0.1:8080"),
        ("127.0.0.1", "127.0.0.1", "localhost:8080"),
        ("::1", "::1", "[::1]:8080"),
        ("10.0.0.7", "10.0.0.7", "10.0.0.7:8080"),
        ("::ffff:10.0.0.7", "::ffff:10.0.0.7", "10.0.0.7"),
    ],
)
async def test_a_call_from_the_node_itself_degrades_nothing_though_a_proxy_there_is_trusted(
    peer: str, server: str, host: str
) -> None:
    site = Watched("127.0.0.0/8", "::1/128", "10.0.0.0/24")
    site.arrives(peer, server=server, headers={"host": host}, forwarded=False)
    assert await site.kind() is None
    assert site.watch.counts["silent"] == 0


@with_each(
    ("headers", "http_version"),
    [
        ({"host": "access.example.com"}, "1.1"),
        ({"host": "127.0.0.1:8080", "x-forwarded-proto": "https"}, "1.1"),
        ({"host": "127.0.0.1:8080", "via": "1.1 varnish"}, "1.1"),
        ({"host": "127.0.0.1:8080", "x-real-ip": "198.51.100.1"}, "1.1"),
        ({"host": "127.0.0.1:8080"}, "1.0"),
        ({}, "1.1"),
    ],
)
async def test_a_proxy_on_the_node_that_sends_no_address_is_noticed(
    headers: dict[str, str], http_version: str
) -> None:
    site = Watched("127.0.0.1/32")
    site.arrives("127.0.0.1", server="127.0.0.1", headers=headers, http_version=http_version, forwarded=False)
    assert await site.kind() == "silent"


async def test_a_proxy_elsewhere_that_sends_no_address_is_noticed_whatever_host_it_asks_for() -> None:
    site = Watched("10.0.0.0/24")
    site.arrives(PROXY, server="10.0.0.1", headers={"host": "10.0.0.1:8080"}, forwarded=False)
    assert await site.kind() == "silent"


async def test_an_address_that_a_local_caller_claims_counts_as_before() -> None:
    site = Watched()
    site.arrives("127.0.0.1", server="127.0.0.1", headers={"host": "localhost"}, forwarded=True)
    assert await site.kind() == "unnamed"


PROXIES = (ip_network("10.0.0.0/8"), ip_network("fd00::/8"))


def scope(peer: str | None, *forwarded: str) -> dict[str, object]:
    headers = [(b"x-forwarded-for", value.encode("latin-1")) for value in forwarded]
    return {"client": (peer, 4711) if peer else None, "headers": [(b"host", b"x"), *headers]}


@with_each("sent", ["unknown", "203.0.113.7, unknown", "_hidden", ""])
async def test_a_named_proxy_that_tells_no_address_is_as_silent_as_one_without_the_header(sent: str) -> None:
    site = Watched("10.0.0.0/8")
    site.arrives(PROXY, forwarded=True, times=2)
    assert await site.kind() is None
    site.arrives(PROXY, forwarded=False, headers={"x-forwarded-for": sent}, times=3)
    assert await site.kind() == "silent"


async def test_a_named_proxy_that_sends_forwarded_alone_is_silent_and_not_believed() -> None:
    site = Watched("10.0.0.0/8")
    site.arrives(PROXY, forwarded=False, headers={"forwarded": "for=203.0.113.7"})
    assert await site.kind() == "silent"
    request = {"client": (PROXY, 1), "headers": [(b"forwarded", b"for=203.0.113.7")]}
    assert address_behind(PROXIES)(request) == PROXY


@with_each(
    ("claim", "peer", "forwarded", "address"),
    [
        ("the peer itself without a header", "10.0.0.1", (), "10.0.0.1"),
        ("what the proxy saw", "10.0.0.1", ("203.0.113.7",), "203.0.113.7"),
        (
            "the nearest stranger, not what it wrote itself",
            "10.0.0.1",
            ("1.1.1.1, 203.0.113.7",),
            "203.0.113.7",
        ),
        ("the stranger before a chain of proxies", "10.0.0.1", ("203.0.113.7, 10.2.3.4",), "203.0.113.7"),
        ("several headers read as one", "10.0.0.1", ("1.1.1.1", "203.0.113.7, 10.9.9.9"), "203.0.113.7"),
        ("the peer when it is no proxy", "198.51.100.2", ("203.0.113.7",), "198.51.100.2"),
        ("the proxy when its entry is no address", "10.0.0.1", ("1.1.1.1, unknown",), "10.0.0.1"),
        ("the proxy when the entry is empty", "10.0.0.1", ("",), "10.0.0.1"),
        ("an address without its port", "10.0.0.1", ("203.0.113.7:5000",), "203.0.113.7"),
        ("IPv6 in its one spelling", "fd00::1", ("[2001:DB8:0::7]:443",), "2001:db8::7"),
        ("IPv4 that came over IPv6 as IPv4", "::ffff:10.0.0.1", ("::ffff:203.0.113.7",), "203.0.113.7"),
        ("the farthest proxy when all are proxies", "10.0.0.1", ("10.0.0.3, 10.0.0.2",), "10.0.0.3"),
        ("nothing over a unix socket", None, ("203.0.113.7",), ""),
    ],
)
def test_the_client_is(claim: str, peer: str | None, forwarded: tuple[str, ...], address: str) -> None:
    assert address_behind(PROXIES)(scope(peer, *forwarded)) == address, claim


def test_without_trusted_proxies_the_header_is_never_read() -> None:
    assert address_behind(())(scope("10.0.0.1", "203.0.113.7")) == "10.0.0.1"


@with_each(
    ("peer", "address"),
    [
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("2001:DB8:0::7", "2001:db8::7"),
        ("fe80::7%eth0", "fe80::7"),
        (None, ""),
    ],
)
def test_the_address_of_a_peer_has_one_spelling(peer: str | None, address: str) -> None:
    for trusted in ((), PROXIES):
        assert address_behind(trusted)(scope(peer)) == address
