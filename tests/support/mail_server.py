"""A mail server (aiosmtpd) that tests run, and tell what to answer."""
# ruff: noqa: ARG002, N802 - the hooks of aiosmtpd

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import Any, TypeAlias, cast

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

Answer: TypeAlias = Callable[[SMTP], Awaitable[str]]


def saying(text: str) -> Answer:
    async def answer(_server: SMTP) -> str:
        return text

    return answer


async def dropping(server: SMTP) -> str:
    """Close the connection instead of an answer."""
    cast(asyncio.Transport, server.transport).abort()
    return "451 never sent"


class MailServer:
    """What a server has accepted, and what it answers: each list of answers is used up, from its begin."""

    def __init__(self) -> None:
        self.port = 0
        self.taken: list[tuple[str, EmailMessage]] = []
        self.raw: list[bytes] = []
        self.protocols: list[SMTP] = []
        self.over_tls: list[bool] = []
        self.logins: list[tuple[bytes, bytes]] = []
        self.names: list[str] = []
        self.to_mail: list[Answer] = []
        self.to_rcpt: list[Answer] = []
        self.to_data: list[Answer] = []
        """Asked before a message is accepted."""
        self.after_data: list[Answer] = []
        """Asked after it is."""

    @property
    def message_ids(self) -> list[str]:
        return [str(message["Message-ID"]) for _, message in self.taken]

    async def handle_EHLO(
        self, server: SMTP, session: Session, envelope: Envelope, hostname: str, responses: list[str]
    ) -> list[str]:
        self.names.append(hostname)
        session.host_name = hostname
        return responses

    async def handle_MAIL(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        answer = await self.to_mail.pop(0)(server) if self.to_mail else "250 OK"
        if answer.startswith("2"):
            envelope.mail_from = address
            envelope.mail_options.extend(options)
        return answer

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        answer = await self.to_rcpt.pop(0)(server) if self.to_rcpt else "250 OK"
        if answer.startswith("2"):
            envelope.rcpt_tos.append(address)
        return answer

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        if self.to_data and not (answer := await self.to_data.pop(0)(server)).startswith("2"):
            return answer
        content = cast(bytes, envelope.content)
        self.raw.append(content)
        message = message_from_bytes(content, policy=default)
        self.taken.append((envelope.rcpt_tos[0], message))
        self.over_tls.append(session.ssl is not None)
        return await self.after_data.pop(0)(server) if self.after_data else "250 OK"

    def login(self, *given: Any) -> AuthResult:
        data = given[-1]
        assert isinstance(data, LoginPassword)
        self.logins.append((data.login, data.password))
        return AuthResult(success=data.password == b"p4ss", handled=False)


@asynccontextmanager
async def mail_server(
    *,
    tls: ssl.SSLContext | None = None,
    starttls: ssl.SSLContext | None = None,
    utf8: bool = True,
    **options: Any,
) -> AsyncIterator[MailServer]:
    """Run a server until the end of the block; ``tls`` from the start, or ``starttls`` offered."""
    handler = MailServer()
    loop = asyncio.get_running_loop()

    def protocol() -> SMTP:
        made = SMTP(
            handler,
            hostname="mail.test",
            tls_context=starttls,
            enable_SMTPUTF8=utf8,
            authenticator=handler.login,
            loop=loop,
            **options,
        )
        handler.protocols.append(made)
        return made

    server = await loop.create_server(protocol, "127.0.0.1", 0, ssl=tls)
    handler.port = server.sockets[0].getsockname()[1]
    try:
        yield handler
    finally:
        server.close()
        for made in handler.protocols:
            # Python 3.11.2 raises AttributeError for a TLS transport that is closed.
            if made.transport is not None and not cast(asyncio.Transport, made.transport).is_closing():
                cast(asyncio.Transport, made.transport).abort()
