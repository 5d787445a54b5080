"""Creating the bucket of the settings, at a start that asks for it."""

from datetime import timedelta
from typing import Final
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import structlog

from service.files.connections import is_of_store, opener
from service.settings import Objstore, Server

_log = structlog.get_logger()

_DEFAULT_REGION: Final = "us-east-1"  # which S3 requires to be omitted
_LIFE: Final = timedelta(minutes=1)
_ALREADY_THERE: Final = 409


def create_bucket(settings: Objstore, server: Server) -> None:
    """Create the bucket of ``settings`` (S3, CreateBucket) if ``create_bucket`` is set.

    Failures are logged and do not stop the start: only files need the store.
    """
    if not (settings.create_bucket and settings.bucket):
        return
    import obstore  # noqa: PLC0415 - only where there is a bucket
    from obstore.store import S3Store  # noqa: PLC0415

    store = opener(settings, server.data)()
    assert isinstance(store, S3Store)  # noqa: S101 - a bucket has been named
    try:
        address = obstore.sign(store, "PUT", "", _LIFE)
        # The URL comes from the settings, which allow http and https only.
        with urlopen(_request(address, settings.region), timeout=settings.timeout):  # noqa: S310 - see above
            _log.info("bucket made", bucket=settings.bucket)
    except HTTPError as error:
        error.close()
        if error.code != _ALREADY_THERE:
            _log.warning("bucket not made", bucket=settings.bucket, status=error.code)
    except Exception as error:
        if not is_of_store(error):
            raise
        _log.warning("bucket not made", bucket=settings.bucket, reason=type(error).__name__)


def _request(address: str, region: str) -> Request:
    body = b""
    if region != _DEFAULT_REGION:
        place = f"<LocationConstraint>{region}</LocationConstraint>"
        body = f"<CreateBucketConfiguration>{place}</CreateBucketConfiguration>".encode()
    return Request(address, data=body, method="PUT", headers={"Content-Type": "application/xml"})  # noqa: S310 - as above
