"""The worker processes: started, replaced when they die or hang, stopped together."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from multiprocessing.synchronize import Event
from time import monotonic
from types import FrameType
from typing import Final

import structlog

from service.launch import children

HANGS_AFTER: Final = 15.0
"""After how many seconds without a sign a worker is taken to hang, and killed."""

_FAILED_TO_START: Final = 3  # uvicorn's status for an application that does not start
_LOOK: Final = 1.0  # seconds
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_log = structlog.get_logger()
_spawn = multiprocessing.get_context("spawn")


class _Worker:
    """One worker process, and the pipe through which it tells that it runs."""

    def __init__(self, listener: socket.socket, service_stops: Event) -> None:
        self.signs, theirs = _spawn.Pipe(duplex=False)
        self.process = _spawn.Process(target=children.work, args=(listener, theirs, service_stops))
        self.process.start()
        theirs.close()
        self._heard = monotonic()
        self._has_begun = False

    @property
    def hangs(self) -> bool:
        """Whether nothing was heard for too long. A worker may take all the time that it needs to start."""
        return self._has_begun and monotonic() - self._heard > HANGS_AFTER

    def listen(self) -> None:
        """Take in the signs of life that have come."""
        try:
            while self.signs.poll():
                self.signs.recv_bytes()
                self._heard = monotonic()
                self._has_begun = True
        except (EOFError, OSError):
            return  # it has ended, which its process tells as well

    def end(self) -> int | None:
        """Kill the process if it still runs; return its exit status."""
        self.process.kill()
        self.process.join()
        self.signs.close()
        return self.process.exitcode


class Supervisor:
    """Keeps ``number`` workers on ``listener``, and closes its own copy of it once it is told to stop.

    ``stop_within`` is how long workers may take to stop, in seconds; those that take longer are killed.
    """

    def __init__(self, listener: socket.socket, number: int, stop_within: float) -> None:
        self._listener = listener
        self._number = number
        self._stop_within = stop_within
        self._stopping = False
        self._service_stops = _spawn.Event()

    def run(self) -> None:
        """Run the workers until SIGTERM, SIGINT or SIGHUP, or until one of them can't start."""
        with self._signals() as told:
            workers = [_Worker(self._listener, self._service_stops) for _ in range(self._number)]
            while not self._stopping:
                wait([told, *(worker.process.sentinel for worker in workers)], _LOOK)
                workers = [self._kept(worker) for worker in workers]
            # From here on only the workers accept, and once they don't, clients are refused.
            self._listener.close()
            self._stop(workers)

    def _kept(self, worker: _Worker) -> _Worker:
        """Return ``worker``, or the one that takes its place."""
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
        return _Worker(self._listener, self._service_stops)

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
        """Yield what becomes readable once a signal says to stop."""
        told, tell = _spawn.Pipe(duplex=False)
        os.set_blocking(tell.fileno(), False)

        def stop(number: int, _frame: FrameType | None) -> None:
            if not self._stopping:
                self._stopping = True
                os.write(tell.fileno(), bytes([number]))

        before = {number: signal.signal(number, stop) for number in _SIGNALS}
        try:
            with told, tell:
                yield told
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
