"""The main function of a worker process."""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from types import FrameType
from typing import TYPE_CHECKING, Final, cast

import structlog
import uvicorn
from uvicorn.lifespan.on import LifespanOn

from service.app import create_app
from service.authz.publishing.shipped import configured
from service.kernel.operator_error import OperatorError
from service.kernel.worker_slot import Slot
from service.server.acceptor import Acceptor
from service.server.hardening import end_with_parent, use_huge_pages
from service.server.http import HttpProtocol, Limits, WorkerState
from service.server.prebuilt import application_of
from service.server.shares import Share, most_connections
from service.server.stop_order import DRAIN, Obedience, Signs, StopOrder
from service.settings import Settings
from service.web.observability.log_format import configure_logging

_LOOK = 10  # ticks of a tenth of a second each, as uvicorn counts them
_TICK = 0.1  # seconds

YOUNG: Final = 5_000
"""Objects that a worker makes beyond those it frees before the collector looks at them; Python's own are 700.

Requests leave no cycles, and the objects of some dozen requests under way are no garbage.
"""

TURN: Final = 0.0005
"""Seconds for which a thread computes before others may go on; Python's own are ten times as many.

While one builds a policy or answers a question about all of it, a request waits for several turns.
"""


class WorkerServer(uvicorn.Server):
    """Serves ``listener``, which it closes.

    At SIGTERM the grace begins: requests are still served, and each connection closes after its answer. Then
    the listener is closed, and requests in flight have ``DRAIN`` seconds. SIGINT skips the grace, and a
    second one the drain; so does the order of the launcher.
    """

    server_state: WorkerState

    def __init__(
        self,
        config: uvicorn.Config,
        listener: socket.socket,
        settings: Settings,
        announce_stop: Callable[[], None],
        announce_start: Callable[[], None] = lambda: None,
        *,
        order: StopOrder,
        share: Share,
    ) -> None:
        """``share`` is the one of this worker, and ``order`` that of the launcher to all workers.

        ``announce_stop`` is called once, when the stop begins, ``announce_start`` when it begins to accept.
        """
        self._obedience = Obedience(order)
        super().__init__(config)
        self.server_state = WorkerState(_limits(settings), share.tell)
        most = most_connections(settings)
        self._acceptor = Acceptor(listener, self._protocol, self._connections, most, share)
        self._grace = settings.server.stop_grace or 0.0
        self._grace_ends: float | None = None
        self._announce_stop = announce_stop
        self._announce_start = announce_start
        self._must_look = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to stop; called at SIGTERM and SIGINT."""
        self._obedience.hear(sig)
        super().handle_exit(signal.SIGTERM, frame)  # with SIGINT, uvicorn would skip the drain at once
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._must_look.set)

    @property
    def force_exit(self) -> bool:
        """True if requests in flight are aborted; uvicorn asks ten times a second."""
        return self._obedience.skips_drain

    @force_exit.setter
    def force_exit(self, _value: bool) -> None:
        """Do nothing: signals and orders say it."""

    async def main_loop(self) -> None:
        """Check the state once a second and at a signal; ten times a second while stopping.

        uvicorn's own loop always wakes ten times a second.
        """
        self._loop = asyncio.get_running_loop()
        counter = 0
        while not await self.on_tick(counter):
            stops = self._grace_ends is not None
            with suppress(TimeoutError):
                async with asyncio.timeout(_TICK if stops else _LOOK * _TICK):
                    await self._must_look.wait()
            self._must_look.clear()
            counter += 1 if stops else _LOOK

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the application, then accept."""
        await super().startup(sockets or [])
        use_huge_pages(enabled=True)  # what lives for ever has its memory now: see the template
        self._acceptor.start()
        self._announce_start()

    async def on_tick(self, counter: int) -> bool:
        """Enforce deadlines, at each tenth tick; True once the grace of a stop has ended."""
        must_stop = await super().on_tick(counter)
        now = asyncio.get_running_loop().time()
        if counter % _LOOK == 0:
            for connection in self._connections():
                connection.enforce_deadlines(now)
            self._acceptor.tidy()
        if not must_stop:
            return False
        if self._grace_ends is None:
            self._begin_stop(now)
        return self._obedience.skips_grace or now >= cast(float, self._grace_ends)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting, and return when the requests in flight are answered."""
        self._begin_stop(0.0)
        await self._acceptor.close(others_accept=not self._obedience.order.is_given)
        await super().shutdown(sockets)

    def _begin_stop(self, now: float) -> None:
        self._grace_ends = now + self._grace
        if self.server_state.stopping:
            return
        _log.info("stopping", grace=self._grace, connections=len(self.server_state.connections))
        self.server_state.stopping = True
        self._announce_stop()
        for connection in self._connections():
            connection.begin_stop()

    def _connections(self) -> list[HttpProtocol]:
        return cast(list[HttpProtocol], list(self.server_state.connections))

    def _protocol(self) -> HttpProtocol:
        return HttpProtocol(self.config, self.server_state, self.lifespan.state)


def _limits(settings: Settings) -> Limits:
    server = settings.server
    return Limits(
        server.head_timeout, server.body_timeout, server.write_timeout, server.keep_alive, server.min_rate
    )


if TYPE_CHECKING:
    from uvicorn.lifespan.on import LifespanSendMessage

_FAILED: Final = "lifespan.startup.failed"  # ASGI lifespan specification
_log = structlog.get_logger()


def run(
    listener: socket.socket,
    launcher: Connection,
    settings: Settings,
    slot: Slot | None,
    *,
    order: StopOrder,
    share: Share,
) -> None:
    """Serve ``listener`` until a signal; ``slot`` is the place of this worker in its node, if it has one.

    ``share`` is its share of the connections, ``order`` the launcher's order to all workers. Reports
    heartbeats, readiness and failures to ``launcher``. SystemExit if it can't start.
    """
    end_with_parent()
    sys.setswitchinterval(TURN)
    gc.set_threshold(YOUNG)
    configure_logging(settings.log.format, settings.log.level)
    signs = Signs(launcher)
    signs.beat()
    try:
        _serve(listener, settings, slot, signs, order=order, share=share)
    except Exception as error:  # noqa: BLE001 - any error is reported to the launcher
        words = str(error) if isinstance(error, OperatorError) else f"{type(error).__name__}: {error}"
        signs.fails(words)
        _log.critical("a worker fails", exc_info=not isinstance(error, OperatorError), reason=words)
        raise SystemExit(1) from None


def _serve(
    listener: socket.socket,
    settings: Settings,
    slot: Slot | None,
    signs: Signs,
    *,
    order: StopOrder,
    share: Share,
) -> None:
    app = application_of(settings, slot)
    if app is None:
        app = create_app(settings, configured(settings), slot)
    config = uvicorn.Config(
        app,
        loop="uvloop",
        http=HttpProtocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=DRAIN,
    )
    config.load()
    config.lifespan_class = partial(_Lifespan, signs)
    WorkerServer(config, listener, settings, app.stop, signs.serves, order=order, share=share).run()


class _Lifespan(LifespanOn):
    """Uvicorn's lifespan, which also reports a failed start of the application to the launcher."""

    def __init__(self, signs: Signs, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._signs = signs

    async def send(self, message: LifespanSendMessage) -> None:
        """Receive the application's messages about its start and end."""
        if message["type"] == _FAILED:  # a traceback, whose last line is the error
            self._signs.fails(message.get("message", "").strip().rpartition("\n")[2])
        await super().send(message)
