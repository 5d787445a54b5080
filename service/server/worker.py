"""The main function of a worker process."""

from __future__ import annotations

import socket
import threading
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event
from time import sleep

import uvicorn

from service.app import create_app
from service.authz.publishing.shipped import configured
from service.server.http import HttpProtocol
from service.server.parent import end_with_parent
from service.server.shares import Share
from service.server.stop_times import DRAIN
from service.server.worker_server import WorkerServer
from service.settings import Settings
from service.web.observability.board import Slot
from service.web.observability.log_format import configure_logging

BEAT = 1.0
"""Seconds between two heartbeats of a worker."""


def run(
    listener: socket.socket,
    launcher: Connection,
    service_stops: Event,
    settings: Settings,
    slot: Slot | None,
    *,
    share: Share,
) -> None:
    """Serve ``listener`` until a signal; ``slot`` is the place of this worker in its node, if it has one.

    ``share`` is how many of the connections it has.

    ``service_stops`` is set before all workers get the signal. Writes a heartbeat to ``launcher`` once a
    second. Exits with status 3 if the application does not start.
    """
    end_with_parent()
    configure_logging(settings.log.format, settings.log.level)
    threading.Thread(target=_beat, args=(launcher,), daemon=True).start()
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
    WorkerServer(config, listener, settings, app.stop, service_stops.is_set, share=share).run()


def _beat(launcher: Connection) -> None:
    while True:
        try:
            launcher.send_bytes(b".")
        except OSError:  # the launcher has ended, and this process will too
            return
        sleep(BEAT)
