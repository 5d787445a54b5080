"""Opening the object store of the settings.

The client of object stores, obstore, is imported when files are first used. A worker has 8 MB more with it.
"""

import hashlib
import hmac
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import SplitResult, quote, urlsplit, urlunsplit

from service.kernel.clock import now
from service.settings import Objstore

if TYPE_CHECKING:
    from obstore.store import LocalStore, S3Config, S3Store

Store: TypeAlias = "LocalStore | S3Store"
Opener: TypeAlias = Callable[[], Store]

_CONNECT: Final = timedelta(seconds=2)
_RETRY: Final = timedelta(seconds=1)
"""Requests are retried only this long after they began: a slow error must not double the wait."""
_NO_LIMIT: Final = timedelta(days=1)
"""Limit of a whole transfer, which depends on the client: only silence has a real time limit."""


def modules_of(settings: Objstore) -> list[str]:
    """Return the modules that each worker uses at once: its readiness asks the bucket, if there is one."""
    return ["obstore.store"] if settings.bucket else []


def is_of_store(error: Exception) -> bool:
    """Return whether ``error`` says that a store or the system has failed."""
    if isinstance(error, OSError):
        return True
    client = sys.modules.get("obstore.exceptions")
    return client is not None and isinstance(error, client.BaseError)


def opener(settings: Objstore, directory: Path) -> Opener:
    """Return a function that opens the S3 store of ``settings``, or without a bucket local ``directory``.

    A missing directory is created with mode 0700.
    """
    return partial(_s3, settings) if settings.bucket else partial(_local, directory)


def endpoint_of(settings: Objstore) -> str:
    """Return the URL for requests, with the bucket in its host if addressing is ``virtual``.

    Empty for Amazon S3, whose endpoints obstore knows.
    """
    if not settings.endpoint or settings.addressing == "path":
        return settings.endpoint
    parts = urlsplit(settings.endpoint)
    return urlunsplit(parts._replace(netloc=f"{settings.bucket}.{parts.netloc}"))


def _local(directory: Path) -> "LocalStore":
    from obstore.store import LocalStore  # noqa: PLC0415 - see above

    make_directory(directory)
    return LocalStore(directory)


def make_directory(directory: Path) -> None:
    """Make ``directory`` with mode 0700, unless it is there."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)


def _s3(settings: Objstore) -> "S3Store":
    from obstore.store import S3Store  # noqa: PLC0415 - see above

    keys: S3Config = {"access_key_id": settings.access_key, "secret_access_key": settings.secret_key}
    silence = timedelta(seconds=settings.timeout)
    return S3Store(
        settings.bucket,
        endpoint=endpoint_of(settings) or None,
        region=settings.region,
        virtual_hosted_style_request=settings.addressing == "virtual",
        client_options={
            "allow_http": settings.endpoint.startswith("http://"),
            "connect_timeout": min(_CONNECT, silence),
            "read_timeout": silence,
            "timeout": _NO_LIMIT,
        },
        retry_config={"max_retries": 1, "retry_timeout": min(_RETRY, silence)},
        config=keys if settings.access_key else None,  # without keys obstore looks for those of the machine
    )


_ALGORITHM: Final = "AWS4-HMAC-SHA256"
_SAVED: Final = "application/octet-stream"
_AMAZON: Final = "amazonaws.com"


class PresignedUrls:
    """Makes URLs of objects with the access keys of the settings, which must be set."""

    def __init__(self, settings: Objstore) -> None:
        self._settings = settings
        self._base = _base(settings)

    def of(self, key: str, disposition: str, at: datetime | None = None) -> str:
        """Return the URL of the object ``key``, valid from ``at`` (default: now) for ``presigned_life``.

        The answer has ``disposition`` as its Content-Disposition, and a type that no browser runs. Both are
        signed.
        """
        settings = self._settings
        parts = urlsplit(self._base)
        path = f"{parts.path.rstrip('/')}/{quote(key)}"
        host = _host(parts)
        time = f"{at or now():%Y%m%dT%H%M%SZ}"
        scope = f"{time[:8]}/{settings.region}/s3/aws4_request"
        parameters = {
            "X-Amz-Algorithm": _ALGORITHM,
            "X-Amz-Credential": f"{settings.access_key}/{scope}",
            "X-Amz-Date": time,
            "X-Amz-Expires": str(settings.presigned_life),
            "X-Amz-SignedHeaders": "host",
            "response-content-disposition": disposition,
            "response-content-type": _SAVED,
        }
        query = "&".join(f"{name}={quote(value, safe='')}" for name, value in parameters.items())
        request = f"GET\n{path}\n{query}\nhost:{host}\n\nhost\nUNSIGNED-PAYLOAD"
        digest = hashlib.sha256(request.encode()).hexdigest()
        signature = self._sign(f"{_ALGORITHM}\n{time}\n{scope}\n{digest}", time[:8])
        return f"{parts.scheme}://{host}{path}?{query}&X-Amz-Signature={signature}"

    def _sign(self, text: str, day: str) -> str:
        key = f"AWS4{self._settings.secret_key}".encode()
        for part in (day, self._settings.region, "s3", "aws4_request"):
            key = hmac.digest(key, part.encode(), "sha256")
        return hmac.digest(key, text.encode(), "sha256").hex()


def _base(settings: Objstore) -> str:
    if settings.endpoint:
        endpoint = endpoint_of(settings).rstrip("/")
        return endpoint if settings.addressing == "virtual" else f"{endpoint}/{settings.bucket}"
    if settings.addressing == "virtual":
        return f"https://{settings.bucket}.s3.{settings.region}.{_AMAZON}"
    return f"https://s3.{settings.region}.{_AMAZON}/{settings.bucket}"


def _host(parts: SplitResult) -> str:
    """Return the host as clients send it, and as it must be signed: without a default port."""
    usual = {"http": ":80", "https": ":443"}[parts.scheme]
    return parts.netloc.removesuffix(usual)
