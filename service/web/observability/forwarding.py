"""Whether requests arrive through the proxies that the settings name, with the header that they must send."""

from collections.abc import Callable, Iterable
from ipaddress import ip_address
from time import monotonic
from typing import Final

from service.kernel.metrics import Health
from service.web.messages.address import Network, canonical_address, peer_of, trust_in
from service.web.messages.context import RequestContext

_WINDOW: Final = 60.0  # seconds
_WATCHED: Final = ("/api/", "/oauth/")  # no probes, and nothing that proxies and services ask for themselves
_OF_PROXIES: Final = (b"forwarded", b"via", b"x-forwarded-host", b"x-forwarded-proto", b"x-real-ip")


class _Seen:
    """The requests since ``since``, and those of them that are of each kind."""

    __slots__ = ("all", "kinds", "since")

    def __init__(self, since: float) -> None:
        self.since = since
        self.all = 0
        self.kinds = {"unnamed": 0, "silent": 0}


class ForwardingWatch:
    """Counts requests of known callers whose ``X-Forwarded-For`` does not fit ``server.trusted_proxies``.

    ``unnamed``: the header comes from an address that the setting does not name, and is ignored: all clients
    behind that proxy count as one. ``silent``: a proxy that the setting names sends none. A call that a
    program of the node itself makes, to an address of the node, came through no proxy and is neither.
    """

    def __init__(self, trusted: Iterable[Network], clock: Callable[[], float] = monotonic) -> None:
        self._is_trusted = trust_in(trusted)
        self._clock = clock
        self._now = self._before = _Seen(clock())
        self._last_peer = ""
        self.counts: Final = {"unnamed": 0, "silent": 0}
        """The requests of each kind since the start."""

    def note(self, context: RequestContext) -> None:
        """Take a finished request; only those of callers who are known count.

        Anybody can send the header, and as many requests as are served: nobody without an account may make
        the part ``proxy`` look degraded, and raise an alert.
        """
        if context.caller is None or not context.scope["path"].startswith(_WATCHED):
            return
        seen = self._current()
        seen.all += 1
        peer = peer_of(context.scope)
        if not peer:
            return  # a socket in the file system
        trusted = self._is_trusted(peer)
        if trusted == (context.request.raw_header(b"x-forwarded-for") is not None):
            return
        if trusted and _is_call_of_the_node(context, peer):
            return
        kind = "silent" if trusted else "unnamed"
        seen.kinds[kind] += 1
        self.counts[kind] += 1
        self._last_peer = peer

    async def health(self) -> Health:
        """Return ``degraded`` while one kind is at least half of the requests of the last one to two minutes.

        One client that sends the header by itself changes nothing where others are served. The details are
        the kind, and the address that the last such request came from.
        """
        now, before = self._current(), self._before
        both = now.all + (0 if before is now else before.all)
        for kind in self.counts:
            count = now.kinds[kind] + (0 if before is now else before.kinds[kind])
            if count and 2 * count >= both:
                return Health("degraded", {"kind": kind, "peer": self._last_peer, "requests": count})
        return Health("up")

    def _current(self) -> _Seen:
        now = self._clock()
        if now - self._now.since >= _WINDOW:
            recent = now - self._now.since < 2 * _WINDOW
            self._before, self._now = self._now if recent else _Seen(now), _Seen(now)
        return self._now


def _is_call_of_the_node(context: RequestContext, peer: str) -> bool:
    """True if the request comes from the node itself, and nothing in it is of a proxy on the node.

    Such a proxy hands on the host that its client asked for, adds other headers, or speaks HTTP/1.0, as nginx
    does unless it is told otherwise.
    """
    server = canonical_address((context.scope.get("server") or ("",))[0])
    if not (peer == server or ip_address(peer).is_loopback):
        return False
    if context.scope.get("http_version") == "1.0":
        return False
    header = context.request.raw_header
    if any(header(name) is not None for name in _OF_PROXIES):
        return False
    host = (header(b"host") or b"").decode("latin-1")
    return host.partition(":")[0].lower() == "localhost" or canonical_address(host) in {server, peer}
