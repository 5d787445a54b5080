"""The worker processes: started, replaced when they die or hang, stopped together."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from ctypes import c_uint32
from multiprocessing.connection import Connection, wait
from multiprocessing.synchronize import Event
from time import monotonic, sleep
from types import FrameType
from typing import Final

import structlog

from service.server.children import processes, work
from service.server.shares import CLOSED, Share
from service.settings import Settings
from service.web.observability.board import Board, Slot

HANGS_AFTER: Final = 15.0
"""Seconds without a heartbeat after which a worker counts as hung and is killed."""

_FAILED_TO_START: Final = 3  # uvicorn's status for an application that does not start
_LOOK: Final = 1.0  # seconds
_TEMPLATE_PATIENCE: Final = 10.0  # seconds
_RETRY: Final = 0.05  # seconds
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_log = structlog.get_logger()


class _Worker:
    """One worker process, and the pipe with its heartbeats."""

    def __init__(
        self, listener: socket.socket, service_stops: Event, settings: Settings, slot: Slot, *, share: Share
    ) -> None:
        self.slot = slot
        self.share = share
        self.signs, theirs = processes.Pipe(duplex=False)
        self.process = processes.Process(
            target=work, args=(listener, theirs, service_stops, settings, slot), kwargs={"share": share}
        )
        self.process.start()
        theirs.close()
        self._heard = monotonic()
        self._has_begun = False

    @property
    def hangs(self) -> bool:
        """True if no heartbeat came for too long. A worker may take any time until its first one."""
        return self._has_begun and monotonic() - self._heard > HANGS_AFTER

    def listen(self) -> None:
        """Read the heartbeats that have arrived."""
        try:
            while self.signs.poll():
                self.signs.recv_bytes()
                self._heard = monotonic()
                self._has_begun = True
        except (EOFError, OSError):
            return  # it has ended; its process says so as well

    def end(self) -> int | None:
        """Kill the process if it still runs; return its exit status."""
        self.process.kill()
        self.process.join()
        self.share.leave()
        self.signs.close()
        return self.process.exitcode


class Supervisor:
    """Keeps the workers running on ``listener``, and closes its own copy of it when it must stop.

    ``settings`` are those of the workers, and say how many. ``stop_within`` is how long workers may take to
    stop, in seconds; slower ones are killed.
    """

    def __init__(self, listener: socket.socket, settings: Settings, stop_within: float) -> None:
        self._listener = listener
        self._settings = settings
        self._stop_within = stop_within
        self._stopping = False
        self._service_stops = processes.Event()

    def run(self) -> None:
        """Run the workers until SIGTERM, SIGINT or SIGHUP, or until one of them can't start."""
        count = self._settings.server.workers
        with self._signals() as stop_requested, closing(Board(count)) as board:
            counts = processes.RawArray(c_uint32, [CLOSED] * count)
            workers = [self._started(Slot(place + 1, board), Share(counts, place)) for place in range(count)]
            while not self._stopping:
                wait([stop_requested, *(worker.process.sentinel for worker in workers)], _LOOK)
                workers = [self._kept(worker) for worker in workers]
            # From here on only the workers accept; once they stop, the system refuses clients.
            self._listener.close()
            self._stop(workers)

    def _kept(self, worker: _Worker) -> _Worker:
        """Return ``worker``, or its replacement."""
        worker.listen()
        if self._stopping or (worker.process.is_alive() and not worker.hangs):
            return worker
        hung = worker.process.is_alive()
        pid, status = worker.process.pid, worker.end()
        if status == _FAILED_TO_START:
            _log.error("a worker can't start, so the service stops", pid=pid)
            self._stopping = True
            return worker
        _log.error("a worker hangs and is replaced" if hung else "a worker died and is replaced", pid=pid)
        return self._started(worker.slot, worker.share)

    def _started(self, slot: Slot, share: Share) -> _Worker:
        """Start a worker; a template that was killed is replaced once nothing is left of it."""
        give_up = monotonic() + _TEMPLATE_PATIENCE
        while True:
            try:
                return _Worker(self._listener, self._service_stops, self._settings, slot, share=share)
            except (OSError, EOFError):
                if monotonic() > give_up:
                    raise
            sleep(_RETRY)

    def _stop(self, workers: list[_Worker]) -> None:
        self._service_stops.set()
        for worker in workers:
            worker.process.terminate()
        deadline = monotonic() + self._stop_within
        for worker in workers:
            worker.process.join(max(0.0, deadline - monotonic()))
            if worker.process.is_alive():
                _log.error("a worker does not stop and is killed", pid=worker.process.pid)
            worker.end()

    @contextmanager
    def _signals(self) -> Iterator[Connection]:
        """Yield a connection that becomes readable at the first signal to stop."""
        receiver, sender = processes.Pipe(duplex=False)
        os.set_blocking(sender.fileno(), False)

        def stop(number: int, _frame: FrameType | None) -> None:
            if not self._stopping:
                self._stopping = True
                os.write(sender.fileno(), bytes([number]))

        before = {number: signal.signal(number, stop) for number in _SIGNALS}
        try:
            with receiver, sender:
                yield receiver
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
