from __future__ import annotations

from ipaddress import ip_network

import pytest

from service.web.messages.address import address_behind

PROXIES = (ip_network("10.0.0.0/8"), ip_network("fd00::/8"))


def scope(peer: str | None, *forwarded: str) -> dict[str, object]:
    headers = [(b"x-forwarded-for", value.encode("latin-1")) for value in forwarded]
    return {"client": (peer, 4711) if peer else None, "headers": [(b"host", b"x"), *headers]}


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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
