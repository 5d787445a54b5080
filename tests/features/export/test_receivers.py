"""What receivers get: signed requests, lines of a file, messages of syslog."""

from __future__ import annotations

import asyncio
import base64
import errno
import hashlib
import hmac
import json
import logging
import os
import resource
import socket
import ssl
import stat
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
import structlog

from service.features.export.entry import Entry, Failed, Refused
from service.features.export.receivers import receiver_of
from service.features.export.syslog import host_name
from service.kernel.webhooks import seconds_of
from service.settings import Destination
from service.web.observability.log_format import configure_logging
from tests.features.export.conftest import SECRET
from tests.features.export.receiver import HttpReceiver, answering
from tests.support.cases import with_each
from tests.support.flooding import CHUNK, DROP, ENDLESS, MOST_BUFFERED, OK, Flood, flooding
from tests.support.tls import Authority


def entry(number: int, **members: Any) -> Entry:
    return Entry(
        id=f"0193a4b0-0000-7000-8000-{number:012}",
        log="logins",
        time="2026-11-22T02:48:43.956Z",
        entry={"event": "login", "outcome": "success", "userName": "Zoë", **members},
        chain={"day": "2026-11-22", "key": "", "number": number, "hash": "00" * 32},
    )


def destination(url: str, **members: Any) -> Destination:
    given: dict[str, Any] = {"name": "test", "url": url, "timeout": 5.0}
    return Destination(**given | members)


async def send(to: Destination, *entries: Entry) -> None:
    receiver = receiver_of(to)
    try:
        await receiver.send(entries)
    finally:
        await receiver.close()


# HTTP


async def test_each_request_is_signed_by_each_secret_over_id_time_and_body() -> None:
    other = "whsec_" + base64.b64encode(bytes(24)).decode()
    async with HttpReceiver().listening() as receiver:
        before = int(datetime.now(UTC).timestamp())
        await send(destination(receiver.url, secret=f"{SECRET} {other}"), entry(1), entry(2))
    (request,) = receiver.requests
    message, timestamp = request.headers["webhook-id"], request.headers["webhook-timestamp"]
    assert before <= int(timestamp) <= before + 60
    signatures = []
    for key in (b"a key of thirty-two random bytes", bytes(24)):
        signed = hmac.new(key, f"{message}.{timestamp}.".encode() + request.body, hashlib.sha256)
        signatures.append("v1," + base64.b64encode(signed.digest()).decode())
    assert request.headers["webhook-signature"] == " ".join(signatures)
    assert request.headers["content-type"] == "application/json"


async def test_a_secret_and_the_authorization_can_be_in_files(tmp_path: Path) -> None:
    secret, authorization = tmp_path / "secret", tmp_path / "authorization"
    secret.write_text(SECRET + "\n")
    authorization.write_text("Splunk abc\n")
    for file in (secret, authorization):
        file.chmod(0o600)
    async with HttpReceiver().listening() as receiver:
        given = {"secret_file": secret, "authorization_file": authorization}
        await send(destination(receiver.url, **given), entry(1))
    assert receiver.requests[0].headers["authorization"] == "Splunk abc"
    assert receiver.requests[0].headers["webhook-signature"].startswith("v1,")


@pytest.mark.parametrize(
    ("held", "reason"), [("", "is empty"), ("\n", "is empty"), ("whsec_short", "24 to 64 random bytes")]
)
async def test_nothing_is_sent_unsigned_when_the_file_of_the_secret_was_emptied_or_spoilt(
    tmp_path: Path, held: str, reason: str
) -> None:
    secret = tmp_path / "secret"
    secret.write_text(held)
    secret.chmod(0o600)
    async with HttpReceiver().listening() as receiver:
        with pytest.raises(Failed, match=reason):
            await send(destination(receiver.url, secret_file=secret), entry(1))
    assert receiver.requests == []


@with_each("status", [301, 302, 307, 308])
async def test_a_redirect_is_not_followed(status: int) -> None:
    async with HttpReceiver().listening() as second:
        async with HttpReceiver(answer=answering(status, Location=second.url)).listening() as first:
            with pytest.raises(Failed, match="redirect"):
                await send(destination(first.url, secret=SECRET), entry(1))
        assert second.requests == []


