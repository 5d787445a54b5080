"""Whether the service is alive, and whether it can do its work."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, Literal

import structlog

from service.errors import Unavailable
from service.web.call import Call
from service.web.marks import refuses
from service.web.wire import Wire

Check = Callable[[], Awaitable[str | None]]
"""Looks at one part. Returns nothing, or a word on its state that strangers may read; raises when down."""

UP: Final = "up"
DOWN: Final = "down"

_log = structlog.get_logger()


class Liveness(Wire):
    """The process runs."""

    status: Literal["live"] = "live"


class Readiness(Wire):
    """All parts are up; ``parts`` has a word on each."""

    parts: dict[str, str]
    status: Literal["ready"] = "ready"


class Live:
    """GET /health/live."""

    async def on_get(self, _call: Call) -> Liveness:
        """Tell that the process runs.

        Nothing else is looked at: a restart mends no store.
        """
        return Liveness()


class Ready:
    """GET /health/ready."""

    def __init__(self, checks: Mapping[str, Check], *, within: float = 1.0) -> None:
        """Take one check for each part by its name; a check has ``within`` seconds, then its part is down."""
        self._checks = dict(checks)
        self._within = within

    @refuses(Unavailable)
    async def on_get(self, _call: Call) -> Readiness:
        """Tell whether every part that the service needs is up.

        503 names the state of each part when one is down.
        """
        states = await asyncio.gather(*(self._state(name) for name in self._checks))
        parts = dict(zip(self._checks, states, strict=True))
        if DOWN in states:
            refusal = Unavailable("Not every part is up")
            refusal.extra["parts"] = parts
            raise refusal
        return Readiness(parts=parts)

    async def _state(self, name: str) -> str:
        try:
            async with asyncio.timeout(self._within):
                return await self._checks[name]() or UP
        except Exception as error:  # noqa: BLE001 - whatever stops a check, its part is not usable
            _log.warning("part is down", part=name, reason=type(error).__name__)
            return DOWN
