"""Opening the object store of the settings."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit, urlunsplit

from obstore.store import LocalStore, S3Store

from service.settings import Objstore

if TYPE_CHECKING:  # exists only in the stubs of obstore
    from obstore.store import S3Config

Store = LocalStore | S3Store
Opener = Callable[[], Store]

_CONNECT: Final = timedelta(seconds=2)
_RETRY: Final = timedelta(seconds=1)
"""Requests are retried only this long after they began: a slow error must not double the wait."""
_NO_LIMIT: Final = timedelta(days=1)
"""Limit of a whole transfer, which depends on the client: only silence has a real time limit."""


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


def _local(directory: Path) -> LocalStore:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    return LocalStore(directory)


def _s3(settings: Objstore) -> S3Store:
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
