"""Posts bodies to a receiver of webhooks. The URL is a secret: no message, log line or row has it.

An address is resolved once, checked, and connected to, so that a name can't lead elsewhere after the check.
Redirects are not followed, and proxies of the environment are not used.
"""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from service import __version__
from service.kernel.coded_sentences import Sentence
from service.kernel.core_sentences import sentence
from service.kernel.stored_sentences import StoredSentences
from service.kernel.webhooks import SigningKey, seconds_of, signed_headers
from service.settings.destinations import signing_keys
from service.settings.secrecy import mounted_text
from service.settings.webhook_members import webhook_url_fault

if TYPE_CHECKING:  # it takes memory, and few installations have a chat
    import httpx

MOST_ANSWERED: Final = 65_536
"""Bytes that are read of an answer, so that its connection can be reused."""
_READ_FOR: Final = 1.0  # seconds
_OK: Final = range(200, 300)
_REDIRECTS: Final = range(300, 400)
_LATER: Final = (408, 425, 429)
_REFUSED: Final = range(400, 500)
_METADATA: Final = frozenset(
    map(ip_address, ("169.254.169.254", "100.100.100.200", "168.63.129.16", "fd00:ec2::254"))
)
"""Addresses by which clouds hand out credentials to their machines; no destination may have them."""
_NAT64: Final = ip_network("64:ff9b::/96")
Address = IPv4Address | IPv6Address


class Receiver(Protocol):
    """A destination of the settings. With a ``secret``, or a file with it, messages are signed by it.

    ``internal`` allows private addresses, and http. ``timeout`` is in seconds, for one attempt.
    """

    @property
    def url(self) -> str:
        """The address; empty if it is in ``url_file``."""
        ...

    @property
    def url_file(self) -> Path | None:
        """A file with the address."""
        ...

    @property
    def secret(self) -> str:
        """The keys; empty if they are in ``secret_file``, or without any."""
        ...

    @property
    def secret_file(self) -> Path | None:
        """A file with the keys."""
        ...

    @property
    def internal(self) -> bool:
        """True if private addresses are allowed."""
        ...

    @property
    def timeout(self) -> float:
        """Seconds of one attempt."""
        ...


class PostFault(Exception):  # noqa: N818 - not an error of this program
    """A message was not accepted; ``final``: another attempt would not help. ``after``: seconds to wait.

    ``status`` is that of the answer; None without one.
    """

    def __init__(
        self, stated: Sentence, *, final: bool = False, after: float | None = None, status: int | None = None
    ) -> None:
        super().__init__(str(stated))
        self.stated = stated
        self.fault = str(stated)
        self.final = final
        self.after = after
        self.status = status


STORED_FAULTS: Final = StoredSentences(lambda code, _template: code.startswith(("receiver_", "undelivered_")))
"""Reads the stored texts of faults."""

Post: TypeAlias = Callable[[str, bytes], Awaitable[None]]
"""Posts a body with the id of its message, the same for each attempt; raises ``PostFault``."""


async def post(destination: Receiver, message_id: str, body: bytes) -> None:
    """Post one ``body``; raises ``PostFault``."""
    async with posting(destination) as send:
        await send(message_id, body)


@asynccontextmanager
async def posting(destination: Receiver) -> AsyncIterator[Post]:
    """Yield a function that posts, over one connection to the address that the host has now.

    Raises ``PostFault``.
    """
    import httpx  # noqa: PLC0415 - see above

    text = _secret(destination.url, destination.url_file)
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL:
        raise PostFault(sentence("receiver_url_invalid")) from None
    if webhook_url_fault(text) or (url.scheme == "http" and not destination.internal):
        raise PostFault(sentence("receiver_url_invalid"))
    keys = _keys(destination)
    async with _bounded(destination):
        address = await _resolved(url, internal=destination.internal)
    verify = (
        ssl.create_default_context() if url.scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    )
    usual = {
        "Content-Type": "application/json",
        "User-Agent": f"Portcullis/{__version__}",
        "Host": url.netloc.decode(),
    }
    async with httpx.AsyncClient(
        headers=usual,
        verify=verify,
        timeout=destination.timeout,
        follow_redirects=False,
        trust_env=False,
        limits=httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=5.0),
    ) as client:

        async def send(message_id: str, body: bytes) -> None:
            moment = int(datetime.now(UTC).timestamp())
            headers = signed_headers(keys, message_id, moment, body) if keys else {}
            async with (
                _bounded(destination),
                client.stream(
                    "POST",
                    url.copy_with(host=str(address)),
                    content=body,
                    headers=headers,
                    extensions={"sni_hostname": url.host},
                ) as answer,
            ):
                _judge(answer.status_code, answer.headers.get("Retry-After"))
                await finish(answer)

        yield send


