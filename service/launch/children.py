"""Child processes of the launcher: forked from a template that has imported the service once.

The launcher stays small, and a child starts without the second of processor time that the imports take. The
template is the fork server of ``multiprocessing``: it starts with the first child, and ends when the launcher
and all children have ended.
"""

from __future__ import annotations

import multiprocessing
import signal
import socket
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event
from typing import Final

from service.settings import Settings

processes: Final = multiprocessing.get_context("forkserver")
"""Makes the processes, pipes and events of the launcher."""
processes.set_forkserver_preload(["service.launch.template"])


def work(listener: socket.socket, launcher: Connection, service_stops: Event, settings: Settings) -> None:
    """Run a worker: see ``service.launch.worker.run``. Returns at once if the service stops already."""
    _obey_signals()
    if service_stops.is_set():
        return
    from service.launch.worker import run

    run(listener, launcher, service_stops, settings)


def prepare(launcher: Connection, settings: Settings) -> None:
    """Check and prepare a start: see ``service.launch.prepare.run``."""
    _obey_signals()
    from service.launch.prepare import run

    run(launcher, settings)


def _obey_signals() -> None:
    """Undo what the template does: it ignores the signals that end the service."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
