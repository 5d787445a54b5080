"""Refuses request heads that two programs could read in different ways."""

import re
from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv6Address
from typing import Final, NamedTuple

from service.errors import BadRequest, NotImplementedHere
from service.kernel.core_sentences import sentence

MAX_HEAD: Final = 65_536
"""The longest head of a request in bytes; also the limit for chunk framing and trailers together."""

Headers = Sequence[tuple[bytes, bytes]]
"""The headers of a request in their order, names in lower case."""

_FRAGMENT: Final = ord("#")  # CPython looks for a byte faster than for bytes
_PER_HEADER: Final = 4  # colon, space and line end, which the parser removes
# RFC 9112 §3.2 and RFC 3986 §3.2.2: a registered name or an address, and a port.
_HOST: Final = re.compile(rb"(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+(?::[0-9]{0,5})?")
_IPV6_HOST: Final = re.compile(rb"\[([0-9A-Fa-f:.]+)\](?::[0-9]{0,5})?")


class Head(NamedTuple):
    """The head of one request; ``names`` are the names of ``headers``. ``upgrade`` is set for CONNECT too."""

    method: bytes
    version: str
    target: bytes
    headers: Headers
    names: Sequence[bytes]
    upgrade: bool

    @property
    def has_body(self) -> bool:
        """True if the head announces a body (RFC 9112 §6.3)."""
        if b"transfer-encoding" in self.names:
            return True
        return b"content-length" in self.names and self.value(b"content-length").strip(b"0") != b""

    def value(self, name: bytes) -> bytes:
        """Return the value of the first header ``name``; ValueError if there is none."""
        return self.headers[self.names.index(name)][1]


def check_head(head: Head) -> None:
    """Raise a refusal unless ``head`` can be read in one way only.

    BadRequest, or NotImplementedHere for a transfer coding other than ``chunked``. After either the
    connection must be closed: it is not known where the next request begins.
    """
    if b"#" in head.target:
        raise BadRequest(sentence("target_with_fragment"))
    if head.method == b"CONNECT":
        raise BadRequest(sentence("connect_refused"))
    _check_host(head)
    if b"transfer-encoding" in head.names:
        _check_coding(head)
    # RFC 9110 §7.8: the upgrade may be ignored. But the parser would not read the body as one.
    if head.upgrade and head.has_body:
        raise BadRequest(sentence("upgrade_with_body"))


def is_plain(version: str, target: bytes, hosts: int, host: bytes) -> bool:
    """Return whether ``check_head`` passes a head with these facts, without further checks.

    For the usual head: no upgrade, no CONNECT, and no body or a body with one length. ``hosts`` is the number
    of its Host headers, ``host`` the value of the last Host header. After False, ``check_head`` decides.
    """
    return hosts == 1 and version == "1.1" and _FRAGMENT not in target and _is_host(host)


def head_size(target: bytes, headers: Headers) -> int:
    """Return the size of a head in bytes, without the method and the version."""
    return len(target) + sum([len(name) + len(value) + _PER_HEADER for name, value in headers])


def _check_host(head: Head) -> None:
    """Raise BadRequest for a missing, repeated or invalid Host (RFC 9112 §3.2), and for an empty one."""
    number = head.names.count(b"host")
    if number > 1:
        raise BadRequest(sentence("hosts_twice"))
    if number == 1:
        if not _is_host(head.value(b"host")):
            raise BadRequest(sentence("host_malformed"))
    elif head.version != "1.0":
        raise BadRequest(sentence("host_missing"))


@lru_cache(256)
def _is_host(value: bytes) -> bool:
    if _HOST.fullmatch(value):
        return True
    address = _IPV6_HOST.fullmatch(value)
    if address is None:
        return False
    try:
        IPv6Address(address[1].decode())
    except ValueError:
        return False
    return True


def _check_coding(head: Head) -> None:
    """Raise a refusal unless the body is chunked, and no other header contradicts that (RFC 9112 §6.1)."""
    if head.version != "1.1":
        raise BadRequest(sentence("transfer_encoding_in_http_1_0"))
    if b"content-length" in head.names:
        raise BadRequest(sentence("length_and_transfer_encoding"))
    if head.names.count(b"transfer-encoding") > 1:
        raise BadRequest(sentence("transfer_encodings"))
    if head.value(b"transfer-encoding").lower() != b"chunked":
        raise NotImplementedHere(sentence("transfer_encoding_unknown"))
