"""The sentences of findings of the feature: see ``service.kernel.coded_sentences``."""

from typing import Final

from service.kernel.core_sentences import feature_sentences
from service.kernel.stored_sentences import StoredSentences

sentence: Final = feature_sentences(
    {
        "mail_server_responds": "the mail server responds; {waiting, plural, one {# mail} other {# mails}} "
        "waiting, none for long",
        "mail_off": "off: mail.url is empty",
        "mail_unencrypted": "mails and their links are sent unencrypted",
        "encrypt_mail": "use smtps or smtp+starttls",
        "mails_rejected": "the mail server rejected the last {count} mails: {fault}",
        "test_mail": "see docs/guides/mail.md; portcullis mail test shows the full response",
        "mails_given_up": "{count, plural, one {# mail} other {# mails}} given up within a day",
        "send_again": "GET /api/mail/list?state=given_up shows the reasons; send their contents again",
        "waiting_mails": "GET /api/mail/list?state=waiting shows the reasons",
        "mail_server_unusable": "the mail server can't be used: {fault}",
        "see_mail_guide": "see docs/guides/mail.md",
        "mails_late_because": "{count, plural, one {# mail} other {# mails}} waiting, the oldest for "
        "{hours} h: {fault}",
        "mails_late": "{count, plural, one {# mail} other {# mails}} waiting, the oldest for {hours} h",
        "smtp_answered": "{command}: {codes}",
        "smtp_failed": "{command}: {reason}",
        "smtp_ascii_only": "RCPT: the mail server only accepts ASCII addresses",
        "smtp_certificate_refused": "the certificate is refused: {error}",
        "smtp_tls_failed": "TLS failed: {error}",
        "smtp_late": "no answer in time",
        "smtp_closed": "the server has closed the connection",
        "mail_without_address": "it has no valid email address",
        "mail_without_domain": "its email address has no valid domain",
        "mail_link_unreadable": "the link can't be read: see auth.factor_key",
        "notices_deleted": "{notices} notices and {devices} devices deleted",
        "mails_sent": "{sent} mails sent, {deferred} deferred, {given_up} given up",
        "mail_server_refuses": "the mail server takes no mail: {fault}",
    }
)

_FAULTS: Final = ("smtp_", "undelivered_", "mail_without_", "mail_link_")
STORED_FAULTS: Final = StoredSentences(lambda code, _template: code.startswith(_FAULTS), nested={"reason"})
"""Reads the stored texts of faults."""
