"""The connection to the mail server, and the meaning of its refusals.

A fault has the command and the codes of the answer (RFC 5321 §4.2, RFC 3463). It omits the text of the
answer, which may repeat the mail.
"""

import asyncio
import re
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from urllib.parse import urlsplit

import idna
from aiosmtplib import SMTP, SMTPException, SMTPResponseException, SMTPServerDisconnected, SMTPTimeoutError

from service.features.notices.sentences import sentence
from service.kernel.closable import Closable
from service.kernel.coded_sentences import Sentence
from service.kernel.value_rules import EMAIL
from service.settings import Settings

ENVELOPE_SHARE: Final = 3
"""The limit for a connection, and for an envelope, as a multiple of ``mail.timeout``."""
CONTENT_SHARE: Final = 10
"""The limit for accepting a message, as a multiple of ``mail.timeout``."""

_ENHANCED: Final = re.compile(r"[245]\.\d{1,3}\.\d{1,3}(?!\S)")
_CLOSING: Final = 421
_PERMANENT: Final = range(500, 600)
# Codes about the login or about commands out of order: the server refuses this client, not a mail.
_OF_CLIENT: Final = frozenset({_CLOSING, 503, 530, 534, 535, 538})


class MailFault(Exception):  # noqa: N818 - it says what is wrong
    """A refused mail: ``fault`` is the reason in storable words, ``answer`` is the server's text.

    ``of_server``: the server would refuse every mail. ``final``: it will never take this mail (RFC 5321
    §4.2.1: a client should not repeat a command refused with 5yz).
    """

    def __init__(
        self, stated: Sentence, answer: str = "", *, of_server: bool = False, final: bool = False
    ) -> None:
        super().__init__(str(stated))
        self.stated: Final = stated
        self.fault: Final = str(stated)
        self.answer: Final = answer
        self.of_server: Final = of_server
        self.final: Final = final


class MailServer(Closable):
    """The mail server of the settings, connected while mails are sent."""

    def __init__(self, settings: Settings) -> None:
        self._mail = settings.mail
        self._name = urlsplit(settings.server.public_url).hostname or "localhost"
        self._smtp: SMTP | None = None

    async def connect(self) -> None:
        """Connect and log in, unless connected; raises ``MailFault``."""
        if self._smtp is not None:
            try:
                await self._smtp.rset()
            except (SMTPException, OSError):
                self._smtp.close()  # the server closes this connection
                self._smtp = None
            else:
                return
        scheme, host, port = self._mail.server
        context = None
        if scheme != "smtp":  # reading all certificate authorities takes longer than most requests
            with _as_mail_fault("connection"):
                context = await asyncio.to_thread(ssl.create_default_context, cafile=self._mail.ca_file)
        smtp = SMTP(
            hostname=host,
            port=port,
            local_hostname=self._name,
            timeout=self._mail.timeout,
            use_tls=scheme == "smtps",
            start_tls=False,  # a step of its own
            tls_context=context,
        )
        try:
            await self._begin_session(smtp, context if scheme == "smtp+starttls" else None)
        except BaseException:
            smtp.close()
            raise
        self._smtp = smtp

    async def _begin_session(self, smtp: SMTP, upgrade: ssl.SSLContext | None) -> None:
        """Connect, greet, start TLS with the context ``upgrade``, and log in; a fault names the step."""
        until = asyncio.get_running_loop().time() + ENVELOPE_SHARE * self._mail.timeout
        with _as_mail_fault("connection"):
            async with asyncio.timeout_at(until):
                await smtp.connect()
        with _as_mail_fault("EHLO"):
            async with asyncio.timeout_at(until):
                if smtp.is_ehlo_or_helo_needed:
                    await smtp.ehlo()
        if upgrade is not None:
            with _as_mail_fault("STARTTLS"):
                async with asyncio.timeout_at(until):
                    await smtp.starttls(tls_context=upgrade)
        if self._mail.user:
            with _as_mail_fault("login"):
                async with asyncio.timeout_at(until):
                    await smtp.login(self._mail.user, self._mail.password)

    async def try_sender(self) -> None:
        """Connect, and begin a mail from ``mail.from`` without sending it; raises ``MailFault``."""
        await self.connect()
        assert self._smtp is not None  # noqa: S101 - connected
        with _as_mail_fault("MAIL"):
            async with asyncio.timeout(ENVELOPE_SHARE * self._mail.timeout):
                await self._smtp.mail(self._mail.from_)
                await self._smtp.rset()

    async def begin(self, recipient: str) -> None:
        """Begin a mail to ``recipient``, as ``deliverable`` returns it; raises ``MailFault``."""
        await self.connect()
        assert self._smtp is not None  # noqa: S101 - connected
        if not recipient.isascii() and not self._smtp.supports_extension("smtputf8"):
            raise MailFault(sentence("smtp_ascii_only"), final=True)
        options = [] if recipient.isascii() else ["SMTPUTF8"]
        with _as_mail_fault("MAIL"):
            async with asyncio.timeout(ENVELOPE_SHARE * self._mail.timeout):
                await self._smtp.mail(self._mail.from_, options=options)
                with _as_mail_fault("RCPT", of_mail=True):
                    await self._smtp.rcpt(recipient, encoding="utf-8")

    async def finish(self, message: bytes) -> str:
        """Send the content of the begun mail, and return the answer; raises ``MailFault``."""
        assert self._smtp is not None  # noqa: S101 - begun
        with _as_mail_fault("DATA", of_mail=True):
            async with asyncio.timeout((CONTENT_SHARE + 1) * self._mail.timeout):
                return (await self._smtp.data(message, timeout=CONTENT_SHARE * self._mail.timeout)).message

    async def close(self) -> None:
        """Send QUIT, and close the connection."""
        smtp, self._smtp = self._smtp, None
        if smtp is not None:
            try:
                async with asyncio.timeout(self._mail.timeout):
                    await smtp.quit()
            except (SMTPException, OSError):
                pass  # it is closed in any case
            finally:
                smtp.close()


