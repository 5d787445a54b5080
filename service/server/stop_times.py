"""How long a stop may take, in seconds."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from service.settings import Settings

GRACE: Final = 5.0
"""For load balancers to notice, if `server.stop_grace` is not set."""
DRAIN: Final = 10
"""For requests in flight, after the listener is closed."""
STOP_MARGIN: Final = 10
"""For a worker to disconnect from its stores, after its grace and its drain."""


def with_stop_grace(settings: Settings) -> Settings:
    """Return ``settings`` with `server.stop_grace` filled in; 0 with embedded stores."""
    if settings.server.stop_grace is not None:
        return settings
    grace = GRACE if settings.external else 0.0
    return replace(settings, server=replace(settings.server, stop_grace=grace))


def longest_stop(settings: Settings) -> float:
    """Return how long a worker may take to stop."""
    return (settings.server.stop_grace or 0.0) + DRAIN + STOP_MARGIN
