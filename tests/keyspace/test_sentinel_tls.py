"""A store behind Sentinel by TLS; the engine of the tests has none, so TLS ends in front of it."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from hiredis import Reader

from service.errors import Unavailable
from service.keyspace import SessionStore
from service.settings import Auth, Redis

pytestmark = pytest.mark.anyio

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
    trusting = SessionStore(Redis(url=f"{url}?ssl_ca_certs={certificate}"), Auth())
    await trusting.mark(["7"])
    assert (await trusting.check("7", "web")).marker is not None
    await trusting.close()
    suspicious = SessionStore(Redis(url=url), Auth())
    with pytest.raises(Unavailable):
        await suspicious.ping()
    await suspicious.close()
