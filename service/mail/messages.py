"""Mails as messages (RFC 5322). ``email.message`` makes all headers, and refuses line breaks in them."""

from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP, SMTPUTF8
from email.utils import format_datetime

from service.mail.letters import text_of
from service.records.mail import WaitingMail


def message_of(mail: WaitingMail, recipient: str, sender: str, site: str, link: str | None) -> bytes:
    """Return ``mail`` to ``recipient`` as bytes: the same ones each time that it is sent.

    KeyError for an unknown kind.
    """
    subject, text = text_of(mail.kind, mail.facts, site, link)
    message = EmailMessage(policy=SMTP if recipient.isascii() else SMTPUTF8)
    message["From"] = _address(sender)
    message["To"] = _address(recipient)
    message["Subject"] = subject
    message["Date"] = format_datetime(mail.create_time)
    message["Message-ID"] = mail.message_id
    message["Auto-Submitted"] = "auto-generated"  # RFC 3834 §5: nothing answers it by itself
    message.set_content(text)
    return message.as_bytes()


def _address(address: str) -> Address:
    local, _, domain = address.rpartition("@")
    return Address(username=local, domain=domain)
