"""The main function of a worker process."""

from __future__ import annotations

import socket
from functools import partial
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Final

import structlog
import uvicorn
from uvicorn.lifespan.on import LifespanOn

from service.app import create_app
from service.authz.publishing.shipped import configured
from service.kernel.operator_error import OperatorError
from service.server.hardening import end_with_parent
from service.server.http import HttpProtocol
from service.server.shares import Share
from service.server.stop_order import DRAIN, Signs, StopOrder
from service.server.worker_server import WorkerServer
from service.settings import Settings
from service.web.observability.log_format import configure_logging
from service.web.observability.shared_metrics import Slot

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

    ``share`` is how many of the connections it has, ``order`` what the launcher says to all workers. Tells
    ``launcher`` that it lives, that it serves, and why it fails. SystemExit if it can't start.
    """
    end_with_parent()
    configure_logging(settings.log.format, settings.log.level)
    signs = Signs(launcher)
    signs.beat()
    try:
        _serve(listener, settings, slot, signs, order=order, share=share)
    except Exception as error:  # noqa: BLE001 - whatever it is, the launcher is told
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
    app = create_app(settings, configured(settings.policy), slot)
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
    """Uvicorn's, which also tells the launcher why the application does not start."""

    def __init__(self, signs: Signs, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._signs = signs

    async def send(self, message: LifespanSendMessage) -> None:
        """Take what the application says of its start and end."""
        if message["type"] == _FAILED:  # a traceback, whose last line is the error
            self._signs.fails(message.get("message", "").strip().rpartition("\n")[2])
        await super().send(message)
