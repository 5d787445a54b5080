"""What it costs that files pass through the service: beside the store client alone, and in memory.

The server has one worker on one core, and the client of the store has that core too when it works alone; load
and S3 server are on another. Rounds alternate, and each ratio is that of neighbouring rounds.
"""

import asyncio
import json
import multiprocessing
import multiprocessing.connection
import os
import re
import socket
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from service.authz.publishing.shipped import read_shipped
from service.features.embedded.stores import EmbeddedStores
from service.files.object_store import object_store
from service.server.prepare import publish_policy
from service.settings import Settings, load
from tests.benchmarks.frame.results import Pace, Result, result
from tests.benchmarks.installation import environment, log_in
from tests.benchmarks.servers import FIRST_CORE, Server, pin_to_last_core, serving_worker
from tests.support.s3 import s3_server
from tests.support.seeded import seed_database

MEBIBYTE: Final = 1024 * 1024
SIZE: Final = 100 * MEBIBYTE
LARGE: Final = 200 * MEBIBYTE
BOUNDARY: Final = "benchmark"
PIECE: Final = b"\x89PNG\r\n\x1a\n" + os.urandom(MEBIBYTE - 8)


@dataclass(frozen=True)
class Times:
    """Seconds that a file of ``SIZE`` took into the store, and out of it."""

    put: float
    get: float


def main(pace: Pace) -> Iterator[Result]:
    """Yield the rates of uploads and downloads with either kind of store, and of the client alone."""
    with tempfile.TemporaryDirectory(prefix="pc-") as folder:
        place = Path(folder)
        with EmbeddedStores(place / "data", durable=False) as stores, s3_server() as s3:
            seed_database(stores.database_url)
            pin_to_last_core()
            environ = environment(stores, place)
            publish_policy(load(environ), read_shipped())
            yield from _store("a local directory", environ, pace.rounds)
            to_s3 = environ | s3.variables(PORTCULLIS_OBJSTORE__TIMEOUT="30")
            yield from _store("an S3 server", to_s3, pace.rounds)


def _store(name: str, environ: dict[str, str], count: int) -> Iterator[Result]:
    settings = load(environ)
    with serving_worker(environ) as server:
        token = log_in(server)
        _upload(server, token, len(PIECE))
        before = _memory(server, "VmRSS")
        _upload(server, token, LARGE)
        grown = _memory(server, "VmHWM") - before
        rounds = [(_alone(settings), _through(server, token)) for _ in range(count)]
    for what, of in (("upload", "put"), ("download", "get")):
        alone, through = (
            [SIZE / MEBIBYTE / getattr(timing, of) for timing in column]
            for column in zip(*rounds, strict=True)
        )
        chart = f"Files, {name}"
        reference = result(f"{what} by the client alone, {name}", "MiB/s", alone, better="more", chart=chart)
        yield reference
        yield result(f"{what}, {name}", "MiB/s", through, better="more", against=reference, chart=chart)
    yield result(f"memory for {LARGE // MEBIBYTE} MiB uploaded, {name}", "MiB more", [grown / 1024])


def _alone(settings: Settings) -> Times:
    spawning = multiprocessing.get_context("spawn")
    ours, theirs = spawning.Pipe()
    child = spawning.Process(target=_put_and_get, args=(settings, theirs))
    child.start()
    times: Times = ours.recv()
    child.join()
    return times


def _put_and_get(settings: Settings, answer: multiprocessing.connection.Connection) -> None:
    os.sched_setaffinity(0, FIRST_CORE)  # before the threads of the client are there
    answer.send(asyncio.run(_timed(settings)))


async def _timed(settings: Settings) -> Times:
    store = object_store(settings.objstore, settings.server.data / "alone")

    async def pieces(size: int) -> AsyncIterator[bytes]:
        for _ in range(size // len(PIECE)):
            yield PIECE

    await store.put("alone/first", pieces(6 * MEBIBYTE))
    start = time.perf_counter()
    await store.put("alone/one", pieces(SIZE))
    half = time.perf_counter()
    async for _ in store.read("alone/one", SIZE, 0, SIZE):
        pass
    end = time.perf_counter()
    await store.delete("alone/one")
    return Times(half - start, end - half)


def _through(server: Server, token: str) -> Times:
    start = time.perf_counter()
    file_id = _upload(server, token, SIZE)
    half = time.perf_counter()
    assert _download(server, token, file_id) == SIZE
    return Times(half - start, time.perf_counter() - half)


def _upload(server: Server, token: str, size: int) -> int:
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a.png"\r\n\r\n'.encode()
    tail = f"\r\n--{BOUNDARY}--\r\n".encode()
    with _asked(
        server,
        token,
        "POST /api/file",
        f"Content-Type: multipart/form-data; boundary={BOUNDARY}",
        f"Content-Length: {len(head) + size + len(tail)}",
    ) as connection:
        connection.sendall(head)
        for _ in range(size // len(PIECE)):
            connection.sendall(PIECE)
        connection.sendall(tail)
        answer = b"".join(_received(connection))
    assert b"HTTP/1.1 201 " in answer, answer
    file_id: int = json.loads(answer.partition(b"\r\n\r\n")[2])["data"]["id"]
    return file_id


def _download(server: Server, token: str, file_id: int) -> int:
    with _asked(server, token, f"GET /api/file/{file_id}") as connection:
        first, *rest = _received(connection)
    assert first.startswith(b"HTTP/1.1 200 "), first
    return len(first.partition(b"\r\n\r\n")[2]) + sum(map(len, rest))


def _asked(server: Server, token: str, line: str, *headers: str) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", server.port))
    lines = [f"{line} HTTP/1.1", "Host: x", "Connection: close", f"Authorization: Bearer {token}", *headers]
    connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
    return connection


def _received(connection: socket.socket) -> Iterator[bytes]:
    while piece := connection.recv(MEBIBYTE):
        yield piece


def _memory(server: Server, name: str) -> int:
    match = re.search(rf"{name}:\s+(\d+) kB", Path(f"/proc/{server.pid}/status").read_text())
    assert match is not None
    return int(match[1])