@with_each("status", [400, 413, 415, 422])
async def test_some_answers_refuse_what_was_sent(status: int) -> None:
    async with HttpReceiver(answer=answering(status)).listening() as receiver:
        with pytest.raises(Refused):
            await send(destination(receiver.url, secret=SECRET), entry(1))


@with_each("status", [401, 403, 404, 408, 410, 429, 500, 502, 503])
async def test_other_answers_are_a_failure_of_the_receiver(status: int) -> None:
    async with HttpReceiver(answer=answering(status)).listening() as receiver:
        with pytest.raises(Failed) as failure:
            await send(destination(receiver.url, secret=SECRET), entry(1))
    assert not isinstance(failure.value, Refused)


async def test_a_receiver_that_is_gone_is_asked_again_in_an_hour() -> None:
    async with HttpReceiver(answer=answering(410)).listening() as receiver:
        with pytest.raises(Failed) as failure:
            await send(destination(receiver.url, secret=SECRET), entry(1))
    assert failure.value.retry_after == 3600


@with_each(
    ("part", "pause"),
    [
        (CHUNK, 0.0),
        (DROP, 0.2),
    ],
)
async def test_an_accepted_answer_without_an_end_is_left(part: bytes, pause: float) -> None:
    async with flooding(Flood(OK + ENDLESS, part, pause)) as flood:
        begun = monotonic()
        await send(destination(flood.url, secret=SECRET, timeout=10.0), entry(1))
        assert monotonic() - begun < 5
    assert (flood.requests, flood.sent < MOST_BUFFERED) == (1, True)


async def test_the_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "ALL_PROXY", "http_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with HttpReceiver().listening() as receiver:
        await send(destination(receiver.url, secret=SECRET), entry(1))
        assert len(receiver.requests) == 1


