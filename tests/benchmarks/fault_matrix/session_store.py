"""The session store that fails: a Valkey behind a proxy."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import redis

from service.embedded import EmbeddedStores, processes
from tests.benchmarks.fault_matrix.freezing import freeze, thaw
from tests.benchmarks.fault_matrix.proxy import Proxy
from tests.benchmarks.fault_matrix.stores import SLOW
from tests.support.waiting import eventually


class FaultySessionStore:
    """Valkey, whose files are in ``folder``."""

    name = "sessions"

    def __init__(self, stores: EmbeddedStores, folder: Path) -> None:
        self._stores = stores
        self._folder = folder
        self.proxy = Proxy(folder.parent / "sockets" / "valkey.sock")
        self.url = f"redis://127.0.0.1:{self.proxy.port}"

    def impossible(self, fault: str) -> str | None:  # noqa: ARG002 - every fault can be made
        """Say why this fault can't be made here."""
        return None

    def inject(self, fault: str) -> None:
        """Fail; returns when the fault is in force."""
        if fault == "stopped":
            self.proxy.refuse()
            self._stores.valkey.stop()
        elif fault == "frozen":
            freeze(self._pids())
        elif fault == "slow":
            self.proxy.delay = SLOW
        elif fault == "killed":
            assert self._stores.valkey.pid is not None
            os.kill(self._stores.valkey.pid, signal.SIGKILL)
        elif fault == "read-only":
            # What is left of a primary after a failover: a replica, here of one that can't be reached.
            self._command("REPLICAOF", "127.0.0.1", "1")
        elif fault == "full":
            self._command("CONFIG", "SET", "maxmemory", "1")
        elif fault == "emptied":
            self._command("FLUSHALL")

    def heal(self, fault: str) -> None:
        """Undo the fault, and return when the store works."""
        if fault == "stopped":
            self._stores.valkey.start()
            self.proxy.accept()
        elif fault == "frozen":
            thaw(self._pids())
        elif fault == "slow":
            self.proxy.delay = 0
        elif fault == "killed":
            assert eventually(self._answers, patience=60)
        elif fault == "read-only":
            self._command("REPLICAOF", "NO", "ONE")
        elif fault == "full":
            self._command("CONFIG", "SET", "maxmemory", "0")

    def _pids(self) -> list[int]:
        return processes.at_work_in(self._folder, "valkey-server")

    def _command(self, *words: str) -> Any:
        with redis.Redis.from_url(self._stores.redis_url) as client:
            return client.execute_command(*words)

    def _answers(self) -> bool:
        try:
            return bool(self._command("PING"))
        except redis.RedisError:
            return False
