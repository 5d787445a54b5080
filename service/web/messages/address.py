"""The address of a client, which may be behind proxies."""

from collections.abc import Callable, Iterable
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

from service.web.messages.context import AddressOf, Scope

Network = IPv4Network | IPv6Network

_REMEMBERED: Final = 4096
_LONGEST: Final = 80  # characters: an address, its zone and its port


def address_behind(trusted: Iterable[Network]) -> AddressOf:
    """Return a function for the client's address that trusts ``X-Forwarded-For`` of ``trusted`` proxies only.

    Each proxy appends the address that it saw, so the header is read from its end. The first address that is
    not a trusted proxy is the client. Entries before it, which the client can forge, are ignored. A malformed
    entry stops the reading at the proxy that sent it.
    """
    networks = tuple(trusted)
    if not networks:
        return peer_of
    is_trusted = trust_in(networks)

    def address_of(scope: Scope) -> str:
        address = peer_of(scope)
        for entry in reversed(_forwarded(scope)):
            if not (address and is_trusted(address)):
                break
            nearer = canonical_address(entry)
            if nearer is None:
                break
            address = nearer
        return address

    return address_of


def trust_in(networks: Iterable[Network]) -> Callable[[str], bool]:
    """Return whether an address, in canonical form, is in one of ``networks``."""
    trusted = tuple(networks)

    @lru_cache(_REMEMBERED)
    def is_trusted(address: str) -> bool:
        parsed = ip_address(address)
        return any(parsed in network for network in trusted)

    return is_trusted


def peer_of(scope: Scope) -> str:
    """Return the peer address of the connection in canonical form; "" for a unix socket."""
    return _peer(scope.get("client"))


@lru_cache(_REMEMBERED)
def _peer(client: tuple[str, int] | None) -> str:
    return "" if client is None else canonical_address(client[0]) or ""


def _forwarded(scope: Scope) -> list[str]:
    values = [value.decode("latin-1") for name, value in scope["headers"] if name == b"x-forwarded-for"]
    return [entry.strip() for value in values for entry in value.split(",")]


def names_address(header: bytes) -> bool:
    """Return whether the last entry of ``X-Forwarded-For``, that of the nearest proxy, is an address."""
    return canonical_address(header.decode("latin-1").rpartition(",")[2].strip()) is not None


def canonical_address(text: str) -> str | None:
    """Return an address in canonical form, without port and zone; None if ``text`` is malformed."""
    # Longer texts are not cached, so that clients can't fill the memory.
    return _parsed(text) if len(text) <= _LONGEST else None


@lru_cache(_REMEMBERED)  # parsing takes longer than the rest of a log entry
def _parsed(text: str) -> str | None:
    """``canonical_address``, cached.

    An IPv4-mapped IPv6 address becomes IPv4: otherwise all these clients would share one /64 network.
    """
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)
