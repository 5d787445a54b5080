"""Checks of this machine: room on its disks, open files; and of the certificates that it can see."""

import asyncio
import math
import os
import resource
import socket
import ssl
import stat
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic
from typing import Final, Literal, NamedTuple
from urllib.parse import urlsplit

from cryptography.x509 import load_der_x509_certificate

from service.diagnosis.findings import Finding, Installation, fault, ok, warning
from service.errors import Unavailable
from service.files.connections import endpoint_of
from service.kernel.metrics import Health
from service.keyspace.connection import tls_addresses
from service.records.database.servers import tcp_addresses
from service.settings import Settings

SOON: Final = timedelta(days=21)
"""How long before its end a certificate is worth a warning; at most a quarter of its life."""
URGENT: Final = timedelta(days=7)
"""How long before its end a certificate is a fault; at most a twelfth of its life."""
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
    """Return the servers of ``settings`` whose certificate can be looked at, without those of Amazon S3."""
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
        """What the last look has found."""

    async def health(self) -> Health:
        """Return ``down`` if a certificate is not valid now, ``degraded`` if the end of one is urgent.

        Of the last look; a new one is begun if that is old, and not waited for. The details are the ends.
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
        """Return by what it is of (``Endpoint.of``) the certificate that ends first."""
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


_MIB: Final = 1_048_576
_LOW: Final = 1024 * _MIB
_FULL: Final = 64 * _MIB

Room = Literal["enough", "low", "none"]


class Disk(NamedTuple):
    """The file system at one place; ``free`` and ``size`` in bytes, ``files`` is the share of free inodes."""

    free: int
    size: int
    files: float = 1.0
    read_only: bool = False

    @property
    def room(self) -> Room:
        """``low`` below 10 % and 1 GiB, or 1 % of the inodes; ``none`` below 1 % and 64 MiB."""
        if self.read_only or self.files <= 0 or self.free < min(self.size / 100, _FULL):
            return "none"
        return "low" if self.files < 1 / 100 or self.free < min(self.size / 10, _LOW) else "enough"


def places(settings: Settings) -> Mapping[str, Path]:
    """Return where this process writes: ``data``, ``decisions`` and ``log``, each only if it is on a disk."""
    paths = {}
    data = settings.server.data
    if not settings.objstore.bucket or (data / "owner").exists():  # files, or embedded stores
        paths["data"] = data
    if settings.policy.decision_log not in ("off", "stdout"):
        paths["decisions"] = Path(settings.policy.decision_log)
    with suppress(OSError, ValueError):  # a closed output
        if stat.S_ISREG(os.fstat(sys.stdout.fileno()).st_mode):
            paths["log"] = Path(f"/proc/self/fd/{sys.stdout.fileno()}")
    return paths


def disk_at(path: Path) -> Disk:
    """Return the file system of ``path``, or of the nearest folder above it that exists; raises OSError."""
    while not path.exists() and path != path.parent:
        path = path.parent
    stats = os.statvfs(path)
    return Disk(
        free=stats.f_bavail * stats.f_frsize,
        size=stats.f_blocks * stats.f_frsize,
        files=stats.f_favail / stats.f_files if stats.f_files else 1.0,
        read_only=bool(stats.f_flag & os.ST_RDONLY),
    )


class DiskWatch:
    """Looks at the file systems of ``settings`` for one worker."""

    def __init__(self, settings: Settings) -> None:
        self._places = places(settings)
        self._looking: asyncio.Future[dict[str, Disk]] | None = None
        self.disks: Mapping[str, Disk] = {}
        """The file systems that the last look has found, by place."""

    async def health(self) -> Health:
        """Return ``degraded`` for little room, and ``read_only`` for none; raises OSError and Unavailable.

        The details are the free bytes of each place that has no room to spare.
        """
        if self._looking is not None and not self._looking.done():  # a file server that hangs
            raise Unavailable("A file system does not answer")
        self._looking = asyncio.get_running_loop().run_in_executor(None, self._look)
        self.disks = await asyncio.shield(self._looking)
        rooms = {disk.room for disk in self.disks.values()}
        short = {place: disk.free for place, disk in self.disks.items() if disk.room != "enough"}
        return Health("read_only" if "none" in rooms else "degraded" if "low" in rooms else "up", short)

    def free(self) -> Iterator[tuple[str, int]]:
        """Yield each place with its free bytes, of the last look."""
        for place, disk in self.disks.items():
            yield place, disk.free

    def _look(self) -> dict[str, Disk]:
        return {place: disk_at(path) for place, path in self._places.items()}


_FEW_FILES: Final = 4_096
"""Open files below which a worker refuses connections that a usual load brings."""


async def disks(installation: Installation) -> Finding:
    """What has no room is not written: files, logs, and the embedded stores."""
    by_place: dict[str, Disk] = {}
    for place, path in places(installation.settings).items():
        by_place[place] = await asyncio.to_thread(disk_at, path)
    summary = ", ".join(f"{place} {disk.free // _MIB} MiB free" for place, disk in by_place.items())
    rooms = {disk.room for disk in by_place.values()}
    remedy = "make room, or name a place with more in the settings"
    if "none" in rooms:
        full = ", ".join(place for place, disk in by_place.items() if disk.room == "none")
        return fault(f"no room for {full}: {summary}", remedy)
    return (
        warning(f"little room: {summary}", remedy)
        if "low" in rooms
        else ok(summary or "nothing is written here")
    )


def open_files(installation: Installation) -> Finding:
    """Each connection is an open file; what goes beyond the limit is refused."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        return ok("no limit")
    needed = max(_FEW_FILES, installation.settings.server.max_connections)
    message = f"a process may have {hard} open"
    if hard >= needed:
        return ok(message)
    return warning(f"{message}, fewer than {needed}", "raise the hard limit (ulimit -Hn)")


async def certificates(installation: Installation) -> Finding:
    """Nobody connects to a server whose certificate has ended."""
    servers = endpoints(installation.settings)
    if not servers:
        return ok("no server of the settings speaks TLS")
    shown = await asyncio.to_thread(certificates_of, installation.settings)
    if not shown:
        return ok("none was shown: the servers speak no TLS, or can't be reached from here")
    now = datetime.now(UTC)
    summary = ", ".join(_told(endpoint, certificate, now) for endpoint, certificate in shown.items())
    remedy = "renew it, and see that what renews it runs"
    if any(certificate.is_urgent(now) or not certificate.is_valid(now) for certificate in shown.values()):
        return fault(summary, remedy)
    return (
        warning(summary, remedy)
        if any(certificate.is_soon(now) for certificate in shown.values())
        else ok(summary)
    )


def _told(endpoint: Endpoint, certificate: Certificate, now: datetime) -> str:
    if certificate.begin > now:
        return f"that of {endpoint.of} is not valid before {certificate.begin:%Y-%m-%d}"
    word = "ended" if certificate.end <= now else "ends"
    return f"that of {endpoint.of} {word} at {certificate.end:%Y-%m-%d %H:%M} UTC"
