"""The processes of a service: how they start again, are replaced, drain and end."""

import asyncio
import contextlib
import json
import os
import re
import signal
import socket
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import sleep
from typing import Any

import httpx
import psycopg
import pytest

from service.features.embedded.stores import EmbeddedStores
from tests.service.callers import PASSWORD, log_in
from tests.service.conftest import variables_for
from tests.support.databases import NewDatabase, database, session_store
from tests.support.running import (
    PATIENCE,
    Running,
    descendants,
    kilobytes,
    lives,
    portcullis,
    running,
    running_anew,
)
from tests.support.waiting import eventually

ROLE_LIST = "/api/role/list"
HEAD = (
    b"POST /api/auth/login HTTP/1.1\r\nHost: x\r\n"
    b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n"
)


@dataclass(frozen=True)
class FirstLife:
    """What was seen of an embedded service from its first start until it was killed."""

    banner: str
    log: str
    password: str
    worth_acting_on: list[dict[str, Any]]
    secret_mode: int
    secrets: tuple[str, str]
    token: dict[str, str]
    left: list[int]


@dataclass(frozen=True)
class SecondLife:
    """What was seen of it when it was started again, until it was stopped."""

    banner: str
    rival: str
    workers_of_killed_template: list[int]
    statuses: dict[str, int]
    last_answer: bytes
    exit_status: int
    left: list[int]


Options = tuple[str, ...]


@pytest.fixture(scope="module")
def service(
    stores: EmbeddedStores, seeded_template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    """Two workers of this module's own: what they need grows with what has been asked of them."""
    with database(stores, seeded_template) as url, session_store(stores) as redis_url:
        variables = variables_for(url, redis_url)
        folder = tmp_path_factory.mktemp("processes")
        with running_anew(folder, "--workers", "2", **variables) as running_service:
            yield running_service


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="pc-") as name:
        yield Path(name)


@pytest.fixture(scope="module")
def options(folder: Path) -> Options:
    return ("--data", str(folder / "data"), "--workers", "1")


@pytest.fixture(scope="module")
def first(folder: Path, options: Options) -> FirstLife:
    with running_anew(folder, *options) as service:
        with service.client() as client:
            token = log_in(client, password=service.password or "")
        checks = worth_acting_on(folder, *options[:2])
        made = ("admin", "create", "keeper", "--role", "auditor", *options[:2])
        assert portcullis(folder, *made, given=f"{PASSWORD}\n").status == 0
        mode = (folder / "data" / "jwt_secret").stat().st_mode & 0o777
        secrets = backed_up_secret(folder, *options[:2]), (folder / "data" / "jwt_secret").read_text()
        processes = descendants(service.process.pid)
        assert len(processes) > 6  # a worker, Valkey, PostgreSQL and its children
        service.kill()
        left = left_of(processes)
    password = service.password or ""
    return FirstLife(service.errors, service.output, password, checks, mode, secrets, token, left)


def backed_up_secret(folder: Path, *options: str) -> str:
    """Return the signing secret that a backup of the running service holds; "" if it has none."""
    variables = {"PORTCULLIS_BACKUP_PASSPHRASE": "a hedgehog under the lamp"}
    steps = (("one.tar", "--with-keys"), ("one.tar", "--write-keys", "keys"))
    for step in steps:
        done = portcullis(folder, "backup", *step, *options, **variables)
        assert done.status == 0, done.errors
    kept = folder / "keys" / "auth.jwt_secret"
    return kept.read_text() if kept.exists() else ""


def worth_acting_on(folder: Path, *options: str) -> list[dict[str, Any]]:
    """Return what doctor finds that is not in order, once a worker has made the months of the logs."""
    checks: list[dict[str, Any]] = []

    def is_well() -> bool:
        ended = portcullis(folder, "doctor", "--strict", "--json", *options)
        checks[:] = [check for check in json.loads(ended.output)["checks"] if check["state"] != "ok"]
        return ended.status == 0

    eventually(is_well)
    return checks


