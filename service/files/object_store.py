"""The object store: any S3-compatible service, or a local directory, behind one interface."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

import obstore
from obstore.store import LocalStore, S3Store

from service.errors import Unavailable
from service.settings import Objstore

if TYPE_CHECKING:  # obstore has it in its stubs only
    from obstore.store import S3Config

TIMEOUT = timedelta(seconds=2)


class ObjectStore:
    """Where the bytes of files are, opened at its first use; ``description`` names it without a secret."""

    def __init__(self, open_: Callable[[], LocalStore | S3Store], description: str) -> None:
        self._open = open_
        self.description = description

    @cached_property
    def _store(self) -> LocalStore | S3Store:
        return self._open()

    async def ping(self) -> None:
        """List one page below a prefix that is never used: reachable, and the credentials are right.

        Raises ``Unavailable`` when it isn't so.
        """
        try:
            await obstore.list_with_delimiter_async(self._store, prefix="readiness")
        except (obstore.exceptions.BaseError, OSError) as error:
            raise Unavailable("The object store is out of reach") from error


def object_store(settings: Objstore, directory: Path) -> ObjectStore:
    """Return the S3-compatible store of ``settings`` when it names a bucket, else local ``directory``.

    The directory is made, mode 0700, when it is missing.
    """
    if not settings.bucket:
        return ObjectStore(partial(_local, directory), f"local directory {directory}")
    return ObjectStore(
        partial(_s3, settings), f"bucket {settings.bucket} at {settings.endpoint or 'Amazon S3'}"
    )


def _local(directory: Path) -> LocalStore:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    return LocalStore(directory)


def _s3(settings: Objstore) -> S3Store:
    keys: S3Config = {"access_key_id": settings.access_key, "secret_access_key": settings.secret_key}
    return S3Store(
        settings.bucket,
        endpoint=settings.endpoint or None,
        region=settings.region,
        client_options={
            "allow_http": settings.endpoint.startswith("http://"),
            "connect_timeout": TIMEOUT,
            "timeout": TIMEOUT,
        },
        retry_config={"max_retries": 1, "retry_timeout": TIMEOUT},
        config=keys if settings.access_key else None,  # without them the machine's own are looked for
    )
