"""State that all connections of one worker share."""

from __future__ import annotations

from uvicorn.server import ServerState

from service.launch.http.deadlines import Limits


class WorkerState(ServerState):
    """uvicorn's state, the limits, and ``stopping``: while it is set, answers close their connections."""

    def __init__(self, limits: Limits) -> None:
        super().__init__()
        self.limits = limits
        self.stopping = False
