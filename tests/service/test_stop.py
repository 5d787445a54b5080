"""A service that is told to stop says so and goes on serving, then accepts nobody, then ends."""

import signal
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from time import sleep

import pytest

from service.features.embedded.stores import EmbeddedStores
from tests.service.conftest import variables_for
from tests.service.wire import Received, answers, exchange, read_all
from tests.support.databases import database, session_store
from tests.support.running import PATIENCE, Running, descendants, running
from tests.support.waiting import eventually

WORKERS = 2
LIVE = b"GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n"
READY = LIVE.replace(b"live", b"ready")
BODY = b'{"userName":"nobody","password":"no"}'
LOGIN = (
    b"POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    b"Content-Length: %d\r\n\r\n" % len(BODY)
)


@dataclass
class Stop:
    """What clients saw while a service of two workers stopped."""

    ready: list[Received] = field(default_factory=list)
    served: list[Received] = field(default_factory=list)
    kept: bytes = b""
    refused: bool = False
    running_when_refused: bool = False
    in_flight: bytes = b""
    status: int = 0
    left: list[int] = field(default_factory=list)


@pytest.fixture(scope="module")
def stop(
    stores: EmbeddedStores,
    seeded_template: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Stop:
    seen = Stop()
    with database(stores, seeded_template) as url, session_store(stores) as redis_url:
        variables = variables_for(url, redis_url)
        variables["PORTCULLIS_SERVER__STOP_GRACE"] = "6"
        with running(tmp_path_factory.mktemp("stop"), "--workers", str(WORKERS), **variables) as service:
            observe(service, seen)
    return seen


def connect(service: Running) -> socket.socket:
    return socket.create_connection(("127.0.0.1", service.port), timeout=20)


def observe(service: Running, seen: Stop) -> None:
    assert eventually(lambda: service.output.count("Application startup complete") == WORKERS)
    assert exchange(service.port, closing(READY))[0].status == 200
    processes = descendants(service.process.pid)
    with connect(service) as kept, connect(service) as in_flight:
        kept.sendall(LIVE)
        assert kept.recv(65_536).startswith(b"HTTP/1.1 200 ")
        in_flight.sendall(LOGIN + BODY[:10])
        service.process.send_signal(signal.SIGTERM)
        assert eventually(lambda: service.output.count('"event":"stopping"') == WORKERS)
        # New connections, so each worker is likely to be asked.
        seen.ready = [exchange(service.port, READY)[0] for _ in range(8)]
        seen.served = [exchange(service.port, LIVE)[0] for _ in range(8)]
        kept.sendall(LIVE)
        seen.kept = read_all(kept)
        while not seen.refused:
            try:
                exchange(service.port, LIVE)
            except ConnectionRefusedError:
                seen.refused = True
            sleep(0.05)  # the grace is three seconds, and asking without a pause keeps both sides busy
        seen.running_when_refused = service.process.poll() is None
        in_flight.sendall(BODY[10:])
        seen.in_flight = read_all(in_flight)
    seen.status = service.stop()
    eventually(lambda: not set(processes) & set(descendants(1)))
    seen.left = [pid for pid in processes if pid in descendants(1)]


def closing(request: bytes) -> bytes:
    return request.replace(b"Host: x\r\n", b"Host: x\r\nConnection: close\r\n")


def test_every_worker_says_at_once_that_it_is_not_ready(stop: Stop) -> None:
    assert {answer.status for answer in stop.ready} == {503}
    assert stop.ready[0].problem["detail"] == "The service is stopping"


def test_new_connections_are_served_during_the_grace_one_request_each(stop: Stop) -> None:
    assert {answer.status for answer in stop.served} == {200}
    assert all("\r\nconnection: close\r\n" in answer.head for answer in stop.served)


def test_a_kept_connection_gets_its_answer_and_is_closed(stop: Stop) -> None:
    (answer,) = answers(stop.kept)
    assert answer.status == 200
    assert "\r\nconnection: close\r\n" in answer.head


def test_after_the_grace_connections_are_refused_while_requests_in_flight_go_on(stop: Stop) -> None:
    assert stop.refused
    assert stop.running_when_refused
    (answer,) = answers(stop.in_flight)
    assert answer.status == 401


def test_nothing_is_left_after_the_stop(stop: Stop) -> None:
    assert stop.status == 0
    assert stop.left == []


@pytest.fixture
def patient(
    stores: EmbeddedStores, seeded_template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    """A service whose grace is longer than any test waits."""
    with database(stores, seeded_template) as url, session_store(stores) as redis_url:
        variables = variables_for(url, redis_url) | {"PORTCULLIS_SERVER__STOP_GRACE": "300"}
        with running(tmp_path_factory.mktemp("patient"), "--workers", str(WORKERS), **variables) as service:
            assert eventually(lambda: service.output.count("Application startup complete") == WORKERS)
            yield service


@pytest.mark.parametrize("signals", [[signal.SIGINT], [signal.SIGTERM, signal.SIGINT]])
def test_sigint_to_the_launcher_alone_skips_the_grace(
    patient: Running, signals: list[signal.Signals]
) -> None:
    for number in signals:
        patient.process.send_signal(number)
        assert eventually(lambda: patient.output.count('"event":"stopping"') == WORKERS)
    assert patient.process.wait(PATIENCE) == 0


def test_a_second_sigint_breaks_off_the_requests_in_flight(patient: Running) -> None:
    with connect(patient) as in_flight:
        in_flight.sendall(LOGIN + BODY[:10])
        patient.process.send_signal(signal.SIGINT)
        assert eventually(lambda: patient.output.count("Waiting for connections to close") == 1)
        patient.process.send_signal(signal.SIGINT)
        assert patient.process.wait(PATIENCE) == 0
        assert read_all(in_flight) == b""
