"""What all connections of one worker share."""

from __future__ import annotations

from uvicorn.server import ServerState

from service.launch.http.deadlines import Limits


class WorkerState(ServerState):
    """uvicorn's state, the deadlines, and whether the worker stops: answers then close connections."""

    def __init__(self, limits: Limits) -> None:
        super().__init__()
        self.limits = limits
        self.stopping = False
