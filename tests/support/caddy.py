"""A reverse proxy that keeps a pool of connections to the service: Caddy, from its wheel."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.ports import free_port
from tests.support.waiting import eventually

_CADDY = Path(sys.executable).with_name("caddy")


@contextmanager
def caddy(folder: Path, upstream: int) -> Iterator[int]:
    """Run Caddy before the service at port ``upstream`` of loopback; yield the port of Caddy.

    It is Caddy as it comes: upgrades are passed on, and idle connections to the service are used again.
    """
    port = free_port()
    handler = {"handler": "reverse_proxy", "upstreams": [{"dial": f"127.0.0.1:{upstream}"}]}
    server = {
        "listen": [f"127.0.0.1:{port}"],
        "automatic_https": {"disable": True},
        "routes": [{"handle": [handler]}],
    }
    config = {
        "admin": {"disabled": True, "config": {"persist": False}},
        "apps": {"http": {"servers": {"front": server}}},
    }
    (folder / "caddy.json").write_text(json.dumps(config))
    words = [str(_CADDY), "run", "--config", str(folder / "caddy.json")]
    with (folder / "caddy.log").open("wb") as log:
        process = subprocess.Popen(
            words, env={"HOME": str(folder)}, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
    try:
        assert eventually(lambda: _answers(port)), (folder / "caddy.log").read_text()
        yield port
    finally:
        process.terminate()
        process.wait(20)


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
