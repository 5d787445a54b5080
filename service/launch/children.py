"""Entry points of child processes; each imports its code here, so that the launcher stays small."""

from __future__ import annotations

import socket
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event

from service.settings import Settings


def work(listener: socket.socket, launcher: Connection, service_stops: Event) -> None:
    """Run a worker: see ``service.launch.worker.run``."""
    from service.launch.worker import run

    run(listener, launcher, service_stops)


def prepare(launcher: Connection, settings: Settings) -> None:
    """Check and prepare a start: see ``service.launch.prepare.run``."""
    from service.launch.prepare import run

    run(launcher, settings)
