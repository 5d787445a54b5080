"""The proxy of the fault matrix forwards, refuses and delays, and the freezing really freezes."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from tests.benchmarks.fault_matrix.proxy import Proxy
from tests.benchmarks.fault_matrix.stores import thaw
from tests.support.waiting import freeze

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
