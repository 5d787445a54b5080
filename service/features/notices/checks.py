"""The check of the mail server and of waiting mails."""

from dataclasses import replace
from typing import Final

from service.features.notices import store_mail as mail
from service.features.notices.mail_server import MailFault, MailServer
from service.kernel.text import counted
from service.operator.findings import Check, Finding, Installation, fault, ok, warning

_LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")


MAIL_LATE: Final = 3600.0
"""Seconds that a mail may wait before doctor reports it."""
_ANSWERS_WITHIN: Final = 2  # seconds; the operator waits for the report


async def mails(installation: Installation) -> Finding:
    """Without mails, users can't accept invitations and miss notices about their accounts."""
    settings = installation.settings
    if not settings.mail.url:
        return ok("off: mail.url is empty")
    hurried = replace(settings, mail=replace(settings.mail, timeout=_ANSWERS_WITHIN))
    try:
        async with MailServer(hurried) as server:
            await server.try_sender()
    except MailFault as refused:
        return fault(f"the mail server can't be used: {refused.fault}", "see docs/guides/mail.md")
    async with installation.records() as connection:
        standing = await mail.standing(connection)
    if (troubled := _of_outbox(standing)) is not None:
        return troubled
    if settings.mail.server[0] == "smtp" and settings.mail.server[1] not in _LOOPBACK:
        return warning("mails and their links are sent unencrypted", "use smtps or smtp+starttls")
    return ok(f"the mail server responds; {counted(standing.waiting, 'mail')} waiting, none for long")


def _of_outbox(standing: mail.MailStanding) -> Finding | None:
    """Return the finding about waiting and given-up mails; None if all is well."""
    if standing.refused > 1:
        return fault(
            f"the mail server rejected the last {standing.refused} mails: {standing.fault}",
            "see docs/guides/mail.md; portcullis mail test shows the full response",
        )
    if standing.given_up:
        return warning(
            f"{counted(standing.given_up, 'mail')} given up within a day",
            "GET /api/mail/list?state=given_up shows the reasons; send their contents again",
        )
    if standing.oldest > MAIL_LATE:
        return warning(
            f"{counted(standing.waiting, 'mail')} waiting, the oldest for {standing.oldest / 3600:.1f} h"
            + (f": {standing.fault}" if standing.fault else ""),
            "GET /api/mail/list?state=waiting shows the reasons",
        )
    return None


CHECKS: Final = (Check("mail", mails, after="jobs"),)
"""The check of mails."""
