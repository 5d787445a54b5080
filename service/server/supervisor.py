"""The worker processes of a node, each in its place: started, looked after, and stopped together."""

import os
import secrets
import signal
import socket
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from time import monotonic, sleep
from types import FrameType
from typing import Final

import structlog

from service.kernel.feature import provided
from service.kernel.worker_slot import Slot
from service.operator.errors import LaunchError
from service.server.children import processes, work
from service.server.shares import CLOSED, Share, SharedNumbers
from service.server.stop_order import Heard, StopOrder
from service.settings import Settings

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
    """State shared by the workers of a node: the listener, the settings, and the order to stop."""

    listener: socket.socket
    settings: Settings
    order: StopOrder


class _Worker:
    """One worker process, and its messages."""

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
        """Descriptors that become ready when the process ends: see ``multiprocessing.connection.wait``."""
        return [] if self._worker is None else [self._worker.process.sentinel]

    @property
    def rests(self) -> float | None:
        """The seconds until the worker is started again; None while it runs."""
        return None if self._worker else max(0.0, self._again_at - monotonic())

    def look(self) -> None:
        """Start the worker when it is due; replace it if it has ended or hangs."""
        if self._worker is None:
            if monotonic() >= self._again_at:
                self._worker = self._started()
            return
        heard = self._worker.heard
        heard.listen()
        if heard.serves:
            self.failures = 0
            self._former.clear()  # it has withdrawn the reports of the former workers
        if heard.hangs or not self._worker.process.is_alive():
            self._replace(self._worker)

    def terminate(self) -> None:
        """Ask the worker to stop, if there is one."""
        if self._worker is not None:
            self._worker.process.terminate()

    def finish(self, deadline: float) -> None:
        """Wait until the worker has ended; kill it at ``deadline``, a time of ``monotonic``."""
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


TRIES: Final = 5
"""Maximum starts of each worker, without any that served, before the service gives up."""

_LOOK: Final = 1.0  # seconds
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Supervisor:
    """Keeps the workers running on ``listener``, and closes its own copy of it when it must stop.

    ``settings`` are those of the workers, and say how many. ``stop_within`` is how long workers may take to
    stop, in seconds; slower ones are killed.
    """

    def __init__(self, listener: socket.socket, settings: Settings, stop_within: float) -> None:
        self._node = Node(listener, settings, StopOrder())
        self._stop_within = stop_within

    def run(self) -> None:
        """Run the workers until SIGTERM, SIGINT or SIGHUP.

        Raises ``WorkerError`` when each of them was started ``TRIES`` times and has never served.
        """
        count = self._node.settings.server.workers
        off = self._node.settings.features.off
        with self._signals() as stop_requested, ExitStack() as held:
            boards = {
                name: held.enter_context(closing(make(count)))
                for name, make in provided("worker-board", off).items()
            }
            counts = SharedNumbers(count, CLOSED)
            places = [
                WorkerPlace(self._node, Slot(place + 1, boards), Share(counts, place))
                for place in range(count)
            ]
            try:
                self._keep(places, stop_requested)
            finally:
                # From here on only the workers accept; once they stop, the system refuses clients.
                self._node.listener.close()
                self._stop(places)

    def _keep(self, places: Sequence[WorkerPlace], stop_requested: Connection) -> None:
        while not self._node.order.is_given:
            for place in places:
                place.look()
            if all(place.failures >= TRIES for place in places):
                reasons = "\n".join(dict.fromkeys(place.reason for place in places))
                raise WorkerError(f"No worker can start, so the service stops: {reasons}")
            sentinels = [sentinel for place in places for sentinel in place.sentinels]
            wait(
                [stop_requested, *sentinels],
                min([_LOOK, *(rest for place in places if (rest := place.rests) is not None)]),
            )

    def _stop(self, places: Sequence[WorkerPlace]) -> None:
        self._node.order.give(signal.SIGTERM)
        for place in places:
            place.terminate()
        deadline = monotonic() + self._stop_within
        for place in places:
            place.finish(deadline)

    @contextmanager
    def _signals(self) -> Iterator[Connection]:
        """Give the order to stop at each signal; yield a connection that becomes readable at the first."""
        receiver, sender = processes.Pipe(duplex=False)
        os.set_blocking(sender.fileno(), False)

        def stop(number: int, _frame: FrameType | None) -> None:
            if not self._node.order.is_given:
                os.write(sender.fileno(), bytes([number]))
            self._node.order.give(number)

        before = {number: signal.signal(number, stop) for number in _SIGNALS}
        try:
            with receiver, sender:
                yield receiver
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
