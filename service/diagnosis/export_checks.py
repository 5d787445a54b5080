"""Checks of what is sent elsewhere: the logs to destinations, traces to the collector, and mail."""

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final
from urllib.parse import urlsplit

from service.diagnosis.findings import Finding, Installation, fault, ok, warning
from service.kernel.clock import now
from service.kernel.text import counted, printable
from service.mail.mail_server import MailFault, MailServer
from service.records import export_destinations, mail
from service.records.export_destinations import StoredDestination
from service.settings import Destination

LATE: Final = 600.0
"""Seconds for which an entry may wait before it is told."""
_LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")


async def export(installation: Installation) -> Finding:
    """What another system has not got, it can't alert on, and can't prove."""
    configured = installation.settings.export.destinations
    async with installation.records() as connection:
        stored = {
            stored_destination.name: stored_destination
            for stored_destination in await export_destinations.all_stored(connection)
        }
    if not configured and not stored:
        return ok("there are no destinations")
    failing = [
        destination
        for name, destination in stored.items()
        if name in _names(configured) and _is_late(destination)
    ]
    if failing:
        sentences = (
            f"{destination.name} is behind: {printable(destination.reason or 'nobody sends')}"
            for destination in failing
        )
        return fault(
            "; ".join(sentences),
            "see the receiver, and whether the service runs; then portcullis export retry",
        )
    if troubles := list(_troubles(configured, stored)):
        message, remedy = troubles[0]
        return warning(message, remedy)
    return ok(f"{counted(len(configured), 'destination')}, none late")


def _names(configured: Iterable[Destination]) -> set[str]:
    return {destination.name for destination in configured}


def _is_late(destination: StoredDestination) -> bool:
    since = destination.waiting_time
    return since is not None and (now() - since).total_seconds() > LATE


def _troubles(
    configured: Iterable[Destination], stored: dict[str, StoredDestination]
) -> Iterator[tuple[str, str]]:
    """Yield what works but is a risk, and what to do about it."""
    for destination in stored.values():
        if destination.dead_letters:
            yield (
                f"{destination.name} has {counted(destination.dead_letters, 'dead letter')}",
                "portcullis export dead-letters says why; then portcullis export retry",
            )
    for name in sorted(stored.keys() - _names(configured)):
        yield (
            f"{name} is not in the settings any more, and still holds back what it has not got",
            f"portcullis export forget {name}",
        )
    for where in configured:
        if (state := stored.get(where.name)) and (logs := state.left(where.logs)):
            left = f"{where.name} does not export {' and '.join(logs)} any more"
            yield (
                f"{left}, and still holds back what it has not got",
                f"portcullis export forget {where.name}",
            )
        if where.transport in ("http", "syslog+tcp") and urlsplit(where.url).hostname not in _LOOPBACK:
            yield f"{where.name} gets entries in clear text", "use https or syslog+tls"


async def collector(installation: Installation) -> Finding:
    """Without a collector that takes them, spans are dropped, and requests are slower for nothing."""
    tracing = installation.settings.tracing
    if not tracing.endpoint:
        return ok("off")
    from service.web.observability.tracing import HOW, collector_of, is_installed

    if not is_installed():
        return fault("tracing.endpoint is set, and OpenTelemetry is not installed", HOW)
    opened = collector_of(tracing)
    if await asyncio.to_thread(opened.send, []):
        return ok(f"the collector takes spans, of {tracing.ratio:.2%} of the requests")
    return warning(
        f"the collector takes no spans: {opened.reason}",
        "check tracing.endpoint, its headers and its ca_file",
    )


MAIL_LATE: Final = 3600.0
"""Seconds for which a mail may wait before it is told."""
_ANSWERS_WITHIN: Final = 2  # seconds: somebody waits for the report


async def mails(installation: Installation) -> Finding:
    """Who gets no mail can't accept an invitation, and is not told of what happens to the account."""
    settings = installation.settings
    if not settings.mail.url:
        return ok("off: mail.url is empty")
    hurried = replace(settings, mail=replace(settings.mail, timeout=_ANSWERS_WITHIN))
    server = MailServer(hurried)
    try:
        await server.try_sender()
    except MailFault as refused:
        return fault(f"the mail server can't be used: {refused.fault}", "see docs/guides/mail.md")
    finally:
        await server.close()
    async with installation.records() as connection:
        standing = await mail.standing(connection)
    if (troubled := _of_outbox(standing)) is not None:
        return troubled
    if settings.mail.server[0] == "smtp" and settings.mail.server[1] not in _LOOPBACK:
        return warning("mails and the links in them go in clear text", "use smtps or smtp+starttls")
    return ok(f"the mail server answers; {counted(standing.waiting, 'mail')} waiting, none for long")


def _of_outbox(standing: mail.MailStanding) -> Finding | None:
    """Return what is wrong with the mails that wait or were given up; None for nothing."""
    if standing.refused > 1:
        return fault(
            f"the mail server has refused the last {standing.refused} mails: {standing.fault}",
            "see docs/guides/mail.md; portcullis mail test shows the whole answer",
        )
    if standing.given_up:
        return warning(
            f"{counted(standing.given_up, 'mail')} given up within a day",
            "GET /api/mail/list?state=given_up says why; what they told has to be sent anew",
        )
    if standing.oldest > MAIL_LATE:
        return warning(
            f"{counted(standing.waiting, 'mail')} waiting, the oldest for {standing.oldest / 3600:.1f} h"
            + (f": {standing.fault}" if standing.fault else ""),
            "GET /api/mail/list?state=waiting says why",
        )
    return None
