"""Servers of Valkey that belong together, to be killed; replicas copy as a user who can be shut out."""

import subprocess
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import redis

from service.features.embedded.program import valkey_program

_FOLLOWER = "follower"  # the user as whom replicas connect to their primary


class ValkeyServers:
    """Servers below ``place``, by their ports, from entering the context until leaving it.

    ``password`` is that of all of them, if there is one. A kind of servers says in ``_begin`` what it starts.
    """

    def __init__(self, place: Path, password: str) -> None:
        self._place = place
        self._password = password
        self._processes: dict[int, subprocess.Popen[bytes]] = {}

    def client(self, port: int) -> Any:
        """Return a client of a server, whose types are those of its replies; the caller closes it."""
        return redis.Redis(
            port=port, password=self._password or None, decode_responses=True, socket_timeout=30
        )

    def kill(self, port: int) -> None:
        """End a server by SIGKILL; returns when it is gone."""
        process = self._processes.pop(port)
        process.kill()
        process.wait()

    def cut_off_replicas_of(self, port: int) -> None:
        """Let no replica receive anything more from a primary: what it has sent before has arrived."""
        with self.client(port) as primary:
            primary.acl_setuser(_FOLLOWER, enabled=False)
            primary.client_kill_filter(_type="replica")

    def let_replicas_back_to(self, port: int) -> None:
        """Let the replicas of a primary copy again."""
        with self.client(port) as primary:
            primary.acl_setuser(
                _FOLLOWER, enabled=True, nopass=True, commands=["+psync", "+replconf", "+ping"]
            )

    def __enter__(self) -> Self:
        try:
            self._begin()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def _begin(self) -> None:
        raise NotImplementedError

    def _follows(self, port: int) -> bool:
        """Whether a replica is in step with its primary."""
        with suppress(redis.RedisError), self.client(port) as replica:
            return bool(replica.info("replication").get("master_link_status") == "up")
        return False

    def _serve(self, port: int, *options: str) -> None:
        """Start a server of data."""
        plain = ("--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--repl-diskless-sync-delay", "0")
        follower = ("--user", _FOLLOWER, "on", "nopass", "+psync", "+replconf", "+ping")
        secret = ("--requirepass", self._password) if self._password else ()
        copying = ("--masteruser", _FOLLOWER, "--masterauth", "any")
        self._run(port, "--port", str(port), *plain, *follower, *secret, *copying, *options)

    def _run(self, port: int, *words: str) -> None:
        folder = self._place / str(port)
        folder.mkdir()
        with (folder / "log").open("wb") as log:
            self._processes[port] = subprocess.Popen(
                [str(valkey_program()), *words], cwd=folder, stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )

    def _close(self) -> None:
        for process in self._processes.values():
            process.kill()
        for process in self._processes.values():
            process.wait()
