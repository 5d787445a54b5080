"""URLs with several hosts, as of PostgreSQL and of Sentinel.

RFC 3986 §3.2 knows one host only, and ``urllib`` refuses some lists of them or reads them wrongly.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple
from urllib.parse import parse_qsl

_HIGHEST_PORT: Final = 65535
_HOST: Final = re.compile(
    r"(?:\[(?P<address>[0-9A-Fa-f:.]+)\]|(?P<name>[^\[\]:]*))(?::(?P<port>[0-9]{0,5}))?"
)
_SENTINEL: Final = re.compile(
    r"(?P<scheme>rediss?)\+sentinel://(?:(?P<user>[^@/?#]*)@)?(?P<hosts>[^@/?#]+)/(?P<group>[^/?#]+)"
    r"(?:\?(?P<query>[^#]*))?"
)


class Host(NamedTuple):
    """A host and its port; each may be missing in the URL."""

    name: str
    port: int | None


class SentinelUrl(NamedTuple):
    """The parts of ``redis+sentinel://user:password@host1:port1,host2/group?db=0``.

    ``scheme`` is ``redis``, or ``rediss`` with TLS; ``user`` is user and password as they stand in the URL.
    """

    scheme: str
    user: str
    hosts: tuple[Host, ...]
    group: str
    query: dict[str, str]


def hosts_of(text: str) -> tuple[Host, ...]:
    """Return the hosts of a list such as ``host1:5432,[::1]:5432``; ValueError if one is of no such form."""
    return tuple(map(_host, text.split(",")))


def sentinel_url(url: str) -> SentinelUrl | None:
    """Return the parts of the URL of a store behind Sentinel; None for any other URL. Raises ValueError."""
    if not url.startswith(("redis+sentinel:", "rediss+sentinel:")):
        return None
    read = _SENTINEL.fullmatch(url)
    if read is None:
        raise ValueError("must be a URL such as redis+sentinel://host1:26379,host2:26379/name")
    query = dict(parse_qsl(read["query"] or ""))
    return SentinelUrl(read["scheme"], read["user"] or "", hosts_of(read["hosts"]), read["group"], query)


def _host(text: str) -> Host:
    read = _HOST.fullmatch(text)
    port = int(read["port"]) if read and read["port"] else None
    if read is None or (port is not None and not 0 < port <= _HIGHEST_PORT):
        raise ValueError("must have hosts such as db1.example.com:5432 or [::1]:5432")
    return Host(read["address"] or read["name"], port)
