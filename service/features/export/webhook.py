"""Send batches by HTTP, signed by Standard Webhooks (version 1 of its symmetric signatures)."""

import asyncio
import hashlib
import ssl
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import httpx

from service import __version__
from service.features.export.entry import Encoding, Entry, Failed, Refused, encoded_all
from service.features.webhooks.posting import finish
from service.kernel.webhooks import GONE, SigningKey, seconds_of, signed_headers
from service.settings import Destination
from service.settings.destinations import signing_keys
from service.settings.secrecy import mounted_text

_OK: Final = range(200, 300)
_REDIRECTS: Final = range(300, 400)
_REFUSALS: Final = (400, 413, 415, 422)
_INTERNAL: Final = 500
_GONE_FOR: Final = 3600.0  # seconds until a receiver that is gone is asked again: no answer ends an audit


class Webhook:
    """Posts each batch as one JSON array; follows no redirect and uses no proxy of the environment."""

    def __init__(self, destination: Destination, encoding: Encoding) -> None:
        self._url = destination.url
        self._timeout = destination.timeout
        self._encoding = encoding
        self._keys = _signing_keys(_secret(destination.secret, destination.secret_file))
        headers = {"Content-Type": "application/json", "User-Agent": f"Portcullis/{__version__}"}
        if authorization := _secret(destination.authorization, destination.authorization_file):
            headers["Authorization"] = authorization
        self._client = httpx.AsyncClient(
            headers=headers,
            verify=_trusted(destination),
            timeout=destination.timeout,
            follow_redirects=False,
            trust_env=False,
            limits=httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=5.0),
        )

    async def send(self, entries: Sequence[Entry]) -> None:
        """Post ``entries``; see ``Receiver``."""
        body = b"[" + b",".join(await encoded_all(entries, self._encoding)) + b"]"
        headers = signed_headers(self._keys, message_id(entries), int(time.time()), body)
        try:
            async with (
                asyncio.timeout(self._timeout),
                self._client.stream("POST", self._url, content=body, headers=headers) as answer,
            ):
                _judge(answer.status_code, answer.headers.get("Retry-After"))
                await finish(answer)
        except TimeoutError:
            raise Failed(f"no answer within {self._timeout:g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            raise Failed(_words(error)) from None

    async def close(self) -> None:
        await self._client.aclose()


def _trusted(destination: Destination) -> ssl.SSLContext:
    """Return a context with the trusted authorities; empty without TLS, because loading them takes time.

    Raises ``Failed`` when the ``ca_file`` cannot be used.
    """
    if destination.transport == "http":
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    ca_file = destination.ca_file
    try:
        return ssl.create_default_context(cafile=None if ca_file is None else str(ca_file))
    except (OSError, ssl.SSLError) as error:
        raise Failed(f"the ca_file can't be used: {type(error).__name__}") from None


def message_id(entries: Sequence[Entry]) -> str:
    """Return the id of a batch, derived from its entries, so that receivers recognise repetitions."""
    return f"msg_{hashlib.sha256(' '.join(entry.id for entry in entries).encode()).hexdigest()[:32]}"


def _secret(text: str, file: Path | None) -> str:
    """Return a secret from the settings or from its file, which may have changed since the start."""
    if file is None:
        return text
    secret, complaint = mounted_text(file)
    if complaint is None and not secret:
        complaint = "is empty"  # nothing is sent unsigned
    if complaint:
        raise Failed(f"the file of a secret {complaint}")
    return secret


def _signing_keys(text: str) -> list[SigningKey]:
    try:
        return signing_keys(text)
    except ValueError as error:
        raise Failed(f"the secret {error}") from None


def _judge(status: int, retry_after: str | None) -> None:
    if status in _OK:
        return
    if status in _REFUSALS:
        raise Refused(f"the receiver responds with {status}")
    explanation = "which is a redirect and is not followed" if status in _REDIRECTS else "and will be retried"
    after = _GONE_FOR if status == GONE else seconds_of(retry_after, datetime.now(UTC))
    raise Failed(
        f"the receiver responds with {status}, {explanation}", retry_after=after, internal=status == _INTERNAL
    )


def _words(error: Exception) -> str:
    """Return the reason of a failure, without the URL, which may have a token in its path."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"the receiver's certificate is not accepted: {cause.verify_message}"
        cause = cause.__cause__ or cause.__context__
    return f"the receiver can't be reached: {type(error).__name__}"
