"""Checks of this machine: room on its disks, open files; and of the certificates that it can see."""

from __future__ import annotations

import asyncio
import resource
from datetime import UTC, datetime
from typing import Final

from service.diagnosis.certificates import Certificate, Endpoint, certificates_of, endpoints
from service.diagnosis.disks import Disk, disk_at, places
from service.diagnosis.findings import Finding, fault, ok, warning
from service.diagnosis.installation import Installation

_MIB: Final = 1_048_576
_FEW_FILES: Final = 4_096
"""Open files below which a worker refuses connections that a usual load brings."""


async def disks(installation: Installation) -> Finding:
    """What has no room is not written: files, logs, and the embedded stores."""
    found: dict[str, Disk] = {}
    for place, path in places(installation.settings).items():
        found[place] = await asyncio.to_thread(disk_at, path)
    told = ", ".join(f"{place} {disk.free // _MIB} MiB free" for place, disk in found.items())
    rooms = {disk.room for disk in found.values()}
    remedy = "make room, or name a place with more in the settings"
    if "none" in rooms:
        full = ", ".join(place for place, disk in found.items() if disk.room == "none")
        return fault(f"no room for {full}: {told}", remedy)
    return (
        warning(f"little room: {told}", remedy) if "low" in rooms else ok(told or "nothing is written here")
    )


def open_files(installation: Installation) -> Finding:
    """Each connection is an open file; what goes beyond the limit is refused."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        return ok("no limit")
    wanted = max(_FEW_FILES, installation.settings.server.max_connections)
    message = f"a process may have {hard} open"
    if hard >= wanted:
        return ok(message)
    return warning(f"{message}, fewer than {wanted}", "raise the hard limit (ulimit -Hn)")


async def certificates(installation: Installation) -> Finding:
    """Nobody connects to a server whose certificate has ended."""
    wanted = endpoints(installation.settings)
    if not wanted:
        return ok("no server of the settings speaks TLS")
    found = await asyncio.to_thread(certificates_of, installation.settings)
    if not found:
        return ok("none was shown: the servers speak no TLS, or can't be reached from here")
    now = datetime.now(UTC)
    told = ", ".join(_told(endpoint, one, now) for endpoint, one in found.items())
    remedy = "renew it, and see that what renews it runs"
    if any(one.is_urgent(now) or not one.is_valid(now) for one in found.values()):
        return fault(told, remedy)
    return warning(told, remedy) if any(one.is_soon(now) for one in found.values()) else ok(told)


def _told(endpoint: Endpoint, one: Certificate, now: datetime) -> str:
    if one.begin > now:
        return f"that of {endpoint.of} is not valid before {one.begin:%Y-%m-%d}"
    word = "ended" if one.end <= now else "ends"
    return f"that of {endpoint.of} {word} at {one.end:%Y-%m-%d %H:%M} UTC"