def deliverable(address: str) -> str:
    """Return an address with its domain in ASCII (RFC 5891); ``MailFault`` for an invalid address."""
    if EMAIL(address) is not None:
        raise MailFault(sentence("mail_without_address"), final=True)
    local, _, domain = address.rpartition("@")
    try:
        return f"{local}@{domain if domain.isascii() else idna.encode(domain, uts46=True).decode()}"
    except idna.IDNAError:
        raise MailFault(sentence("mail_without_domain"), final=True) from None


@contextmanager
def _as_mail_fault(command: str, *, of_mail: bool = False) -> Iterator[None]:
    try:
        yield
    except SMTPResponseException as error:
        of_server = not of_mail or error.code in _OF_CLIENT
        final = not of_server and error.code in _PERMANENT
        enhanced = _ENHANCED.search(error.message)
        codes = f"{error.code} {enhanced[0]}" if enhanced else str(error.code)
        stated = sentence("smtp_answered", command=command, codes=codes)
        raise MailFault(stated, error.message, of_server=of_server, final=final) from None
    except (SMTPException, OSError) as error:
        stated = sentence("smtp_failed", command=command, reason=_words(error))
        raise MailFault(stated, of_server=not of_mail) from None


def _words(error: BaseException) -> str:
    cause = error.__cause__ or error
    if isinstance(cause, ssl.SSLCertVerificationError):
        return sentence("smtp_certificate_refused", error=cause.verify_message)
    if isinstance(cause, ssl.SSLError):
        return sentence("smtp_tls_failed", error=cause.reason)
    if isinstance(error, SMTPTimeoutError | TimeoutError):
        return sentence("smtp_late")
    if isinstance(cause, SMTPServerDisconnected):
        return sentence("smtp_closed")
    if isinstance(cause, OSError) and cause.strerror:
        return cause.strerror
    return error.message if isinstance(error, SMTPException) else type(error).__name__
