"""An incoming request body, which may turn out to be unreadable."""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from service.errors import Refusal


class IncomingBody:
    """Stands between the application and uvicorn's ``receive`` of one request that has a body."""

    def __init__(self, cycle: RequestResponseCycle) -> None:
        """Replace ``cycle.receive``; the application must not have started yet."""
        self._cycle = cycle
        self._receive = cycle.receive
        self._fault: Refusal | None = None
        cycle.receive = self.receive  # type: ignore[method-assign]

    async def receive(self) -> Any:
        """Return the next ASGI event; raises the refusal if the body was aborted."""
        if self._fault is None:
            event = await self._receive()
            if self._fault is None:
                return event
        if self._cycle.response_started:
            return {"type": "http.disconnect"}
        raise self._fault

    def break_off(self, fault: Refusal) -> None:
        """Abort the body: the application gets ``fault``, and the connection closes after its answer."""
        self._fault = fault
        self._cycle.keep_alive = False
        self._cycle.message_event.set()
