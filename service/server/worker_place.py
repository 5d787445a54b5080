"""The place of one worker in its node: a process that is started, and started again when it ends."""

from __future__ import annotations

import secrets
import signal
import socket
from collections import deque
from dataclasses import dataclass
from time import monotonic, sleep
from typing import Final

import structlog

from service.operator.errors import LaunchError
from service.server.children import processes, work
from service.server.shares import Share
from service.server.signs import Heard
from service.server.stop_order import StopOrder
from service.settings import Settings
from service.web.observability.shared_metrics import Slot

FIRST_PAUSE: Final = 0.1
LONGEST_PAUSE: Final = 5.0
"""Seconds before a worker that did not live long is started again; they double each time."""
STEADY: Final = 10.0
"""Seconds of serving after which a worker is replaced at once."""
_FORMER: Final = 16  # names of workers that the next one takes back, at the most
_TEMPLATE_PATIENCE: Final = 10.0  # seconds
_RETRY: Final = 0.05  # seconds
_log = structlog.get_logger()


class WorkerError(LaunchError):
    """No worker can be started; the message says why."""


@dataclass(frozen=True, slots=True)
class Node:
    """What the workers of a node share: the listener, the settings, and the order to stop."""

    listener: socket.socket
    settings: Settings
    order: StopOrder


class _Worker:
    """One process, and what is heard of it."""

    def __init__(self, node: Node, slot: Slot, share: Share) -> None:
        receiver, theirs = processes.Pipe(duplex=False)
        self.heard = Heard(receiver)
        self.process = processes.Process(
            target=work,
            args=(node.listener, theirs, node.settings, slot),
            kwargs={"order": node.order, "share": share},
        )
        self.process.start()
        theirs.close()
        self.name = slot.name_of(self.process.pid or 0)
        self.began = monotonic()

    def end(self) -> int | None:
        """Kill the process if it still runs; return its exit status."""
        self.process.kill()
        self.process.join()
        self.heard.listen()
        self.heard.close()
        return self.process.exitcode


class WorkerPlace:
    """Keeps one worker running.

    ``failures`` counts the last starts in a row after which the worker ended before it served, and ``reason``
    is why the last one did.
    """

    def __init__(self, node: Node, slot: Slot, share: Share) -> None:
        self._node = node
        self._slot = slot
        self._share = share
        self._worker: _Worker | None = None
        self._former: deque[str] = deque(maxlen=_FORMER)
        self._again_at = 0.0
        self._pause = 0.0
        self.failures = 0
        self.reason = ""

    @property
    def sentinels(self) -> list[int]:
        """What becomes ready when the process ends: see ``multiprocessing.connection.wait``."""
        return [] if self._worker is None else [self._worker.process.sentinel]

    @property
    def rests(self) -> float | None:
        """The seconds until the worker is started again; None while it runs."""
        return None if self._worker else max(0.0, self._again_at - monotonic())

    def look(self) -> None:
        """Start the worker if it is time for it; take notice if it has ended, and kill it if it hangs."""
        if self._worker is None:
            if monotonic() >= self._again_at:
                self._worker = self._started()
            return
        heard = self._worker.heard
        heard.listen()
        if heard.serves:
            self.failures = 0
            self._former.clear()  # it has taken back what they reported
        if heard.hangs or not self._worker.process.is_alive():
            self._replace(self._worker)

    def terminate(self) -> None:
        """Ask the worker to stop, if there is one."""
        if self._worker is not None:
            self._worker.process.terminate()

    def finish(self, deadline: float) -> None:
        """Return once the worker has ended, or kill it at ``deadline``, a time of ``monotonic``."""
        worker, self._worker = self._worker, None
        if worker is None:
            return
        worker.process.join(max(0.0, deadline - monotonic()))
        if worker.process.is_alive():
            _log.error("a worker does not stop and is killed", pid=worker.process.pid)
        worker.end()
        self._share.leave()

    def _replace(self, worker: _Worker) -> None:
        hung = worker.process.is_alive()
        pid = worker.process.pid
        status = worker.end()
        self._former.append(worker.name)
        self._worker = None
        self._share.leave()
        served = worker.heard.serves
        lasted = served and monotonic() - worker.began > STEADY
        self._pause = 0.0 if lasted else min(max(FIRST_PAUSE, 2 * self._pause), LONGEST_PAUSE)
        self._again_at = monotonic() + self._pause
        self.reason = worker.heard.reason or _words(status)
        if served:
            what = "a worker hangs and is replaced" if hung else "a worker died and is replaced"
        else:
            what = "a worker can't start"
            self.failures += 1
        _log.error(what, pid=pid, reason=self.reason, again_in_seconds=self._pause)

    def _started(self) -> _Worker:
        """Start a worker; a template that was killed is replaced once nothing is left of it."""
        give_up = monotonic() + _TEMPLATE_PATIENCE
        while True:
            try:
                slot = self._slot._replace(token=secrets.token_hex(3), former=tuple(self._former))
                return _Worker(self._node, slot, self._share)
            except (OSError, EOFError) as error:
                if monotonic() > give_up:
                    reason = str(error) or type(error).__name__
                    raise WorkerError(f"No worker can be forked: {reason}; see above") from error
            sleep(_RETRY)


def _words(status: int | None) -> str:
    """Return the exit status of a process in words."""
    if status is not None and status < 0:
        return f"it was ended by {signal.Signals(-status).name}"
    return f"it ended with status {status}; see above"
