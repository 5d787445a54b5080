"""Availability of the parts of the service: checked for readiness, metrics and details."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from ipaddress import ip_address
from time import monotonic
from types import MappingProxyType
from typing import Any, Final, Literal

import structlog

from service.kernel.coded_sentences import Sentence
from service.kernel.metrics import Health, Sample, State
from service.web.messages.address import Network, canonical_address, names_address, peer_of, trust_in
from service.web.messages.context import RequestContext

Check = Callable[[], Awaitable[Health]]
"""Checks one part; raises if it is down."""

ReadinessState = Literal["ready", "degraded"]

EVERY: Final = 1.0
"""Seconds for which the result of a check is reused."""
WITHIN: Final = 1.0
"""Seconds that a check may take; after that its part counts as down."""
UNASKED: Final = 15.0
"""Seconds without a readiness request after which a worker checks its parts itself, for the metrics."""

_WORKS: Final = ("up", "degraded")
_log = structlog.get_logger()


class ReadinessChecks:
    """Checks the parts of the service for one worker, and decides if it is ready.

    It is ready while every vital part can be read and written, until ``withdraw`` is called. Each part is
    checked at most once in ``every`` seconds (``EVERY``), for any number of requests.
    """

    def __init__(
        self,
        checks: Mapping[str, Check],
        vital: Collection[str],
        *,
        within: float = WITHIN,
        every: float | None = None,
    ) -> None:
        self._looks = {
            name: _Look(name, check, within, EVERY if every is None else every)
            for name, check in checks.items()
        }
        self._vital = frozenset(vital)
        self.withdrawn: Sentence | None = None
        """Reason why the worker was withdrawn; None if it was not."""

    def withdraw(self, reason: Sentence) -> None:
        """Make the worker unready from now on; ``reason`` is a sentence that is safe to publish."""
        self.withdrawn = reason

    async def look(self) -> dict[str, Health]:
        """Return the health of each part; raises nothing."""
        healths = await asyncio.gather(*(look.health() for look in self._looks.values()))
        return dict(zip(self._looks, healths, strict=True))

    async def run(self, slow: Mapping[str, float] = MappingProxyType({})) -> None:
        """Check parts again that were not checked for ``UNASKED`` seconds, until cancelled.

        ``slow`` gives longer periods in seconds for parts with expensive checks.
        """
        while True:
            await asyncio.sleep(UNASKED / 3)
            for name, look in self._looks.items():
                if look.age >= slow.get(name, UNASKED):
                    await look.health()

    async def finish(self) -> None:
        """End the checks that still run, which use the stores."""
        for look in self._looks.values():
            await look.finish()

    def samples(self) -> Iterator[Sample]:
        """Yield whether each part was up when it was last checked."""
        for name, look in self._looks.items():
            up = look.latest is not None and look.latest.state == "up"
            yield Sample("portcullis_part_up", int(up), {"part": name})

    def troubles(self) -> dict[str, dict[str, Any]]:
        """Return state and details of each part that was not up when it was last checked."""
        latest = {name: look.latest for name, look in self._looks.items()}
        return {
            name: {"state": health.state, **health.details}
            for name, health in latest.items()
            if health is not None and health.state != "up"
        }

    def missing(self, healths: Mapping[str, Health]) -> list[str]:
        """Return the vital parts that are not usable."""
        return [name for name in sorted(self._vital) if healths[name].state not in _WORKS]


class _Look:
    """The latest result of a check, shared by concurrent requests."""

    def __init__(self, name: str, check: Check, within: float, every: float) -> None:
        self._name = name
        self._check = check
        self._within = within
        self._every = every
        self._began = -math.inf
        self._task: asyncio.Task[Health] | None = None
        self._reported: State = "up"
        self.latest: Health | None = None
        """The result of the last check; None before the first."""

    @property
    def age(self) -> float:
        """Seconds since the last check began."""
        return monotonic() - self._began

    async def health(self) -> Health:
        """Return the latest result, or run the check; a cancelled request does not cancel it for others."""
        task = self._task
        if task is None or (task.done() and self.age >= self._every):
            self._began = monotonic()
            task = self._task = asyncio.create_task(self._look())
        return task.result() if task.done() else await asyncio.shield(task)

    async def finish(self) -> None:
        """Cancel the check that runs now, if one does, and wait for its end."""
        if self._task is not None and self._task.cancel():
            await asyncio.wait([self._task])

    async def _look(self) -> Health:
        reason = None
        try:
            async with asyncio.timeout(self._within):
                health = await self._check()
        except Exception as error:  # noqa: BLE001 - whatever stops a check, its part is not usable
            health, reason = Health("down"), type(error).__name__
        if health.state != self._reported:
            if health.state == "up":
                _log.info("part is up again", part=self._name)
            else:
                _log.warning("part is not up", part=self._name, state=health.state, reason=reason)
            self._reported = health.state
        self.latest = health
        return health


_CLIENTS: Final = 4096  # connections whose address is remembered
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
    behind that proxy count as one. ``silent``: a proxy that the setting names sends no address: no header,
    ``unknown``, or only ``Forwarded`` (RFC 7239), which is not read. A call from a program of the node to an
    address of the node came through no proxy, and counts as neither.
    """

    def __init__(self, trusted: Iterable[Network], clock: Callable[[], float] = monotonic) -> None:
        is_trusted = trust_in(trusted)

        @lru_cache(_CLIENTS)
        def nearest(client: tuple[str, int] | None) -> tuple[str, bool]:
            peer = peer_of({"client": client})
            return peer, bool(peer) and is_trusted(peer)

        self._nearest = nearest
        self._clock = clock
        self._now = self._before = _Seen(clock())
        self._last_peer = ""
        self.counts: Final = {"unnamed": 0, "silent": 0}
        """The requests of each kind since the start."""

    def note(self, context: RequestContext) -> None:
        """Count a finished request of a known caller.

        Any client can send the header. Clients without an account must not make the part ``proxy`` look
        degraded, and raise an alert.
        """
        if context.caller is None or not context.scope["path"].startswith(_WATCHED):
            return
        seen = self._now if self._clock() - self._now.since < _WINDOW else self._current()
        seen.all += 1
        peer, trusted = self._nearest(context.scope.get("client"))
        if not peer:
            return  # a socket in the file system
        sent = context.request.sent_headers.get(b"x-forwarded-for")
        fits = not trusted if sent is None else trusted and names_address(sent)
        if fits:
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
    """Return whether the request comes from the node itself, without signs of a proxy on the node.

    A proxy on the node forwards the host that its client asked for, adds other headers, or speaks HTTP/1.0,
    the default of nginx.
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
