"""How the connections to the database are used, and how long its calls take."""

from __future__ import annotations

from typing import NamedTuple

from service.kernel.metrics import Durations


class PoolState(NamedTuple):
    """Connections that work, that are open and idle, and the most there may be; calls that wait for one."""

    in_use: int
    idle: int
    size: int
    waiting: int


class Usage(NamedTuple):
    """The state of a pool, and the seconds that calls over it have taken, with the wait for a connection."""

    pool: PoolState
    calls: Durations
