"""Posts a body to a destination. The URL is a secret: no message, log line or row has it.

An address is resolved once, checked, and connected to, so that a name can't lead elsewhere after the check.
Redirects are not followed, and proxies of the environment are not used.
"""

import asyncio
import socket
import ssl
from datetime import UTC, datetime
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from pathlib import Path
from typing import TYPE_CHECKING, Final

from service import __version__
from service.kernel.webhooks import signed_headers
from service.settings import ChatDestination
from service.settings.chats import chat_url_fault
from service.settings.destinations import signing_keys
from service.settings.secrecy import mounted_text

if TYPE_CHECKING:  # it takes memory, and few installations have a chat
    import httpx

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


class PostFault(Exception):  # noqa: N818 - not an error of this program
    """A message was not accepted; ``final``: another attempt would not help. ``after``: seconds to wait."""

    def __init__(self, fault: str, *, final: bool = False, after: float | None = None) -> None:
        super().__init__(fault)
        self.fault = fault
        self.final = final
        self.after = after


async def post(destination: ChatDestination, message_id: str, body: bytes) -> None:
    """Post ``body``; raises ``PostFault``."""
    import httpx  # noqa: PLC0415 - see above

    text = _secret(destination.url, destination.url_file)
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL:
        raise PostFault("its url is not valid") from None
    if chat_url_fault(text) or (url.scheme == "http" and not destination.internal):
        raise PostFault("its url is not valid")
    headers = {"Content-Type": "application/json", "User-Agent": f"Portcullis/{__version__}"}
    if destination.format == "standard":
        headers |= _signed(destination, message_id, body)
    try:
        async with asyncio.timeout(destination.timeout):
            await _send(destination, url, headers, body)
    except TimeoutError:
        raise PostFault(f"no answer within {destination.timeout:g} s") from None
    except (httpx.HTTPError, httpx.InvalidURL, OSError, UnicodeError) as error:  # the last: labels too long
        raise PostFault(_words(error)) from None


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


async def _send(destination: ChatDestination, url: "httpx.URL", headers: dict[str, str], body: bytes) -> None:
    import httpx  # noqa: PLC0415 - see above

    address = await _resolved(url, internal=destination.internal)
    verify = (
        ssl.create_default_context() if url.scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    )
    async with (
        httpx.AsyncClient(
            verify=verify, timeout=destination.timeout, follow_redirects=False, trust_env=False
        ) as client,
        client.stream(
            "POST",
            url.copy_with(host=str(address)),
            content=body,
            headers=headers | {"Host": url.netloc.decode()},
            extensions={"sni_hostname": url.host},
        ) as answer,
    ):
        _judge(answer.status_code, answer.headers.get("Retry-After", ""))


async def _resolved(url: "httpx.URL", *, internal: bool) -> Address:
    """Return an address of the host; raises ``PostFault`` if any of its addresses is not allowed."""
    port = url.port or (443 if url.scheme == "https" else 80)
    rows = await asyncio.get_running_loop().getaddrinfo(url.host, port, type=socket.SOCK_STREAM)
    addresses = [ip_address(str(row[4][0]).partition("%")[0]) for row in rows]
    if not addresses or not all(is_allowed(address, internal=internal) for address in addresses):
        raise PostFault("its host has an address that is not allowed", final=True)
    return addresses[0]


def _judge(status: int, retry_after: str) -> None:
    if status in _OK:
        return
    if status in _REDIRECTS:
        raise PostFault(f"the receiver responds with {status}, a redirect, which is not followed", final=True)
    after = float(retry_after[:6]) if retry_after.isascii() and retry_after.isdigit() else None
    final = status in _REFUSED and status not in _LATER
    raise PostFault(f"the receiver responds with {status}", final=final, after=after)


def _signed(destination: ChatDestination, message_id: str, body: bytes) -> dict[str, str]:
    try:
        keys = signing_keys(_secret(destination.secret, destination.secret_file))
    except ValueError as error:
        raise PostFault(f"the secret {error}") from None
    return signed_headers(keys, message_id, int(datetime.now(UTC).timestamp()), body)


def _secret(text: str, file: Path | None) -> str:
    """Return a secret of the settings, or of its file, which may have changed since the start."""
    if file is None:
        return text
    secret, complaint = mounted_text(file)
    if complaint or not secret:
        raise PostFault(f"the file of a secret {complaint or 'is empty'}")
    return secret


def _words(error: Exception) -> str:
    """Return the reason of a failure, without the URL."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"the receiver's certificate is not accepted: {cause.verify_message}"
        cause = cause.__cause__ or cause.__context__
    return f"the receiver can't be reached: {type(error).__name__}"
