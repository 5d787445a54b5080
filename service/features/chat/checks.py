"""The check of the destinations in a chat."""

from typing import Final
from urllib.parse import urlsplit

from service.features.chat import store
from service.kernel.text import counted, printable
from service.operator.findings import Check, Finding, Installation, fault, ok, warning

LATE: Final = 600.0
"""Seconds that a message may wait before doctor reports it."""


async def chat(installation: Installation) -> Finding:
    """Report destinations that accept no notices."""
    destinations = installation.settings.chat.destinations
    if not destinations:
        return ok("off: there are no destinations")
    async with installation.records() as connection:
        standings = await store.standings(connection)
    for destination in destinations:
        standing = standings.get(destination.name)
        if standing is not None and (standing.oldest > LATE or (standing.given_up and standing.fault)):
            reason = printable(standing.fault or "no process sends messages")
            return fault(
                f"{destination.name} accepts no notices: {reason}",
                f"see docs/guides/chat.md, then run portcullis notices test {destination.name}",
            )
    for destination in destinations:
        if urlsplit(destination.url).scheme == "http":
            return warning(f"{destination.name} receives notices unencrypted", "use https")
    return ok(f"{counted(len(destinations), 'destination')}, none late")


CHECKS: Final = (Check("chat", chat, local=True, after="mail"),)
"""The check of the destinations."""
