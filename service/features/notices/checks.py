"""The check of the mail server and of waiting mails."""

from dataclasses import replace
from typing import Final

from service.features.notices import store_mail as mail
from service.features.notices.mail_server import MailFault, MailServer
from service.features.notices.sentences import STORED_FAULTS, sentence
from service.kernel.coded_sentences import Sentence
from service.operator.findings import Check, Finding, Installation, fault, ok, warning

_LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")


MAIL_LATE: Final = 3600.0
"""Seconds that a mail may wait before doctor reports it."""
_ANSWERS_WITHIN: Final = 2  # seconds; the operator waits for the report


async def mails(installation: Installation) -> Finding:
    """Without mails, users can't accept invitations and miss notices about their accounts."""
    settings = installation.settings
    if not settings.mail.url:
        return ok(sentence("mail_off"))
    hurried = replace(settings, mail=replace(settings.mail, timeout=_ANSWERS_WITHIN))
    try:
        async with MailServer(hurried) as server:
            await server.try_sender()
    except MailFault as refused:
        return fault(sentence("mail_server_unusable", fault=refused.stated), sentence("see_mail_guide"))
    async with installation.records() as connection:
        standing = await mail.standing(connection)
    if (troubled := _of_outbox(standing)) is not None:
        return troubled
    if settings.mail.server[0] == "smtp" and settings.mail.server[1] not in _LOOPBACK:
        return warning(sentence("mail_unencrypted"), sentence("encrypt_mail"))
    return ok(sentence("mail_server_responds", waiting=standing.waiting))


def _stated(standing: mail.MailStanding) -> Sentence:
    return STORED_FAULTS.read(standing.fault or "")


def _of_outbox(standing: mail.MailStanding) -> Finding | None:
    """Return the finding about waiting and given-up mails; None if all is well."""
    if standing.refused > 1:
        return fault(
            sentence("mails_rejected", count=standing.refused, fault=_stated(standing)),
            sentence("test_mail"),
        )
    if standing.given_up:
        return warning(
            sentence("mails_given_up", count=standing.given_up),
            sentence("send_again"),
        )
    if standing.oldest > MAIL_LATE:
        late = {"count": standing.waiting, "hours": f"{standing.oldest / 3600:.1f}"}
        return warning(
            sentence("mails_late_because", **late, fault=_stated(standing))
            if standing.fault
            else sentence("mails_late", **late),
            sentence("waiting_mails"),
        )
    return None


CHECKS: Final = (Check("mail", mails, after="jobs"),)
"""The check of mails."""
