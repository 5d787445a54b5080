"""Valkey with replicas and a Sentinel, to be killed and frozen."""

from __future__ import annotations

import subprocess
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

import redis

from service.embedded.program import valkey_program
from tests.support.ports import free_port
from tests.support.waiting import eventually

GROUP = "portcullis"
DOWN_AFTER = 500
"""Milliseconds of silence after which the Sentinels give a primary up."""
_FOLLOWER = "follower"  # the user as whom replicas connect to the primary


class SentinelGroup:
    """A primary with ``replicas``, and ``sentinels`` that watch it, below ``place``.

    All run from entering the context until leaving it; ``password`` is that of the primary and of the
    Sentinels, if there is one.
    """

    def __init__(self, place: Path, *, replicas: int = 1, sentinels: int = 1, password: str = "") -> None:
        self._place = place
        self._password = password
        self.servers = [free_port() for _ in range(1 + replicas)]
        self.sentinels = [free_port() for _ in range(sentinels)]
        self._processes: dict[int, subprocess.Popen[bytes]] = {}

    @property
    def url(self) -> str:
        """The URL of the group, as the setting ``redis.url`` takes it."""
        hosts = ",".join(f"127.0.0.1:{port}" for port in self.sentinels)
        password = quote(self._password, safe="")
        secret = f":{password}@" if password else ""
        options = f"&sentinel_password={password}" if password else ""
        return f"redis+sentinel://{secret}{hosts}/{GROUP}?db=0{options}"

    @property
    def primary(self) -> int:
        """The port of the primary, as a Sentinel names it."""
        with self.client(self.sentinels[-1]) as sentinel:
            address = sentinel.execute_command("SENTINEL GET-MASTER-ADDR-BY-NAME", GROUP)
        return int(address[1])

    @property
    def replicas(self) -> list[int]:
        """The ports of the other servers."""
        primary = self.primary
        return [port for port in self.servers if port != primary]

    def client(self, port: int) -> redis.Redis:
        """Return a client of the server or Sentinel at ``port``; the caller closes it."""
        return redis.Redis(
            port=port, password=self._password or None, decode_responses=True, socket_timeout=30
        )

    def kill(self, port: int) -> None:
        """End a server or Sentinel by SIGKILL; returns when it is gone."""
        process = self._processes.pop(port)
        process.kill()
        process.wait()

    def cut_off_replicas(self) -> None:
        """Let no replica receive anything more from the primary: what it has sent before has arrived."""
        with self.client(self.primary) as primary:
            primary.acl_setuser(_FOLLOWER, enabled=False)
            primary.client_kill_filter(_type="replica")

    def fail_over(self) -> None:
        """Let the Sentinel promote a replica and demote the primary, which lives on; returns when it has."""
        old = self.primary
        with self.client(self.sentinels[0]) as sentinel:

            def begins() -> bool:
                with suppress(redis.ResponseError):  # it has not heard of the replica's health yet
                    sentinel.execute_command("SENTINEL FAILOVER", GROUP)
                    return True
                return False

            assert eventually(begins)
        self.wait_for_primary(old)

    def wait_for_primary(self, other_than: int, patience: float = 30.0) -> int:
        """Return the port of the next primary once it takes writes."""
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            with suppress(redis.RedisError):
                port = self.primary
                if port != other_than:
                    with self.client(port) as client:
                        client.set("written", "1")
                    return port
            time.sleep(0.01)
        raise AssertionError("there is no other primary")

    def __enter__(self) -> Self:
        try:
            primary, *replicas = self.servers
            self._start(primary)
            for port in replicas:
                self._start(port, "--replicaof", "127.0.0.1", str(primary))
            assert eventually(lambda: all(self._follows(port) for port in replicas))
            for port in self.sentinels:
                self._watch(port, primary)
            assert eventually(lambda: all(self._knows_all(port) for port in self.sentinels))
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def _follows(self, port: int) -> bool:
        with suppress(redis.RedisError), self.client(port) as replica:
            return bool(replica.info("replication")["master_link_status"] == "up")
        return False

    def _knows_all(self, port: int) -> bool:
        with suppress(redis.RedisError), self.client(port) as sentinel:
            state = sentinel.sentinel_master(GROUP)
            others, replicas = state["num-other-sentinels"], state["num-slaves"]
            return [others, replicas] == [len(self.sentinels) - 1, len(self.servers) - 1]
        return False

    def _start(self, port: int, *options: str) -> None:
        follower = ("--user", _FOLLOWER, "on", "nopass", "+psync", "+replconf", "+ping")
        plain = ("--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--repl-diskless-sync-delay", "0")
        secret = ("--requirepass", self._password) if self._password else ()
        copying = ("--masteruser", _FOLLOWER, "--masterauth", "any")
        self._run(port, "--port", str(port), *plain, *follower, *secret, *copying, *options)

    def _watch(self, port: int, primary: int) -> None:
        file = self._place / f"sentinel-{port}.conf"
        quorum = len(self.sentinels) // 2 + 1
        lines = [
            f"port {port}",
            "bind 127.0.0.1",
            f"sentinel monitor {GROUP} 127.0.0.1 {primary} {quorum}",
            f"sentinel down-after-milliseconds {GROUP} {DOWN_AFTER}",
            f"sentinel failover-timeout {GROUP} 5000",
        ]
        if self._password:
            lines += [f'sentinel auth-pass {GROUP} "{self._password}"', f'requirepass "{self._password}"']
            lines += [f'sentinel sentinel-pass "{self._password}"']
        file.write_text("\n".join(lines) + "\n")
        self._run(port, str(file), "--sentinel")

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
