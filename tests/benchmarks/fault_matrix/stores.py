"""Stores that fail on demand: each way to fail, made and unmade."""

import os
import signal
from typing import Protocol

from tests.benchmarks.fault_matrix.proxy import Proxy
from tests.support.waiting import eventually, freeze

FAULTS = ("stopped", "frozen", "slow", "killed", "read-only", "full", "emptied")
SLOW = 5.0  # seconds that a slow store holds back each answer


class Server(Protocol):
    """The program of a store."""

    @property
    def pid(self) -> int | None:
        """The process that is killed."""

    def start(self) -> None:
        """Start it, and return when it works."""

    def stop(self) -> None:
        """Stop it."""


class FaultyStore:
    """A store behind ``proxy`` that fails on demand."""

    name: str

    def __init__(self, server: Server, proxy: Proxy) -> None:
        self._program = server
        self.proxy = proxy

    def impossible(self, fault: str) -> str | None:  # noqa: ARG002 - most can be made
        """Say why this store can't fail in this way here; None when it can."""
        return None

    def inject(self, fault: str) -> None:
        """Fail; returns when the fault is in force. What is ``killed`` comes back by itself."""
        if fault == "stopped":
            self.proxy.refuse()
            self._program.stop()
        elif fault == "frozen":
            for pid in self._pids():
                freeze(pid)
        elif fault == "slow":
            self.proxy.delay = SLOW
        elif fault == "killed":
            self._kill()
        else:
            self._inject(fault)

    def heal(self, fault: str) -> None:
        """Undo the fault, and return when the store works."""
        if fault == "stopped":
            self._program.start()
            self.proxy.accept()
        elif fault == "frozen":
            thaw(self._pids())
        elif fault == "slow":
            self.proxy.delay = 0
        elif fault == "killed":
            assert eventually(self._answers, patience=60)
        else:
            self._heal(fault)

    def _kill(self) -> None:
        assert self._program.pid is not None
        os.kill(self._program.pid, signal.SIGKILL)

    def _pids(self) -> list[int]:
        """Return the processes that are frozen."""
        raise NotImplementedError

    def _answers(self) -> bool:
        """Tell whether the store works."""
        raise NotImplementedError

    def _inject(self, fault: str) -> None:
        """Become ``read-only``, ``full`` or ``emptied``."""
        raise NotImplementedError

    def _heal(self, fault: str) -> None:
        """Undo that."""
        raise NotImplementedError


def thaw(pids: list[int]) -> None:
    """Let processes go on."""
    for pid in pids:
        try:
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            continue  # it was killed while it stood still
