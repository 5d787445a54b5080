"""Which parts of the service can be used: checked for readiness, metrics and details."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from time import monotonic
from types import MappingProxyType
from typing import Any, Final

import structlog

from service.kernel.metrics import Health, Sample, State

Check = Callable[[], Awaitable[Health]]
"""Checks one part; raises if it is down."""

EVERY: Final = 1.0
"""Seconds for which the result of a check is reused."""
WITHIN: Final = 1.0
"""Seconds that a check may take; after that its part counts as down."""
UNASKED: Final = 15.0
"""Seconds after which a worker checks its parts by itself, for the metrics, if nobody asked for readiness."""

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
        self.withdrawn: str | None = None
        """Why the worker was withdrawn; None if it was not."""

    def withdraw(self, reason: str) -> None:
        """Make the worker unready from now on; ``reason`` is a sentence that is safe to publish."""
        self.withdrawn = reason

    async def look(self) -> dict[str, Health]:
        """Return the health of each part; raises nothing."""
        healths = await asyncio.gather(*(look.health() for look in self._looks.values()))
        return dict(zip(self._looks, healths, strict=True))

    async def run(self, slow: Mapping[str, float] = MappingProxyType({})) -> None:
        """Check parts again that nobody has asked for in ``UNASKED`` seconds, until cancelled.

        ``slow`` gives other seconds for those parts whose checks cost something.
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
        self._told: State = "up"
        self.latest: Health | None = None
        """What the last check has found; None before the first."""

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
        if health.state != self._told:
            if health.state == "up":
                _log.info("part is up again", part=self._name)
            else:
                _log.warning("part is not up", part=self._name, state=health.state, reason=reason)
            self._told = health.state
        self.latest = health
        return health
