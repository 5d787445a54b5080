"""State that all connections of one worker share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from uvicorn.server import ServerState

from service.server.http.deadlines import Limits


class _Counted(set[Any]):
    """The connections of a worker; ``tell`` hears how many there are after each change."""

    def __init__(self, tell: Callable[[int], None]) -> None:
        super().__init__()
        self._tell = tell

    def add(self, element: Any) -> None:
        super().add(element)
        self._tell(len(self))

    def discard(self, element: Any) -> None:
        super().discard(element)
        self._tell(len(self))


class WorkerState(ServerState):
    """uvicorn's state, the limits, and ``stopping``: while it is set, answers close their connections.

    ``tell`` hears how many connections there are whenever one has come or gone.
    """

    def __init__(self, limits: Limits, tell: Callable[[int], None]) -> None:
        super().__init__()
        self.connections = _Counted(tell)
        self.limits = limits
        self.stopping = False
