"""Large files through the service as it is run: in little memory, and no faster than they are taken."""

import hashlib
import http.client
import json
import os
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from service.features.embedded.stores import EmbeddedStores
from service.features.files.orphan_cleanup import OrphanCleanup
from service.files.object_store import object_store
from service.records.database.transactions import Database
from service.settings import Objstore
from tests.files.forms import BOUNDARY, PNG, disposition
from tests.support.databases import database
from tests.support.running import PATIENT, Running, kilobytes, running
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD
from tests.support.waiting import eventually

SIZE = 64 * 1024 * 1024
MOST = 32 * 1024  # kB that a worker may grow by
PIECE = bytes(range(256)) * 1024


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("large")


@pytest.fixture(scope="module")
def url(stores: EmbeddedStores, published_template: str) -> Iterator[str]:
    """The database of the service."""
    with database(stores, published_template) as made:
        yield made


@pytest.fixture(scope="module")
def service(url: str, module_redis_url: str, folder: Path) -> Iterator[Running]:
    """A service of one worker with a local directory."""
    secret = "kX7-Qw2zPv9_LrT4mNb8sYc1HjD6gUfEoAi3ZxKlVtR"
    stores = {"DATABASE_URL": url, "REDIS_URL": module_redis_url}
    variables = {**PATIENT, **stores, "JWT_SECRET": secret}
    with running(folder, "--workers", "1", "--data", str(folder / "data"), **variables) as started:
        yield started


@pytest.fixture
def token(service: Running) -> str:
    with service.client() as client:
        answer = client.post(
            "/api/auth/login", json={"userName": ADMINISTRATOR, "password": ADMINISTRATOR_PASSWORD}
        )
    access_token: str = answer.json()["data"]["accessToken"]
    return access_token


def content(size: int) -> Iterator[bytes]:
    yield PNG
    left = size - len(PNG)
    while left:
        yield PIECE[: min(left, len(PIECE))]
        left -= min(left, len(PIECE))


def upload(
    service: Running, token: str, size: int, *, chunked: bool = False
) -> tuple[int, dict[str, object]]:
    """Upload ``size`` bytes by HTTP/1.1 and return status and answer."""
    head = f"--{BOUNDARY}\r\n{disposition('large.png')}\r\n\r\n".encode()
    tail = f"\r\n--{BOUNDARY}--\r\n".encode()
    headers = {
        "Authorization": f"Bearer {token}",
        "Content-Type": f"multipart/form-data; boundary={BOUNDARY}",
    }
    if not chunked:
        headers["Content-Length"] = str(len(head) + size + len(tail))

    def body() -> Iterator[bytes]:
        yield head
        yield from content(size)
        yield tail

    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
    connection.request("POST", "/api/file", body(), headers, encode_chunked=chunked)
    answer = connection.getresponse()
    reply = json.loads(answer.read())
    connection.close()
    return answer.status, reply


@pytest.mark.parametrize("chunked", [False, True], ids=["declared", "chunked"])
def test_a_large_file_goes_in_and_out_in_little_memory(service: Running, token: str, chunked: bool) -> None:
    upload(service, token, 100_000)  # what is loaded once, such as threads, is not the file's
    (worker,) = service.workers
    digest = hashlib.sha256(b"".join(content(SIZE))).hexdigest()

    before = _forget_peak(worker)
    status, body = upload(service, token, SIZE, chunked=chunked)
    assert status == 201, body
    assert _peak_of(worker) - before < MOST

    data = body["data"]
    assert isinstance(data, dict)
    assert (data["size"], data["sha256"]) == (SIZE, digest)
    with service.client() as client:
        received, path = hashlib.sha256(), f"/api/file/{data['id']}"
        with client.stream("GET", path, headers={"Authorization": f"Bearer {token}"}) as answer:
            for piece in answer.iter_bytes():
                received.update(piece)
    assert received.hexdigest() == digest
    assert _peak_of(worker) - before < MOST


def test_a_client_that_takes_nothing_is_sent_no_more_than_fits_between(service: Running, token: str) -> None:
    _, body = upload(service, token, SIZE)
    data = body["data"]
    assert isinstance(data, dict)
    (worker,) = service.workers
    before = _forget_peak(worker)

    with socket.create_connection(("127.0.0.1", service.port)) as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        headers = f"Host: x\r\nAuthorization: Bearer {token}\r\n\r\n"
        slow.sendall(f"GET /api/file/{data['id']} HTTP/1.1\r\n{headers}".encode())
        time.sleep(0.5)  # long enough to send all of it to nobody
        assert _peak_of(worker) - before < MOST
        first = slow.recv(65_536)
    assert first.startswith(b"HTTP/1.1 200 ")


def test_an_upload_that_is_declared_too_large_is_answered_and_the_connection_closed(
    service: Running, token: str
) -> None:
    with socket.create_connection(("127.0.0.1", service.port)) as client:
        client.sendall(
            b"POST /api/file HTTP/1.1\r\nHost: x\r\n"
            + f"Authorization: Bearer {token}\r\n".encode()
            + f"Content-Type: multipart/form-data; boundary={BOUNDARY}\r\n".encode()
            + f"Content-Length: {10**12}\r\n\r\n--{BOUNDARY}\r\n".encode()
        )
        client.settimeout(30)
        answer = b""
        while piece := client.recv(65_536):
            answer += piece
    assert b"HTTP/1.1 413 " in answer
    assert b"too_large" in answer


async def test_a_worker_that_is_killed_in_the_middle_of_an_upload_leaves_nothing_after_the_sweep(
    service: Running, token: str, url: str, folder: Path
) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("UPDATE sys.file SET state = 'discarded', token_hash = NULL")
        head = f"--{BOUNDARY}\r\n{disposition('large.png')}\r\n\r\n".encode()
        with socket.create_connection(("127.0.0.1", service.port)) as client:
            client.sendall(
                b"POST /api/file HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                + f"Authorization: Bearer {token}\r\n".encode()
                + f"Content-Type: multipart/form-data; boundary={BOUNDARY}\r\n".encode()
                + f"Content-Length: {2 * SIZE}\r\n\r\n".encode()
                + head
            )
            for piece in content(SIZE):
                client.sendall(piece)
            objects = folder / "data" / "files"
            assert eventually(lambda: any("#" in path.name for path in objects.rglob("*")))
            os.kill(service.workers[0], signal.SIGKILL)
        connection.execute("UPDATE sys.file SET lease_time = now() WHERE state = 'pending'")

        async with Database(url) as records:
            await OrphanCleanup(records, object_store(Objstore(), objects)).once()
        assert connection.execute("SELECT name, state FROM sys.file").fetchall() == []
    assert [path for path in objects.rglob("*") if path.is_file()] == []


def _forget_peak(pid: int) -> int:
    """Have the peak of a process begin anew; return the memory that it has now, in kB."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")  # proc(5)
    return kilobytes(pid, "Rss")


def _peak_of(pid: int) -> int:
    """Return the most memory that a process has had so far, in kB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    raise AssertionError(pid)
