"""A store behind Sentinel: the primary is found and followed, also by TLS, and what it confirmed survives."""

import asyncio
import ssl
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from ipaddress import IPv4Address
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from hiredis import Reader

from service.errors import Unavailable
from service.features.sentinel.primary import Primary, group_of
from service.keyspace import SessionStore
from service.keyspace.connection import StoreUrlError
from service.settings import Auth, Redis
from tests.support.cases import with_each
from tests.support.sentinel import GROUP, SentinelGroup

PATIENCE = 30.0  # seconds


@pytest.fixture
def group() -> Iterator[SentinelGroup]:
    with (
        tempfile.TemporaryDirectory(prefix="pc-") as folder,
        SentinelGroup(Path(folder), password="pa55 & w0rd") as group,
    ):
        yield group


@asynccontextmanager
async def opened(group: SentinelGroup, wait_replicas: int = 0) -> AsyncIterator[SessionStore]:
    store = SessionStore(Redis(url=group.url, wait_replicas=wait_replicas, timeout=2.0), Auth())
    following = asyncio.create_task(store.follow_primary())
    try:
        yield store
    finally:
        following.cancel()
        await store.close()


async def is_marked(store: SessionStore, login_id: str) -> bool:
    answer = await store.check(login_id, "web")
    return answer.marker is not None


async def until(succeeds: Callable[[], Awaitable[object]]) -> None:
    """Call ``succeeds`` until it no longer raises Unavailable."""
    async with asyncio.timeout(PATIENCE):
        while True:
            with suppress(Unavailable):
                await succeeds()
                return
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("wait_replicas", [1, pytest.param(0, marks=pytest.mark.extended)])
async def test_what_the_replicas_have_confirmed_survives_the_death_of_the_primary(
    group: SentinelGroup, wait_replicas: int
) -> None:
    acknowledged = []
    async with opened(group, wait_replicas) as store:
        for number in range(3):
            await until(partial(store.mark, [str(number)]))
            acknowledged.append(str(number))
        await asyncio.to_thread(group.cut_off_replicas)
        with suppress(Unavailable):
            await store.mark(["3"])
            acknowledged.append("3")
        old = group.primary
        group.kill(old)
        await asyncio.to_thread(group.wait_for_primary, old)
        await until(lambda: store.check("0", "web"))
        lost = [login_id for login_id in acknowledged if not await is_marked(store, login_id)]
    assert acknowledged == (["0", "1", "2"] if wait_replicas else ["0", "1", "2", "3"])
    assert lost == ([] if wait_replicas else ["3"])


async def test_connections_to_a_server_that_was_demoted_are_dropped(group: SentinelGroup) -> None:
    async with opened(group) as store:
        await store.mark(["1"])
        assert await is_marked(store, "1")
        old = group.primary
        await asyncio.to_thread(group.fail_over)
        await until(lambda: store.mark(["2"]))
        await until(lambda: store.check("2", "web"))
        assert await is_marked(store, "2")
        assert group.primary != old


async def test_only_a_primary_that_a_sentinel_names_is_used_and_missing_replicas_are_told(
    group: SentinelGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    (replica,) = group.replicas

    async def address(_self: Primary) -> tuple[str, int]:
        return "127.0.0.1", replica

    async with opened(group, wait_replicas=1) as store:
        await store.ping()
        with monkeypatch.context() as patch:
            patch.setattr(Primary, "address", address)
            async with opened(group) as misled:
                with pytest.raises(Unavailable) as caught:
                    await misled.ping()
                assert "no primary any more" in str(caught.value.__cause__)
        await asyncio.to_thread(group.kill, replica)
        with pytest.raises(Unavailable, match=r"Too few replicas .* It was done, but may be lost"):
            await store.mark(["1"])
        assert await is_marked(store, "1")
    (sentinel,) = group.sentinels
    await asyncio.to_thread(group.kill, sentinel)
    async with opened(group) as unled:
        with pytest.raises(Unavailable):
            await unled.ping()


def test_a_url_names_sentinels_the_group_and_both_passwords() -> None:
    read = group_of(
        "rediss+sentinel://user:p%40ss@s1:1,s2,[::1]:3/portcullis?db=3&sentinel_password=q%26x&ssl_ca_certs=%2Fca.pem"
    )
    assert read is not None
    assert read.sentinels == (("s1", 1), ("s2", 26379), ("::1", 3))
    assert (read.name, read.tls) == (GROUP, True)
    assert read.of_primary == {"username": "user", "password": "p@ss", "db": 3, "ssl_ca_certs": "/ca.pem"}
    assert read.of_sentinels == {"password": "q&x", "ssl_ca_certs": "/ca.pem"}
    assert "p@ss" not in repr(read)
    assert group_of("redis://host") is None


@with_each(
    ("url", "parameter"),
    [
        ("redis://h/0?socket_timeout=s3cret", "socket_timeout"),
        ("redis://h/0?unheard_of=s3cret", "unheard_of"),
        ("redis+sentinel://s1,[::1]:3/portcullis?db=s3cret", "db"),
        ("redis+sentinel://s1,s2/portcullis?socket_keepalive=1&unheard_of=s3cret", "unheard_of"),
    ],
)
def test_a_url_with_a_parameter_that_can_not_be_used_is_refused_before_the_first_command(
    url: str, parameter: str
) -> None:
    with pytest.raises(StoreUrlError, match=f"parameter {parameter} ") as caught:
        SessionStore(Redis(url=url), Auth())
    assert "s3cret" not in str(caught.value)


Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a key and a certificate for 127.0.0.1 that it has signed itself."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "valkey")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    form, none = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    file = tmp_path_factory.mktemp("tls") / "both.pem"
    file.write_bytes(key.private_bytes(pem, form, none) + made.public_bytes(pem))
    return file


@pytest.fixture
async def sentinel(redis_url: str, certificate: Path) -> AsyncIterator[int]:
    """The port of a Sentinel by TLS that names the session's Valkey, which is reached by TLS too."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)

    async def listening(serve: Serve) -> asyncio.Server:
        return await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        theirs, ours = await asyncio.open_unix_connection(urlsplit(redis_url).path)
        await asyncio.gather(copy(reader, ours), copy(theirs, writer))

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        commands = Reader()
        while piece := await reader.read(4096):
            commands.feed(piece)
            while words := commands.gets():
                asked = words[0] == b"SENTINEL"
                writer.write(b"*2\r\n$9\r\n127.0.0.1\r\n$5\r\n%05d\r\n" % port if asked else b"+OK\r\n")
        writer.close()

    async with await listening(forward) as primary, await listening(answer) as named:
        port = primary.sockets[0].getsockname()[1]
        yield named.sockets[0].getsockname()[1]


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(65_536):
        writer.write(piece)
    writer.close()


async def test_both_are_reached_by_tls_if_they_are_trusted(sentinel: int, certificate: Path) -> None:
    url = f"rediss+sentinel://127.0.0.1:{sentinel}/portcullis"
    async with SessionStore(Redis(url=f"{url}?ssl_ca_certs={certificate}", timeout=10), Auth()) as trusting:
        await trusting.mark(["7"])
        assert (await trusting.check("7", "web")).marker is not None
    async with SessionStore(Redis(url=url), Auth()) as suspicious:
        with pytest.raises(Unavailable):
            await suspicious.ping()
