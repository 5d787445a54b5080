"""The settings of mail."""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from service.kernel.languages import FIRST, LANGUAGES, language_fault
from service.kernel.value_rules import EMAIL
from service.settings.checks import between
from service.settings.table import setting
from service.settings.values import OptionalPath

_URL: Final = re.compile(
    r"(?:smtp|smtp\+starttls|smtps)://(?:\[[0-9a-f:.]{2,45}\]|[a-zA-Z0-9._-]+)(?::[1-9][0-9]{0,4})?"
)
_PORTS: Final = {"smtp": 25, "smtp+starttls": 587, "smtps": 465}  # RFC 5321 §4.5.4.2, RFC 6409, RFC 8314


def _mail_url(value: str) -> str | None:
    if not value or _URL.fullmatch(value):
        return None
    return "must be smtp://, smtp+starttls:// or smtps:// with a host, and a port or none: no user, no path"


def _sender(value: str) -> str | None:
    return (
        None if not value or (value.isascii() and EMAIL(value) is None) else "must be an ASCII email address"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Mail:
    """Mail to users, handed to one mail server. It needs `server.public_url` and `auth.factor_key`."""

    url: str = setting(
        "",
        check=_mail_url,
        help="The mail server: `smtps://mail.example.com` (TLS from the start, port 465), "
        "`smtp+starttls://…` "
        "(TLS before any other command, port 587; a server that does not offer it gets no mail) or "
        "`smtp://…` (in clear, port 25). Empty: no mail is sent.",
    )
    user: str = setting("", help="The name to log in with at the mail server. Empty: no login.")
    password: str = setting("", secret=True, help="The password of that name.")
    from_: str = setting(
        "", check=_sender, help="The sender of all mails, such as `portcullis@example.com`; ASCII."
    )
    language: str = setting(
        FIRST,
        check=language_fault,
        help=f"The language of mails to users who have chosen none: one of {', '.join(LANGUAGES)}.",
    )
    ca_file: OptionalPath = setting(
        None,
        shown="the authorities of the system",
        help="A PEM file of certificate authorities, for a mail server whose certificate others do not know.",
    )
    timeout: int = setting(
        60,
        unit="s",
        check=between(1, 600),
        help="How long the mail server may take for each answer, and ten times as long to accept a message "
        "(RFC 5321 §4.5.3.2.6): after that nobody knows whether it did, and it may arrive twice.",
    )

    @property
    def server(self) -> tuple[str, str, int]:
        """The scheme, the host and the port of the mail server."""
        parts = urlsplit(self.url)
        return parts.scheme, parts.hostname or "", parts.port or _PORTS[parts.scheme]
