"""The per-request check and its connection, also against a server that answers as no store should."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Coroutine
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
import uvloop
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from service.errors import Unavailable
from service.keyspace import SessionStore
from service.settings import Auth, Redis
from tests.keyspace.conftest import OpenSession, Raw
from tests.support.waiting import eventually_here


async def test_a_check_returns_the_marker_and_the_session(
    open_session: OpenSession, store: SessionStore, raw: Raw
) -> None:
    await open_session("1", "web")
    await raw.set("auth:deny:1", "refresh:1.5")

    marker, session, *_ = await store.check("1", "web")
    assert marker == b"refresh:1.5"
    assert session == (await raw.get("auth:device:1:web")).encode()


async def test_a_check_of_a_stranger_finds_nothing(store: SessionStore) -> None:
    assert await store.check("404", "web") == (None, None, None, None)


async def test_a_check_returns_the_policy_revision_announced_before_it(store: SessionStore) -> None:
    first = store.check("1", "web")
    assert (await first).revision is None
    for revision in (7, 8):
        await store.revision_key.announce(revision)
        answers = await asyncio.gather(*(store.check(login_id, "web") for login_id in ("1", "2", "3")))
        assert [answer.revision for answer in answers] == [revision] * 3


@pytest.mark.usefixtures("one_server")
async def test_checks_of_one_loop_tick_leave_as_one_command(
    open_session: OpenSession, store: SessionStore, raw: Raw
) -> None:
    await store.check("0", "web")
    before = (await raw.info("commandstats"))["cmdstat_mget"]["calls"]
    for number in range(1, 101):
        await open_session(str(number), "web", f"rid-{number}")
    answers = await asyncio.gather(*(store.check(str(number), "web") for number in range(1, 101)))
    after = (await raw.info("commandstats"))["cmdstat_mget"]["calls"]

    assert after - before == 1
    assert [f"rid-{number}".encode() in (text or b"") for number, (_, text, *_) in enumerate(answers, 1)] == (
        [True] * 100
    )


async def test_a_check_asked_for_after_a_marker_was_set_sees_it(store: SessionStore, raw: Raw) -> None:
    async def background() -> None:
        for _ in range(200):
            await store.check("2", "web")

    noise = asyncio.gather(*(background() for _ in range(5)))
    unseen = 0
    for number in range(200):
        await raw.set("auth:deny:1", f"refresh:{number}")
        marker, *_ = await store.check("1", "web")
        unseen += marker != f"refresh:{number}".encode()
    await noise

    assert unseen == 0


async def test_a_cancelled_check_leaves_the_others_their_answers(
    open_session: OpenSession, store: SessionStore
) -> None:
    await open_session("1", "web")
    first = asyncio.ensure_future(store.check("1", "web"))
    second = asyncio.ensure_future(store.check("1", "web"))
    await asyncio.sleep(0)
    first.cancel()

    assert (await second)[1] is not None


@pytest.mark.usefixtures("one_server")
async def test_a_check_survives_the_loss_of_its_connection(store: SessionStore, raw: Raw) -> None:
    await store.check("1", "web")
    await raw.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")

    assert await store.check("1", "web") == (None, None, None, None)


async def test_a_caller_that_waits_when_the_store_is_closed_is_refused(store: SessionStore) -> None:
    waiting = asyncio.ensure_future(store.check("1", "web"))
    await asyncio.sleep(0)
    await store.close()

    with pytest.raises(Unavailable):
        await waiting


Answered = Callable[[int, list[bytes]], bytes | None]
"""Returns the bytes to answer the words of the numbered command with; None to close the connection."""

VALUES = b"*4\r\n$1\r\nm\r\n$1\r\ns\r\n$1\r\n7\r\n$1\r\ne\r\n"
OK = b"+OK\r\n"


class Server:
    """Reads commands of RESP and counts them and its connections."""

    def __init__(self, answered: Answered) -> None:
        self._answered = answered
        self.commands: list[list[bytes]] = []
        self.connections = 0
        self.writers: list[asyncio.StreamWriter] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.writers.append(writer)
        try:
            while True:
                words = await _command(reader)
                self.commands.append(words)
                answer = self._answered(len(self.commands), words)
                if answer is None:
                    break
                writer.write(answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        writer.close()


async def _command(reader: asyncio.StreamReader) -> list[bytes]:
    count = int((await reader.readuntil(b"\r\n"))[1:])
    words = []
    for _ in range(count):
        size = int((await reader.readuntil(b"\r\n"))[1:])
        words.append((await reader.readexactly(size + 2))[:-2])
    return words


def run(test: Coroutine[Any, Any, None]) -> None:
    """Run ``test`` on the loop that the workers have."""
    uvloop.run(test)


async def with_server(
    place: Path,
    answered: Answered,
    use: Callable[[SessionStore, Server], Awaitable[None]],
    timeout: float = 20.0,  # noqa: ASYNC109 - of the store: longer than any machine takes
) -> None:
    server = Server(answered)
    listener = await asyncio.start_unix_server(server.serve, place / "store")
    store = SessionStore(Redis(url=f"unix://{place}/store", timeout=timeout), Auth())
    async with asyncio.timeout(30):
        try:
            await use(store, server)
        finally:
            await store.close()
            listener.close()


def test_a_check_does_not_wait_for_the_reply_to_the_one_before(tmp_path: Path) -> None:
    def answered(number: int, _words: list[bytes]) -> bytes:
        return b"" if number == 1 else 2 * VALUES

    async def use(store: SessionStore, server: Server) -> None:
        first = store.check("1", "web")
        assert await eventually_here(lambda: bool(server.commands))
        second = store.check("2", "web")
        assert await first == await second == (b"m", b"s", 7, b"e")
        assert [words[1] for words in server.commands] == [b"auth:deny:1", b"auth:deny:2"]
        assert server.connections == 1

    run(with_server(tmp_path, answered, use))


@pytest.mark.parametrize(
    "wrong",
    [
        b"-LOADING it is\r\n",
        b"*3\r\n$1\r\nm\r\n$1\r\ns\r\n$1\r\n7\r\n",
        b"*0\r\n",
        b"$-1\r\n",
        b":1\r\n",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
    ],
)
def test_a_wrong_reply_is_refused_and_the_next_check_has_a_new_connection(
    tmp_path: Path, wrong: bytes
) -> None:
    def answered(number: int, _words: list[bytes]) -> bytes:
        return wrong if number == 1 else VALUES

    async def use(store: SessionStore, server: Server) -> None:
        outcomes = await asyncio.gather(store.check("1", "web"), return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [Unavailable]
        assert await store.check("1", "web") == (b"m", b"s", 7, b"e")
        assert server.connections == 2

    run(with_server(tmp_path, answered, use))


def test_a_reply_that_nobody_asked_for_answers_no_later_check(tmp_path: Path) -> None:
    async def use(store: SessionStore, server: Server) -> None:
        await store.check("1", "web")
        server.writers[0].write(b"*4\r\n$-1\r\n$-1\r\n$-1\r\n$-1\r\n")
        (check,) = (pipeline for labels, pipeline in store.calls() if labels["call"] == "check")
        assert await eventually_here(lambda: not check.connected)
        assert await store.check("1", "web") == (b"m", b"s", 7, b"e")
        assert server.connections == 2

    run(with_server(tmp_path, lambda _number, _words: VALUES, use))


def test_a_connection_that_is_lost_twice_before_the_reply_is_a_refusal(tmp_path: Path) -> None:
    async def use(store: SessionStore, server: Server) -> None:
        with pytest.raises(Unavailable):
            await store.check("1", "web")
        assert len(server.commands) == server.connections == 2

    run(with_server(tmp_path, lambda _number, _words: None, use))


def test_checks_without_a_reply_are_refused_in_time_also_those_sent_later(tmp_path: Path) -> None:
    async def use(store: SessionStore, _server: Server) -> None:
        first = store.check("1", "web")
        await asyncio.sleep(0.1)
        later = [store.check("2", "web"), store.check("3", "web")]
        refused = await asyncio.gather(first, *later, return_exceptions=True)
        assert [type(outcome) for outcome in refused] == 3 * [Unavailable]
        with pytest.raises(Unavailable):
            await store.check("1", "web")

    run(with_server(tmp_path, lambda _number, _words: b"", use, timeout=0.3))


def test_nothing_is_sent_or_opened_after_the_end(tmp_path: Path) -> None:
    async def use(store: SessionStore, server: Server) -> None:
        await store.check("1", "web")
        await store.close()
        with pytest.raises(Unavailable):
            await store.check("1", "web")
        with pytest.raises(Unavailable):
            await store.begin_all_rights("new")
        store.deliveries.seen("1", "web", 7)
        await store.close()
        assert len(server.commands) == server.connections == 1

    run(with_server(tmp_path, lambda _number, _words: VALUES, use))


def test_the_end_waits_for_a_connection_that_is_being_opened(tmp_path: Path) -> None:
    async def use(store: SessionStore, _server: Server) -> None:
        before = asyncio.all_tasks()
        asked = store.check("1", "web")
        await asyncio.sleep(0)
        assert asyncio.all_tasks() > before
        await store.close()
        assert asyncio.all_tasks() == before
        with pytest.raises(Unavailable):
            await asked

    run(with_server(tmp_path, lambda _number, _words: VALUES, use))


def test_the_connection_speaks_tls_and_logs_in_as_the_configured_user(tmp_path: Path) -> None:
    authority, private = _certificate(tmp_path)

    def answered(_number: int, words: list[bytes]) -> bytes:
        return VALUES if words[0] == b"MGET" else OK

    async def use() -> None:
        server = Server(answered)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(authority, private)
        listener = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=context)
        port = listener.sockets[0].getsockname()[1]
        url = f"rediss://worker:s3cret@127.0.0.1:{port}/3?ssl_ca_certs={authority}"
        store = SessionStore(Redis(url=url, timeout=20), Auth())
        async with asyncio.timeout(30):
            for _ in range(2):
                assert await store.check("1", "web") == (b"m", b"s", 7, b"e")
            await store.close()
        listener.close()
        assert server.commands[:2] == [[b"AUTH", b"worker", b"s3cret"], [b"SELECT", b"3"]]
        assert [words[0] for words in server.commands[2:]] == [b"MGET", b"MGET"]

    run(use())


def _certificate(place: Path) -> tuple[Path, Path]:
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=True)
        .sign(key, hashes.SHA256())
    )
    public, private = place / "store.pem", place / "key.pem"
    public.write_bytes(certificate.public_bytes(Encoding.PEM))
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return public, private
