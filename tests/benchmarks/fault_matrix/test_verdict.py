"""A fault matrix: its proxy and its freezing work, and it complains about each fault and nothing else."""

import contextlib
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.benchmarks.fault_matrix.calls import Intruders, Reply
from tests.benchmarks.fault_matrix.cell import Outcome
from tests.benchmarks.fault_matrix.operations import Operation
from tests.benchmarks.fault_matrix.proxy import Proxy
from tests.benchmarks.fault_matrix.stores import thaw
from tests.benchmarks.fault_matrix.verdict import complaints, row
from tests.benchmarks.faults import main
from tests.support.cases import with_each
from tests.support.waiting import freeze


class RoleWrite(Operation):
    """An operation that is never done."""

    name = "role write"

    def attempt(self) -> Reply:
        raise NotImplementedError

    def trespass(self) -> Reply:
        raise NotImplementedError

    def renew(self) -> None:
        raise NotImplementedError


def outcome(**changed: Any) -> Outcome:
    """Return an outcome without a fault, but for what is changed."""
    operation = RoleWrite("http://127.0.0.1:1", Intruders("", "", "", "", ""))
    statuses = Counter({201: 3, 503: 40})
    return Outcome(operation, **{"statuses": statuses, "slowest": 1.5, "recovered": 0.4, **changed})


def test_refusals_for_want_of_a_store_are_as_documented() -> None:
    assert list(complaints("database", "frozen", outcome())) == []


@with_each(
    "changed",
    [
        {"wrong_allows": 1},
        {"lost": 1},
        {"recovered": None},
        {"slowest_begun": 3.1},
        {"slowest": 5.1},
        {"statuses": Counter({500: 1})},
        {"statuses": Counter({401: 1})},
        {"statuses": Counter({0: 1})},
    ],
)
def test_each_kind_of_fault_is_one_complaint(changed: dict[str, Any]) -> None:
    assert len(list(complaints("database", "frozen", outcome(**changed)))) == 1


def test_a_machine_that_is_slow_without_a_fault_is_given_more_time() -> None:
    assert list(complaints("database", "frozen", outcome(slowest_begun=3.9, usual=1.0))) == []
    assert len(list(complaints("database", "frozen", outcome(slowest_begun=4.1, usual=1.0)))) == 1


def test_only_an_emptied_session_store_may_send_users_to_log_in() -> None:
    logged_out = outcome(statuses=Counter({401: 1}))
    assert list(complaints("sessions", "emptied", logged_out)) == []
    assert len(list(complaints("sessions", "full", logged_out))) == 1


def test_a_write_that_a_read_only_database_took_is_a_complaint() -> None:
    written = outcome(successes=2)
    assert list(complaints("database", "full", written)) == []
    assert len(list(complaints("database", "read-only", written))) == 1


def test_a_row_shows_statuses_and_figures() -> None:
    assert row(outcome(wrong_allows=7)).split() == (
        ["role", "write", "201", "x3,", "503", "x40", "1.50", "s", "7", "0", "0.4", "s"]
    )


def test_an_unknown_cell_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--only", "database:burnt"])
    assert ended.value.code == 2
    assert "no cell is called database:burnt" in capsys.readouterr().err


ECHO = "import socket,sys\ns=socket.create_server(('127.0.0.1',0))\nprint(s.getsockname()[1],flush=True)\n"
ECHO += "while True:\n  c=s.accept()[0]\n  while d:=c.recv(99): c.sendall(d)\n"


@pytest.fixture
def echo() -> Iterator[tuple[subprocess.Popen[str], Proxy]]:
    """A process that sends back what it is sent, and a proxy before it."""
    with subprocess.Popen([sys.executable, "-c", ECHO], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        proxy = Proxy(int(process.stdout.readline()))
        yield process, proxy
        proxy.close()
        process.kill()


def test_what_is_sent_comes_back_and_held_back_it_comes_late(
    echo: tuple[subprocess.Popen[str], Proxy],
) -> None:
    _, proxy = echo
    with socket.create_connection(("127.0.0.1", proxy.port), 20) as client:
        client.sendall(b"one")
        assert client.recv(99) == b"one"
        proxy.delay = 0.5
        began = time.monotonic()
        client.sendall(b"two")
        assert client.recv(99) == b"two"
        assert time.monotonic() - began >= 0.5


def test_a_proxy_that_refuses_can_accept_again_on_its_port(
    echo: tuple[subprocess.Popen[str], Proxy],
) -> None:
    _, proxy = echo
    proxy.refuse()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", proxy.port), 20)
    proxy.accept()
    with socket.create_connection(("127.0.0.1", proxy.port), 20) as client:
        client.sendall(b"again")
        assert client.recv(99) == b"again"


def test_a_server_that_ends_ends_its_connections(echo: tuple[subprocess.Popen[str], Proxy]) -> None:
    process, proxy = echo
    with socket.create_connection(("127.0.0.1", proxy.port), 20) as client:
        client.sendall(b"one")
        assert client.recv(99) == b"one"
        process.kill()
        process.wait()
        with contextlib.suppress(ConnectionResetError):
            assert client.recv(99) == b""


def test_a_frozen_process_answers_when_it_is_thawed(echo: tuple[subprocess.Popen[str], Proxy]) -> None:
    process, proxy = echo
    answers: list[bytes] = []
    with socket.create_connection(("127.0.0.1", proxy.port), 20) as client:
        freeze(process.pid)
        client.sendall(b"one")
        reading = threading.Thread(target=lambda: answers.append(client.recv(99)))
        reading.start()
        reading.join(0.2)
        assert answers == []
        thaw([process.pid])
        reading.join(20)
    assert answers == [b"one"]