@pytest.fixture(scope="module")
def second(folder: Path, options: Options, first: FirstLife) -> SecondLife:
    body = {"userName": "admin", "password": first.password}
    with running(folder, *options) as service:
        rival = portcullis(folder, "serve", "--port", "0", *options)
        orphans = []
        for _ in range(3):  # the first attempts to start a worker may meet what is left of the killed process
            before = service.workers
            os.kill(service.templates[0], signal.SIGKILL)
            orphans += left_of(before)
            assert eventually(lambda: len(service.workers) == 1, patience=PATIENCE)
        with service.client() as client:
            statuses = {
                "token": client.get(ROLE_LIST, headers=first.token).status_code,
                "password": client.post("/api/auth/login", json=body).status_code,
                "made user": client.get(ROLE_LIST, headers=log_in(client, "keeper")).status_code,
            }
        processes = descendants(service.process.pid)
        answer = _asked_while_stopping(service, json.dumps(body).encode())
        status = service.stop()
    return SecondLife(service.errors, rival.errors, orphans, statuses, answer, status, left_of(processes))


def left_of(processes: list[int]) -> list[int]:
    """Return those that still live when there was time enough to end."""
    eventually(lambda: not any(map(lives, processes)), patience=PATIENCE)
    return [pid for pid in processes if lives(pid)]


def _asked_while_stopping(service: Running, body: bytes) -> bytes:
    """Send half a request, ask the service to stop, send the other half; return the answer."""
    with socket.create_connection(("127.0.0.1", service.port), timeout=30) as connection:
        connection.sendall(HEAD % len(body) + body[:9])
        worker = service.workers[0]
        service.process.send_signal(signal.SIGTERM)
        assert eventually(lambda: '"Shutting down"' in service.output)
        assert lives(worker)
        connection.sendall(body[9:])
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
    return answer


def test_the_first_password_is_printed_once(first: FirstLife, second: SecondLife) -> None:
    assert re.fullmatch(r"[\w-]{24}", first.password)
    assert first.banner.count(first.password) == 1
    assert first.password not in first.log
    assert "assword" not in second.banner


def test_doctor_finds_nothing_worth_acting_on_in_a_fresh_installation(first: FirstLife) -> None:
    assert first.worth_acting_on == []


def test_the_local_signing_secret_is_for_its_owner_alone(first: FirstLife) -> None:
    assert first.secret_mode == 0o600


def test_a_backup_of_a_running_service_holds_its_local_signing_secret(first: FirstLife) -> None:
    backed_up, secret = first.secrets
    assert backed_up == secret != ""


def test_a_killed_launcher_leaves_no_server_and_no_worker(first: FirstLife) -> None:
    assert first.left == []


def test_a_second_start_keeps_users_and_sessions(second: SecondLife) -> None:
    assert second.statuses == {"token": 200, "password": 200, "made user": 200}


def test_workers_are_replaced_when_the_process_that_forked_them_is_killed(second: SecondLife) -> None:
    assert second.workers_of_killed_template == []


def test_a_data_directory_serves_one_launcher_at_a_time(second: SecondLife) -> None:
    message = r"portcullis: The data directory \S+/data is in use by process \d+: .*--data\n"
    assert re.fullmatch(message, second.rival)


def test_a_request_that_is_on_its_way_is_answered_before_the_service_stops(second: SecondLife) -> None:
    assert second.last_answer.startswith(b"HTTP/1.1 200 OK\r\n")


def test_a_stopped_service_leaves_no_process(second: SecondLife) -> None:
    assert second.exit_status == 0
    assert second.left == []


def test_two_launchers_at_once_prepare_an_empty_database_once(
    new_database: NewDatabase, redis_url: str, tmp_path: Path
) -> None:
    url = new_database()
    variables = variables_for(url, redis_url)
    twins = [Running(tmp_path, "--workers", "1", **variables) for _ in range(2)]
    try:
        for twin in twins:
            twin.wait()
        passwords = [twin.password for twin in twins if twin.password]
        assert len(passwords) == 1
        for twin in twins:
            with twin.client() as client:
                token = log_in(client, password=passwords[0])
                answer = client.get(ROLE_LIST, headers=token)
                assert answer.headers["x-policy-revision"] == "1"
                assert answer.json()["data"]["total"] == 4
        with psycopg.connect(url) as connection:
            users = connection.execute("SELECT count(*) FROM sys.user").fetchone()
        assert users == (1,)
    finally:
        for twin in twins:
            twin.stop()


