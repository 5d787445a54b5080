"""Certificates of the servers that this process can see, and when they end."""

import asyncio
import math
import socket
import ssl
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from cryptography.x509 import load_der_x509_certificate

from service.files.connections import endpoint_of
from service.kernel.metrics import Health
from service.keyspace.connection import tls_addresses
from service.records.database.servers import tcp_addresses
from service.settings import Settings

SOON: Final = timedelta(days=21)
"""Remaining lifetime of a certificate below which it is a warning; at most a quarter of its lifetime."""
URGENT: Final = timedelta(days=7)
"""Remaining lifetime of a certificate below which it is an error; at most a twelfth of its lifetime."""
EVERY: Final = 600.0
"""Seconds between two looks of a worker."""

_WITHIN: Final = 3.0  # seconds for one step of a handshake
# SSLRequest (PostgreSQL manual §54.7): its length, and its code.
_SSL_REQUEST: Final = (8).to_bytes(4) + (80_877_103).to_bytes(4)


class Endpoint(NamedTuple):
    """A server that may speak TLS; ``of`` is ``public``, ``database``, ``sessions`` or ``files``."""

    of: str
    host: str
    port: int


class Certificate(NamedTuple):
    """The life of the certificate that an endpoint shows.

    They are usually renewed when about a third of their life is left. One that lives for days or hours
    is judged by its share of life, so that a warning is worth acting on.
    """

    begin: datetime
    end: datetime

    def is_valid(self, now: datetime) -> bool:
        """Say whether it is valid at ``now``."""
        return self.begin <= now < self.end

    def is_soon(self, now: datetime) -> bool:
        """Say whether it should have been renewed by ``now``."""
        return self.end - now < min(SOON, (self.end - self.begin) / 4)

    def is_urgent(self, now: datetime) -> bool:
        """Say whether it ends so soon after ``now`` that somebody has to renew it."""
        return self.end - now < min(URGENT, (self.end - self.begin) / 12)


Certificates = Mapping[Endpoint, Certificate]


def endpoints(settings: Settings) -> list[Endpoint]:
    """Return the servers of ``settings`` whose certificate can be inspected, except Amazon S3."""
    servers = [Endpoint("public", *address) for address in _of_url(settings.server.public_url)]
    servers += [Endpoint("database", *address) for address in tcp_addresses(settings.database.url)]
    servers += [Endpoint("sessions", *address) for address in tls_addresses(settings.redis.url)]
    servers += [Endpoint("files", *address) for address in _of_url(endpoint_of(settings.objstore))]
    return servers


def certificate_of(endpoint: Endpoint) -> Certificate | None:
    """Return the certificate that ``endpoint`` shows, valid or not; None if it speaks no TLS.

    Nothing but the handshake is sent. Raises OSError.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # without roots: an expired one is to be read as well
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with socket.create_connection((endpoint.host, endpoint.port), _WITHIN) as connection:
        if endpoint.of == "database":
            connection.sendall(_SSL_REQUEST)
            if connection.recv(1) != b"S":
                return None
        with context.wrap_socket(connection, server_hostname=endpoint.host) as speaking:
            encoded = speaking.getpeercert(binary_form=True)
    if encoded is None:
        return None
    read = load_der_x509_certificate(encoded)
    return Certificate(read.not_valid_before_utc, read.not_valid_after_utc)


def certificates_of(settings: Settings) -> dict[Endpoint, Certificate]:
    """Return the certificates of those endpoints that can be reached; all are asked at once."""
    servers = endpoints(settings)
    with ThreadPoolExecutor(max(1, len(servers))) as threads:
        shown = dict(zip(servers, threads.map(_shown, servers), strict=True))
    return {endpoint: certificate for endpoint, certificate in shown.items() if certificate is not None}


def _shown(endpoint: Endpoint) -> Certificate | None:
    try:
        return certificate_of(endpoint)
    except OSError:  # whether it is reached is the matter of other checks
        return None


class CertificateWatch:
    """Looks at the certificates of ``settings`` in the background, every ``every`` seconds at most."""

    def __init__(self, settings: Settings, every: float | None = None) -> None:
        self._settings = settings
        self._every = EVERY if every is None else every
        self._began = -math.inf
        self._looking: asyncio.Future[dict[Endpoint, Certificate]] | None = None
        self.certificates: Certificates = {}
        """The certificates of the last check."""

    async def health(self) -> Health:
        """Return ``down`` if a certificate is not valid now, ``degraded`` if the end of one is urgent.

        Uses the last check; if it is old, a new one starts in the background. The details are the expiry
        times.
        """
        self._take()
        if self._looking is None and monotonic() - self._began >= self._every and endpoints(self._settings):
            self._began = monotonic()
            run = asyncio.get_running_loop().run_in_executor
            self._looking = run(None, certificates_of, self._settings)
        now = datetime.now(UTC)
        ends = {
            f"{item.of} {item.host}:{item.port}": matches.end.isoformat()
            for item, matches in self.certificates.items()
        }
        if not all(certificate.is_valid(now) for certificate in self.certificates.values()):
            return Health("down", ends)
        near = any(certificate.is_urgent(now) for certificate in self.certificates.values())
        return Health("degraded" if near else "up", ends)

    def first_ends(self) -> Mapping[str, Certificate]:
        """Return the certificate that expires first, by ``Endpoint.of``."""
        first: dict[str, Certificate] = {}
        for endpoint, matches in self.certificates.items():
            first[endpoint.of] = min(
                first.get(endpoint.of, matches), matches, key=lambda candidate: candidate.end
            )
        return first

    def _take(self) -> None:
        if self._looking is not None and self._looking.done():
            self.certificates, self._looking = self._looking.result(), None


def _of_url(url: str) -> Iterator[tuple[str, int]]:
    parts = urlsplit(url)
    if parts.scheme == "https" and parts.hostname:
        yield parts.hostname, parts.port or 443
