"""The object store: any S3-compatible service, or a local directory, behind one interface."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import obstore
from obstore.store import LocalStore, S3Store

from service.errors import Unavailable

if TYPE_CHECKING:
    from pathlib import Path

    from service.settings import Objstore

TIMEOUT = timedelta(seconds=2)


class ObjectStore:
    """Where the bytes of files are; ``description`` names it without a secret."""

    def __init__(self, store: LocalStore | S3Store, description: str) -> None:
        self._store = store
        self.description = description

    async def ping(self) -> None:
        """List one page below a prefix that is never used: reachable, and the credentials are right.

        Raises ``Unavailable`` when it isn't so.
        """
        try:
            await obstore.list_with_delimiter_async(self._store, prefix="readiness")
        except (obstore.exceptions.BaseError, OSError) as error:
            raise Unavailable("The object store is out of reach") from error


def open_store(settings: Objstore, directory: Path) -> ObjectStore:
    """Return the S3-compatible store of ``settings`` when it names a bucket, else local ``directory``.

    The directory is made, mode 0700, when it is missing.
    """
    if not settings.bucket:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        return ObjectStore(LocalStore(directory), f"local directory {directory}")
    store = S3Store(
        settings.bucket,
        endpoint=settings.endpoint or None,
        region=settings.region or "us-east-1",
        access_key_id=settings.access_key,
        secret_access_key=settings.secret_key,
        client_options={
            "allow_http": settings.endpoint.startswith("http://"),
            "connect_timeout": TIMEOUT,
            "timeout": TIMEOUT,
        },
        retry_config={"max_retries": 1, "retry_timeout": TIMEOUT},
    )
    return ObjectStore(store, f"bucket {settings.bucket} at {settings.endpoint or 'AWS S3'}")
