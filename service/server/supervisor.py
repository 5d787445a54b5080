"""The worker processes of a node: started, looked after, and stopped together."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from multiprocessing.connection import Connection, wait
from time import monotonic
from types import FrameType
from typing import Final

from service.server.children import processes
from service.server.shared_numbers import SharedNumbers
from service.server.shares import CLOSED, Share
from service.server.stop_order import StopOrder
from service.server.worker_place import Node, WorkerError, WorkerPlace
from service.settings import Settings
from service.web.observability.shared_metrics import SharedMetrics, Slot

TRIES: Final = 5
"""How often each worker is started, without that one of them has served, before the service gives up."""

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
        with self._signals() as stop_requested, closing(SharedMetrics(count)) as shared_metrics:
            counts = SharedNumbers(count, CLOSED)
            places = [
                WorkerPlace(self._node, Slot(place + 1, shared_metrics), Share(counts, place))
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
