"""Presigned URLs of the object store: AWS Signature Version 4 in the query of a GET.

obstore can presign, but without the parameters that override response headers. These are needed to keep a
browser from running a file.
"""

from __future__ import annotations

import hashlib
import hmac
from datetime import datetime
from typing import Final
from urllib.parse import SplitResult, quote, urlsplit

from service.files.connections import endpoint_of
from service.kernel.clock import now
from service.settings import Objstore

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