@pytest.mark.extended
def test_a_worker_needs_less_than_128_megabytes_beside_the_hashing_of_passwords(
    service: Running, client: httpx.Client, administrator: dict[str, str]
) -> None:
    for _ in range(100):
        assert client.get(ROLE_LIST, headers=administrator).status_code == 200
    for _ in range(8):
        log_in(client)
    used: dict[int, int] = {}

    def is_small() -> bool:
        sleep(0.2)  # looking costs as much as the requests
        used.update({pid: kilobytes(pid, "Rss") for pid in service.workers})
        return max(used.values()) < 128 * 1024

    # The 19 MiB of a hash are kept for five seconds: the next login is cheaper with them.
    assert eventually(is_small), f"kB: {used}"
    assert len(used) == 2


async def test_other_requests_are_answered_while_many_logins_hash(service: Running) -> None:
    async with httpx.AsyncClient(
        base_url=service.url, timeout=PATIENCE, trust_env=False, verify=False
    ) as client:
        bodies = [{"userName": f"nobody-{number}", "password": "x" * 12} for number in range(24)]
        logins = [asyncio.create_task(client.post("/api/auth/login", json=body)) for body in bodies]
        await asyncio.wait(logins, return_when=asyncio.FIRST_COMPLETED)
        answer = await client.get("/health/live")
        waiting = sum(not login.done() for login in logins)
        assert answer.json() == {"data": {"status": "live"}}
        assert waiting > 0, "the logins were done before the service said that it lives"
        assert {response.status_code for response in await asyncio.gather(*logins)} == {401}


def test_a_launcher_needs_less_than_40_megabytes(service: Running) -> None:
    used = kilobytes(service.process.pid, "Rss")
    assert used < 40 * 1024, f"{used} kB"


def test_a_worker_that_is_told_to_end_alone_keeps_no_client_from_the_others(service: Running) -> None:
    assert eventually(lambda: service.output.count("Application startup complete") == len(service.workers))
    ended = service.workers[0]
    os.kill(ended, signal.SIGTERM)

    while ended in service.workers:
        # A connection of its own each time; a client may still have met the worker that ends.
        with socket.create_connection(("127.0.0.1", service.port), timeout=5):
            pass
    assert eventually(lambda: len(service.workers) == 2)
    for _ in range(20):
        assert httpx.get(f"{service.url}/health/live", trust_env=False, verify=False).status_code == 200


def test_killed_workers_are_replaced_and_no_longer_told_of(service: Running, client: httpx.Client) -> None:
    def have_started() -> int:
        return service.output.count("Application startup complete")

    assert eventually(lambda: have_started() >= len(service.workers), patience=PATIENCE)
    killed, before = service.workers, have_started()
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    assert eventually(lambda: len(set(service.workers) - set(killed)) == len(killed), patience=PATIENCE)
    assert eventually(lambda: have_started() == before + len(killed), patience=PATIENCE)
    policy = client.get("/api/policy", headers=log_in(client)).json()["data"]
    assert sorted(int(worker["worker"].split(":")[1]) for worker in policy["workers"]) == service.workers


@pytest.mark.extended
def test_a_worker_that_hangs_is_killed_and_replaced(service: Running) -> None:
    assert eventually(lambda: service.output.count("Application startup complete") >= 2)
    frozen, other = service.workers
    os.kill(frozen, signal.SIGSTOP)
    assert eventually(lambda: frozen not in service.workers and len(service.workers) == 2, patience=PATIENCE)
    assert other in service.workers
    entries = [line for line in service.log if line["event"] == "a worker hangs and is replaced"]
    assert [line["pid"] for line in entries] == [frozen]
    assert httpx.get(f"{service.url}/health/live", trust_env=False, verify=False).status_code == 200


def test_connections_that_stay_are_shared_by_the_workers(service: Running) -> None:
    assert eventually(lambda: service.output.count("Application startup complete") >= len(service.workers))
    # The busier worker takes a connection if the other is too slow; and stores may be connected to meanwhile.
    assert any(least_share(service) >= 14 for _ in range(5))


def least_share(service: Running) -> int:
    """Return how many of forty connections that stay the worker with fewer of them has taken."""
    before = {pid: sockets(pid) for pid in service.workers}
    with contextlib.ExitStack() as kept:
        for _ in range(40):
            connection = kept.enter_context(
                socket.create_connection(("127.0.0.1", service.port), timeout=PATIENCE)
            )
            connection.sendall(b"GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n")
            assert connection.recv(4096).startswith(b"HTTP/1.1 200")
        return min(sockets(pid) - count for pid, count in before.items())


def sockets(pid: int) -> int:
    """Return how many sockets a process has open."""
    count = 0
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            count += str(link.readlink()).startswith("socket:")
    return count
