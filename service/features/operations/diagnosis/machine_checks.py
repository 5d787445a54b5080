"""Checks of this machine: disk space, open files, and the certificates of servers."""

import asyncio
import resource
from datetime import UTC, datetime
from typing import Final

from service.features.operations.certificates import Certificate, Endpoint, certificates_of, endpoints
from service.features.operations.disks import MIB, Disk, disk_at, places
from service.operator.findings import Finding, Installation, fault, ok, warning

_FEW_FILES: Final = 4_096
"""Open files below which a worker refuses connections that a usual load brings."""


async def disks(installation: Installation) -> Finding:
    """Full disks stop writes of files, logs and the embedded stores."""
    by_place: dict[str, Disk] = {}
    for place, path in places(installation.settings).items():
        by_place[place] = await asyncio.to_thread(disk_at, path)
    summary = ", ".join(f"{place} {disk.free // MIB} MiB free" for place, disk in by_place.items())
    rooms = {disk.room for disk in by_place.values()}
    remedy = "free space, or set a path with more space"
    if "none" in rooms:
        full = ", ".join(place for place, disk in by_place.items() if disk.room == "none")
        return fault(f"no space for {full}: {summary}", remedy)
    return (
        warning(f"little space: {summary}", remedy)
        if "low" in rooms
        else ok(summary or "nothing is written here")
    )


def open_files(installation: Installation) -> Finding:
    """Each connection is an open file; what goes beyond the limit is refused."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        return ok("no limit")
    needed = max(_FEW_FILES, installation.settings.server.max_connections)
    message = f"a process can open {hard}"
    if hard >= needed:
        return ok(message)
    return warning(f"{message}, fewer than {needed}", "raise the hard limit (ulimit -Hn)")


async def certificates(installation: Installation) -> Finding:
    """Clients can't connect to a server with an expired certificate."""
    servers = endpoints(installation.settings)
    if not servers:
        return ok("no configured server uses TLS")
    shown = await asyncio.to_thread(certificates_of, installation.settings)
    if not shown:
        return ok("no certificate was received: the servers do not use TLS, or can't be reached from here")
    now = datetime.now(UTC)
    summary = ", ".join(_validity(endpoint, certificate, now) for endpoint, certificate in shown.items())
    remedy = "renew it, and check the automatic renewal"
    if any(certificate.is_urgent(now) or not certificate.is_valid(now) for certificate in shown.values()):
        return fault(summary, remedy)
    return (
        warning(summary, remedy)
        if any(certificate.is_soon(now) for certificate in shown.values())
        else ok(summary)
    )


def _validity(endpoint: Endpoint, certificate: Certificate, now: datetime) -> str:
    if certificate.begin > now:
        return f"the certificate of {endpoint.of} is not valid before {certificate.begin:%Y-%m-%d}"
    word = "ended" if certificate.end <= now else "ends"
    return f"the certificate of {endpoint.of} {word} at {certificate.end:%Y-%m-%d %H:%M} UTC"
