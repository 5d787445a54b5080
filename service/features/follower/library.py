"""Decisions beside a service: a follower, as a library and as the process ``portcullis pdp``.

The protocol and its guarantees are in docs/explanation/decisions-beside-services.md.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import httpx

from service.features.follower.following import Follower
from service.features.follower.point import AtLeast, DecisionPoint
from service.features.follower.settings import PdpSettings

__all__ = ["AtLeast", "DecisionPoint", "PdpSettings", "decision_point", "point_of"]


@asynccontextmanager
async def decision_point(
    settings: PdpSettings, *, first: float = 30.0, transport: httpx.AsyncBaseTransport | None = None
) -> AsyncIterator[DecisionPoint]:
    """Yield a decision point that follows the hub of ``settings`` until the block ends.

    Waits at most ``first`` seconds for the first lease, and then continues without one: the point denies
    until it has a lease. ``transport`` replaces that of httpx. Raises PdpSettingsError for invalid settings,
    and for a hub that signs tokens with a shared key. Later failures are logged and retried.
    """
    point = point_of(settings)
    async with Follower(settings, point, transport) as follower:
        follower.restore()
        with suppress(TimeoutError):
            async with asyncio.timeout(first):
                await follower.first()
        running = asyncio.create_task(follower.run(strict=False))
        try:
            yield point
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running
            follower.keep_now()


def point_of(settings: PdpSettings) -> DecisionPoint:
    """Return a decision point for the settings, without data."""
    return DecisionPoint(settings.services, bound=settings.bound, last_known=settings.stale == "last-known")
