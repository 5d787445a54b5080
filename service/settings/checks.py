"""Checks of single values: each returns half a sentence ("must be …"), or None if the value is valid."""

import re
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from service.settings.table import Check
from service.settings.values import Networks

_HIGHEST_PORT: Final = 65535
_HOST: Final = re.compile(
    r"(?:\[(?P<address>[0-9A-Fa-f:.]+)\]|(?P<name>[^\[\]:]*))(?::(?P<port>[0-9]{0,5}))?"
)
_SENTINEL: Final = re.compile(
    r"(?P<scheme>rediss?)\+sentinel://(?:(?P<user>[^@/?#]*)@)?(?P<hosts>[^@/?#]+)/(?P<group>[^/?#]+)"
    r"(?:\?(?P<query>[^#]*))?"
)
_SENTINEL_FORM: Final = "must be a URL such as redis+sentinel://host1:26379,host2:26379/name"
_CLUSTER: Final = re.compile(
    r"(?P<scheme>rediss?)\+cluster://(?:(?P<user>[^@/?#]*)@)?(?P<hosts>[^@/?#]+)/?(?:\?(?P<query>[^#]*))?"
)
_CLUSTER_FORM: Final = "must be a URL such as redis+cluster://host1:6379,host2:6379"


class Host(NamedTuple):
    """A host and its port; each may be missing in the URL."""

    name: str
    port: int | None


class SentinelUrl(NamedTuple):
    """The parts of ``redis+sentinel://user:password@host1:port1,host2/group?db=0``, or ``redis+cluster://host1,host2``.

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
        raise ValueError(_SENTINEL_FORM)
    query = dict(parse_qsl(read["query"] or ""))
    return SentinelUrl(read["scheme"], read["user"] or "", hosts_of(read["hosts"]), read["group"], query)


def cluster_url(url: str) -> SentinelUrl | None:
    """Return the parts of the URL of a cluster, without a group; None for others. Raises ValueError."""
    if not url.startswith(("redis+cluster:", "rediss+cluster:")):
        return None
    read = _CLUSTER.fullmatch(url)
    if read is None:
        raise ValueError(_CLUSTER_FORM)
    query = dict(parse_qsl(read["query"] or ""))
    return SentinelUrl(read["scheme"], read["user"] or "", hosts_of(read["hosts"]), "", query)


def _host(text: str) -> Host:
    read = _HOST.fullmatch(text)
    port = int(read["port"]) if read and read["port"] else None
    if read is None or (port is not None and not 0 < port <= _HIGHEST_PORT):
        raise ValueError("must have hosts such as db1.example.com:5432 or [::1]:5432")
    return Host(read["address"] or read["name"], port)


_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}")
_UNGUESSED = re.compile(r"[\x21-\x7e]{32,512}")
_HTTPS = re.compile(r"https://(?:\[[0-9a-f:.]{2,45}\]|[a-z0-9-]+(?:\.[a-z0-9-]+)*)(?::[1-9][0-9]{0,4})?")
_LOCAL = re.compile(r"http://localhost(?::[1-9][0-9]{0,4})?")
_POSTGRES = re.compile(r"(?:postgres|postgresql(?:\+psycopg)?)://(?:[^@/]*@)?(?P<hosts>[^@/?]*)(?:[/?].*)?")
_PREFIX = re.compile(r"[\x21-\x7e]{1,31} ?|")


def between(low: float, high: float) -> Check:
    """Accept numbers from ``low`` to ``high``, both included, and None where a setting has no number."""
    return lambda value: None if value is None or low <= value <= high else f"must be {low} to {high}"


def not_empty(value: str) -> str | None:
    """Accept any text that is not blank."""
    return None if value.strip() else "must not be empty"


def url(*schemes: str) -> Check:
    """Accept URLs of the given schemes, and an empty text."""

    def check(value: str) -> str | None:
        if not value:
            return None
        message = "must be a URL starting with " + " or ".join(f"{scheme}://" for scheme in schemes)
        try:
            parts = urlsplit(value)
            _ = parts.port
        except ValueError:
            return message
        return None if parts.scheme in schemes and "://" in value else message

    return check


def postgres_url(value: str) -> str | None:
    """Accept URLs of PostgreSQL with any number of hosts (PostgreSQL manual §32.1.1.2), and an empty text."""
    message = "must be a URL such as postgresql://user@host:5432/name, or with host1:5432,host2:5432"
    read = _POSTGRES.fullmatch(value)
    if read is None:
        return message if value else None
    try:
        hosts_of(read["hosts"])
    except ValueError:
        return message
    return None


def store_url(value: str) -> str | None:
    """Accept URLs of a session store, of a group that Sentinel watches or a cluster, and an empty text."""
    try:
        several = sentinel_url(value) or cluster_url(value)
    except ValueError:
        return _CLUSTER_FORM if "+cluster:" in value.partition("/")[0] else _SENTINEL_FORM
    return None if several else _one_store(value)


_one_store = url("redis", "rediss", "unix")
_public = url("https")
_OWN_HOST: Final = (
    "must be https:// and a host, such as https://access.example.com: the service needs a host of its own, "
    "and does not work below a path of another one"
)


def public_base(value: str) -> str | None:
    """Accept a host reached by https, with or without a port, an empty text, and ``localhost`` by http.

    Browsers trust that one as they trust https.
    """
    fits = not value or _LOCAL.fullmatch(value) or (_HTTPS.fullmatch(value) and not _public(value))
    return None if fits else _OWN_HOST


def hard_to_guess(value: str) -> str | None:
    """Accept visible ASCII of at least 32 characters, and an empty text."""
    fits = not value or _UNGUESSED.fullmatch(value)
    return None if fits else "must be at least 32 visible ASCII characters, without spaces"


def field_name(value: str) -> str | None:
    """Accept the name of a header field (RFC 9110 §5.1)."""
    return None if _TOKEN.fullmatch(value) else "must be a header field name of at most 64 characters"


def token_prefix(value: str) -> str | None:
    """Accept one word of printable ASCII, with or without a space at its end, and an empty text."""
    return None if _PREFIX.fullmatch(value) else "must be one word of printable ASCII, or empty"


def not_everyone(value: Networks) -> str | None:
    """Accept any networks but those that contain every address."""
    trusting = any(network.prefixlen == 0 for network in value)
    return "must not contain every address: each client could then choose its own" if trusting else None