async def test_a_certificate_must_be_of_an_authority_that_is_trusted(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    async with HttpReceiver().listening(authority.server("127.0.0.1")) as receiver:
        url = receiver.url.replace("http://", "https://")
        with pytest.raises(Failed, match="certificate is not accepted"):
            await send(destination(url, secret=SECRET), entry(1))
        assert receiver.requests == []
        await send(destination(url, secret=SECRET, ca_file=authority.file), entry(1))
        assert len(receiver.requests) == 1


async def test_authorities_are_read_for_tls_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreadable(**_given: object) -> None:
        raise OSError

    monkeypatch.setattr(ssl, "create_default_context", unreadable)
    async with HttpReceiver().listening() as receiver:
        await send(destination(receiver.url, secret=SECRET), entry(1))
        with pytest.raises(Failed, match="ca_file can't be used"):
            await send(destination(receiver.url.replace("http:", "https:"), secret=SECRET), entry(1))
    assert len(receiver.requests) == 1


async def test_no_reason_has_the_secret_or_the_path_of_the_url() -> None:
    url = "http://127.0.0.1:9/token-in-the-path"
    with pytest.raises(Failed) as failure:
        await send(destination(url, secret=SECRET, authorization="Bearer hidden"), entry(1))
    for secret in ("token-in-the-path", "hidden", SECRET):
        assert secret not in str(failure.value)


async def test_no_line_of_the_log_has_the_path_of_the_url() -> None:
    out, root = BytesIO(), logging.getLogger()
    before, handlers, level = structlog.get_config(), root.handlers[:], root.level
    configure_logging("json", "info", out)
    try:
        async with HttpReceiver().listening() as receiver:
            await send(destination(f"{receiver.url}/token-in-the-path", secret=SECRET), entry(1))
        logging.getLogger("another").info("is heard")
    finally:
        structlog.configure(**before)
        root.handlers[:], root.level = handlers, level
    assert b"is heard" in out.getvalue()
    assert b"token-in-the-path" not in out.getvalue()


def test_retry_after_is_seconds_or_a_date() -> None:
    now = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
    assert seconds_of("120", now) == 120
    assert seconds_of("Sun, 22 Nov 2026 12:00:30 GMT", now) == 30
    assert seconds_of("Sun, 22 Nov 2026 11:00:00 GMT", now) == 0
    assert seconds_of("soon", now) is None
    assert seconds_of("-5", now) is None
    assert seconds_of(f"Sun, 22 Nov {'9' * 30} 12:00:30 GMT", now) is None
    assert seconds_of(f"Sun, 22 Nov 2026 12:00:30 +{'9' * 30}", now) is None
    assert seconds_of(None, now) is None


# Files


def lines_of(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


async def test_a_file_has_one_line_for_each_entry_and_is_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "audit log.jsonl"
    await send(destination(f"file://{str(path).replace(' ', '%20')}"), entry(1), entry(2))
    assert [record["chain"]["number"] for record in lines_of(path)] == [1, 2]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_a_file_that_was_rotated_is_made_anew_without_a_signal(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    receiver = receiver_of(destination(f"file://{path}"))
    await receiver.send([entry(1)])
    path.rename(tmp_path / "audit.jsonl.1")
    await receiver.send([entry(2)])
    await receiver.close()
    assert len(lines_of(path)) == len(lines_of(tmp_path / "audit.jsonl.1")) == 1


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Let no file of this process grow beyond ``size`` bytes: a full disk, for one test."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


async def test_what_a_full_disk_has_cut_off_is_written_again_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    receiver = receiver_of(destination(f"file://{path}"))
    await receiver.send([entry(1)])
    with files_of_at_most(path.stat().st_size + 100):
        with pytest.raises(Failed, match="accepted only a part"):
            await receiver.send([entry(2), entry(3)])
        with pytest.raises(Failed, match=os.strerror(errno.EFBIG)):
            await receiver.send([entry(2), entry(3)])
    # As after kill -9: another process goes on.
    await receiver.close()
    await send(destination(f"file://{path}"), entry(2), entry(3))
    text = path.read_bytes().splitlines()
    whole = [json.loads(line) for line in (text[0], *text[2:])]
    assert [record["chain"]["number"] for record in whole] == [1, 2, 3]
    with pytest.raises(json.JSONDecodeError):
        json.loads(text[1])


async def test_only_a_regular_file_is_appended_to(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(Failed, match="no regular file"):
        await send(destination(f"file://{tmp_path}/pipe"), entry(1))


async def test_a_write_that_hangs_holds_one_thread_however_often_it_is_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on, begun, write = threading.Event(), [], os.write

    def hanging(file: int, text: bytes) -> int:
        begun.append(text)
        goes_on.wait(30)
        return write(file, text)

    receiver = receiver_of(destination(f"file://{tmp_path}/audit.jsonl", timeout=1.0))
    monkeypatch.setattr("service.features.decision_log.appended_file.os.write", hanging)
    try:
        for reason in ("accepts no data within", "not yet accepted"):
            with pytest.raises(Failed, match=reason):
                await receiver.send([entry(1)])
        assert len(begun) == 1
    finally:
        goes_on.set()
    async with asyncio.timeout(10):
        while True:
            try:
                await receiver.send([entry(1)])
            except Failed:
                await asyncio.sleep(0.01)
            else:
                break
    await receiver.close()
    assert [record["chain"]["number"] for record in lines_of(tmp_path / "audit.jsonl")] == [1, 1]


# Syslog


class SyslogServer:
    """A server that reads to the end of each connection; ``stops`` is how one that is stopped behaves.

    ``cuts``: it ends TLS without close_notify.
    """

    def __init__(self, *, stops: bool = False) -> None:
        self.received: list[bytes] = []
        self.stops = stops
        self.cuts = False

    def serve(self, connection: socket.socket) -> None:
        """Serve one connection."""
        if self.stops:
            connection.recv(1)
            connection.close()  # unread data: the kernel resets the connection
            return
        text = b""
        while part := connection.recv(65_536):
            text += part
        self.received.append(text)
        if self.cuts:
            os.close(connection.detach())
            return
        if isinstance(connection, ssl.SSLSocket):
            connection.unwrap()
        connection.close()

    @asynccontextmanager
    async def listening(
        self, listener: socket.socket, secured: ssl.SSLContext | None = None
    ) -> AsyncIterator[SyslogServer]:
        """Serve the connections of ``listener``, one after another, in a thread."""

        def run() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                    connection.settimeout(10)
                    self.serve(secured.wrap_socket(connection, server_side=True) if secured else connection)
                except ssl.SSLError:
                    continue
                except OSError:
                    return

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield self
        finally:
            listener.shutdown(socket.SHUT_RDWR)  # wakes the thread
            listener.close()
            await asyncio.to_thread(thread.join)


def messages_of(text: bytes) -> list[str]:
    """Take the framing of RFC 6587 §3.4.1 apart."""
    messages = []
    while text:
        length, _, text = text.partition(b" ")
        messages.append(text[: int(length)].decode("ascii"))
        text = text[int(length) :]
    return messages


def tcp() -> tuple[socket.socket, str]:
    listener = socket.create_server(("127.0.0.1", 0))
    return listener, f"127.0.0.1:{listener.getsockname()[1]}"


async def test_syslog_by_tcp_has_one_message_for_each_entry() -> None:
    listener, address = tcp()
    async with SyslogServer().listening(listener) as server:
        await send(
            destination(f"syslog+tcp://{address}"),
            entry(1),
            entry(2, outcome="failure", userName="a\nb"),
        )
    first, second = messages_of(b"".join(server.received))
    head, _, text = first.partition("] ")
    host = host_name(socket.gethostname())
    assert head.startswith(f"<110>1 2026-11-22T02:48:43.956Z {host} portcullis - LOGIN [origin ")
    assert json.loads(text)["entry"]["userName"] == "Zoë"
    assert second.startswith("<108>1 ")
    assert "\n" not in second


async def test_a_syslog_server_that_is_stopped_before_it_has_read_everything_is_noticed() -> None:
    listener, address = tcp()
    async with SyslogServer(stops=True).listening(listener):
        with pytest.raises(Failed):
            await send(destination(f"syslog+tcp://{address}"), *map(entry, range(200)))


async def test_a_syslog_server_that_answers_without_end_is_left_after_the_timeout() -> None:
    listener, address = tcp()
    left = threading.Event()

    def drip() -> None:
        connection, _ = listener.accept()
        with listener, connection:
            while connection.recv(65_536):
                pass
            with suppress(OSError):
                while not left.wait(0.05):
                    connection.sendall(b"x")
            left.set()

    thread = threading.Thread(target=drip, daemon=True)
    thread.start()
    with pytest.raises(Failed):
        await send(destination(f"syslog+tcp://{address}", timeout=0.3), entry(1))
    assert await asyncio.to_thread(left.wait, 20), "the thread of the attempt still reads"
    thread.join()


async def test_a_syslog_server_that_is_away_is_a_failure() -> None:
    listener, address = tcp()
    listener.close()
    with pytest.raises(Failed, match="refused"):
        await send(destination(f"syslog+tcp://{address}"), entry(1))


async def test_syslog_by_tls_verifies_the_server_and_waits_for_its_end(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    listener, address = tcp()
    async with SyslogServer().listening(listener, authority.server("127.0.0.1")) as server:
        to = destination(f"syslog+tls://{address}", ca_file=authority.file)
        await send(to, entry(1))
        assert len(messages_of(server.received[0])) == 1
        with pytest.raises(Failed, match="certificate is not accepted"):
            await send(destination(f"syslog+tls://{address}"), entry(1))
        server.cuts = True
        with pytest.raises(Failed, match="without close_notify"):
            await send(to, entry(1))
        server.stops = True
        with pytest.raises(Failed):
            await send(to, *map(entry, range(200)))


@pytest.mark.parametrize("kind", [socket.SOCK_DGRAM, socket.SOCK_STREAM])
async def test_syslog_by_a_socket_takes_datagrams_or_a_stream(
    tmp_path: Path, kind: socket.SocketKind
) -> None:
    path = tmp_path / "log"
    with socket.socket(socket.AF_UNIX, kind) as listener:
        listener.bind(str(path))
        if kind is socket.SOCK_DGRAM:
            await send(destination(f"syslog+unix://{path}"), entry(1), entry(2))
            messages = [listener.recv(65_536).decode() for _ in range(2)]
            with pytest.raises(Refused):
                await send(destination(f"syslog+unix://{path}"), entry(3, text="x" * 1_000_000))
        else:
            listener.listen()
            async with SyslogServer().listening(listener) as server:
                await send(destination(f"syslog+unix://{path}"), entry(1), entry(2))
            messages = messages_of(server.received[0])
    assert [json.loads(message.partition("] ")[2])["chain"]["number"] for message in messages] == [1, 2]


def test_a_host_name_is_visible_ascii() -> None:
    assert host_name("node-1.example.com") == "node-1.example.com"
    assert host_name("nö de") == "nde"
    assert host_name("") == "-"
