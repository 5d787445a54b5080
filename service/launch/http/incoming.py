"""The body of a request on its way in, which may turn out to be unreadable."""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from service.errors import Refusal


class IncomingBody:
    """Stands between the application and uvicorn's ``receive`` of one request that has a body."""

    def __init__(self, cycle: RequestResponseCycle) -> None:
        """Take the place of ``cycle.receive``; the application must not run yet."""
        self._cycle = cycle
        self._receive = cycle.receive
        self._fault: Refusal | None = None
        cycle.receive = self.receive  # type: ignore[method-assign]

    async def receive(self) -> Any:
        """Return the next ASGI event; raises the refusal when the body has been broken off."""
        if self._fault is None:
            event = await self._receive()
            if self._fault is None:
                return event
        if self._cycle.response_started:
            return {"type": "http.disconnect"}
        raise self._fault

    def break_off(self, fault: Refusal) -> None:
        """Have the application learn that the body has no end, and close the connection after its answer."""
        self._fault = fault
        self._cycle.keep_alive = False
        self._cycle.message_event.set()