@asynccontextmanager
async def _bounded(destination: Receiver) -> AsyncIterator[None]:
    """Let the block exchange with the receiver; raises ``PostFault`` for errors and a timeout."""
    import httpx  # noqa: PLC0415 - see above

    try:
        async with asyncio.timeout(destination.timeout):
            yield
    except TimeoutError:
        raise PostFault(sentence("receiver_late", seconds=f"{destination.timeout:g}")) from None
    except (httpx.HTTPError, httpx.InvalidURL, OSError, UnicodeError) as error:  # the last: labels too long
        raise PostFault(_words(error)) from None


async def finish(answer: "httpx.Response") -> None:
    """Read the rest of an accepted answer; a slow or long one ends the connection instead."""
    import httpx  # noqa: PLC0415 - see above

    length = 0
    with suppress(TimeoutError, httpx.HTTPError):
        async with asyncio.timeout(_READ_FOR):
            async for part in answer.aiter_raw():
                length += len(part)
                if length > MOST_ANSWERED:
                    return


def is_allowed(address: Address, *, internal: bool) -> bool:
    """Return whether a message may go to ``address``: a public one, or with ``internal`` a private one.

    Link-local addresses, and those at which clouds hand out credentials, are never allowed.
    """
    if isinstance(address, IPv6Address) and (inner := _inner(address)):
        return is_allowed(inner, internal=internal)
    if address in _METADATA or address.is_link_local or address.is_multicast or address.is_unspecified:
        return False
    if address.is_loopback:
        return internal
    if address.is_reserved or (isinstance(address, IPv6Address) and address.is_site_local):
        return False
    return address.is_global or (internal and address.is_private)


def _inner(address: IPv6Address) -> IPv4Address | None:
    """Return the address that gateways take out of ``address``: mapped, 6to4, or NAT64 (RFC 6052 §2.1)."""
    if address in _NAT64:
        return IPv4Address(address.packed[12:])
    return address.ipv4_mapped or address.sixtofour


async def _resolved(url: "httpx.URL", *, internal: bool) -> Address:
    """Return an address of the host; raises ``PostFault`` if any of its addresses is not allowed."""
    port = url.port or (443 if url.scheme == "https" else 80)
    rows = await asyncio.get_running_loop().getaddrinfo(url.host, port, type=socket.SOCK_STREAM)
    addresses = [ip_address(str(row[4][0]).partition("%")[0]) for row in rows]
    if not addresses or not all(is_allowed(address, internal=internal) for address in addresses):
        raise PostFault(sentence("receiver_address_refused"), final=True)
    return addresses[0]


def _judge(status: int, retry_after: str | None) -> None:
    if status in _OK:
        return
    if status in _REDIRECTS:
        raise PostFault(sentence("receiver_redirects", status=status), final=True, status=status)
    after = seconds_of(retry_after, datetime.now(UTC))
    final = status in _REFUSED and status not in _LATER
    stated = sentence("receiver_responds", status=status)
    raise PostFault(stated, final=final, after=after, status=status)


def _keys(destination: Receiver) -> list[SigningKey]:
    """Return the keys that sign messages, none without a secret; raises ``PostFault``."""
    if not (destination.secret or destination.secret_file):
        return []
    try:
        return signing_keys(_secret(destination.secret, destination.secret_file))
    except ValueError as error:
        raise PostFault(sentence("receiver_secret_fault", fault=error)) from None


def _secret(text: str, file: Path | None) -> str:
    """Return a secret of the settings, or of its file, which may have changed since the start."""
    if file is None:
        return text
    secret, complaint = mounted_text(file)
    if complaint or not secret:
        raise PostFault(sentence("receiver_file_fault", fault=complaint or "is empty"))
    return secret


def _words(error: Exception) -> Sentence:
    """Return the reason of a failure, without the URL."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return sentence("receiver_certificate_refused", error=cause.verify_message)
        cause = cause.__cause__ or cause.__context__
    return sentence("receiver_unreachable", error=type(error).__name__)
