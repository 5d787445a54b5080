"""Certificates of an authority of the test's own, and a server that shows one as a proxy or a store does."""

import socket
import ssl
import threading
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from types import TracebackType
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

_SSL_REQUEST = bytes.fromhex("00000008 04d2162f")


def write_certificate(path: Path, *, ends_in: timedelta, begins_in: timedelta = timedelta(days=-400)) -> Path:
    """Write a certificate for localhost, and its key, to ``path``; return it."""
    key, now = generate_private_key(SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    made = (
        x509.CertificateBuilder(name, name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + begins_in)
        .not_valid_after(now + ends_in)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, SHA256())
    )
    encoded = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.write_bytes(made.public_bytes(Encoding.PEM) + encoded)
    return path


class TlsServer:
    """Shows the certificate at ``path`` as it is at each connection, until it is left.

    Answers PostgreSQL's SSLRequest with ``postgres``: ``S``, or ``N`` for no TLS; None: TLS from the start.
    """

    def __init__(self, path: Path, postgres: bytes | None = None) -> None:
        self._path = path
        self._postgres = postgres
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection, suppress(OSError):
                self._show(connection)

    def _show(self, connection: socket.socket) -> None:
        if self._postgres is not None:
            assert connection.recv(8) == _SSL_REQUEST
            connection.sendall(self._postgres)
            if self._postgres != b"S":
                return
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._path)
        with context.wrap_socket(connection, server_side=True) as speaking:
            speaking.recv(1)


_SIGNS = x509.KeyUsage(
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=False,
    encipher_only=False,
    decipher_only=False,
)


class Authority:
    """An authority; ``file`` has its certificate in PEM."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Test authority")])
        made = (
            self._builder(self._name, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(_SIGNS, critical=True)
        )
        self.file = folder / "authority.pem"
        self.file.write_bytes(self._signed(made).public_bytes(serialization.Encoding.PEM))

    def server(self, address: str) -> ssl.SSLContext:
        """Return the context of a server with a certificate for the IP ``address``."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, address)])
        alternatives = x509.SubjectAlternativeName([x509.IPAddress(ip_address(address))])
        made = self._builder(name, key.public_key()).add_extension(alternatives, critical=False)
        file = self._folder / "server.pem"
        file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
            + self._signed(made).public_bytes(serialization.Encoding.PEM)
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context

    def _builder(self, name: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False
            )
        )

    def _signed(self, builder: x509.CertificateBuilder) -> x509.Certificate:
        return builder.sign(self._key, hashes.SHA256())
