"""Checks of this machine: disk space, open files, and the certificates of servers."""

import asyncio
import resource
from datetime import UTC, datetime
from typing import Final

from service.features.operations.certificates import Certificate, Endpoint, certificates_of, endpoints
from service.features.operations.disks import MIB, Disk, disk_at, places
from service.features.operations.sentences import sentence
from service.kernel.coded_sentences import Sentence
from service.operator.findings import Finding, Installation, fault, ok, warning

_FEW_FILES: Final = 4_096
"""Open files below which a worker refuses connections that a usual load brings."""


async def disks(installation: Installation) -> Finding:
    """Full disks stop writes of files, logs and the embedded stores."""
    by_place: dict[str, Disk] = {}
    for place, path in places(installation.settings).items():
        by_place[place] = await asyncio.to_thread(disk_at, path)
    summary = [
        sentence("disk_with_space", place=place, free=disk.free // MIB) for place, disk in by_place.items()
    ]
    rooms = {disk.room for disk in by_place.values()}
    remedy = sentence("free_space")
    if "none" in rooms:
        full = ", ".join(place for place, disk in by_place.items() if disk.room == "none")
        return fault(sentence("no_space", places=full, disks=summary), remedy)
    return (
        warning(sentence("little_space", disks=summary), remedy)
        if "low" in rooms
        else ok(sentence("disks_with_space", disks=summary) if summary else sentence("nothing_written"))
    )


def open_files(installation: Installation) -> Finding:
    """Each connection is an open file; what goes beyond the limit is refused."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        return ok(sentence("no_limit"))
    needed = max(_FEW_FILES, installation.settings.server.max_connections)
    if hard >= needed:
        return ok(sentence("files_enough", limit=hard))
    return warning(sentence("files_few", limit=hard, needed=needed), sentence("raise_file_limit"))


async def certificates(installation: Installation) -> Finding:
    """Clients can't connect to a server with an expired certificate."""
    servers = endpoints(installation.settings)
    if not servers:
        return ok(sentence("no_tls"))
    shown = await asyncio.to_thread(certificates_of, installation.settings)
    if not shown:
        return ok(sentence("no_certificate"))
    now = datetime.now(UTC)
    validity = [_validity(endpoint, certificate, now) for endpoint, certificate in shown.items()]
    summary = sentence("listed_findings", findings=validity)
    remedy = sentence("renew_certificate")
    if any(certificate.is_urgent(now) or not certificate.is_valid(now) for certificate in shown.values()):
        return fault(summary, remedy)
    return (
        warning(summary, remedy)
        if any(certificate.is_soon(now) for certificate in shown.values())
        else ok(summary)
    )


def _validity(endpoint: Endpoint, certificate: Certificate, now: datetime) -> Sentence:
    if certificate.begin > now:
        return sentence("certificate_begins", server=endpoint.of, day=f"{certificate.begin:%Y-%m-%d}")
    return sentence(
        "certificate_ended" if certificate.end <= now else "certificate_ends",
        server=endpoint.of,
        time=f"{certificate.end:%Y-%m-%d %H:%M} UTC",
    )
