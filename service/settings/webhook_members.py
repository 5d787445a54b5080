"""Members of destinations that are receivers of webhooks: their readers, and the rules of a URL."""

import re
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from service.settings.destinations import signing_keys
from service.settings.members import absolute_path

_VISIBLE: Final = re.compile(r"[\x21-\x7e]+")
_SECONDS: Final = (1, 60)


def webhook_url_fault(text: str) -> str | None:
    """Return half a sentence about the fault of a URL, None for a good one; never the URL itself."""
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host or parts.scheme not in ("https", "http") or not _VISIBLE.fullmatch(text):
        return "must have a url such as https://hooks.example.com/path"
    if parts.fragment or "@" in parts.netloc:
        return "must have a url without fragment, user or password"
    return None


def webhook_url(value: object) -> str:
    """Return a URL; raises ValueError, without the URL."""
    if not isinstance(value, str):
        raise ValueError("must have texts")  # noqa: TRY004 - a fault of the operator, as all here
    if complaint := webhook_url_fault(value):
        raise ValueError(complaint)
    return value


def absolute(value: object) -> Path:
    """Return the absolute path of a file; raises ValueError."""
    if not isinstance(value, str):
        raise ValueError("must have texts")  # noqa: TRY004 - a fault of the operator, as all here
    return absolute_path(value)


def signing_secret(value: object) -> str:
    """Return keys that sign, as text; raises ValueError, without the keys."""
    if not isinstance(value, str) or not signing_keys(value):
        raise ValueError("must have a secret that is not empty")
    return value


def whether_internal(value: object) -> bool:
    """Return whether private addresses are allowed; raises ValueError."""
    if not isinstance(value, bool):
        raise ValueError("must have internal as true or false")  # noqa: TRY004 - a fault of the operator
    return value


def seconds(value: Any) -> float:
    """Return the seconds of one attempt; raises ValueError."""
    if type(value) not in (int, float) or not _SECONDS[0] <= value <= _SECONDS[1]:
        raise ValueError(f"must have a timeout of {_SECONDS[0]} to {_SECONDS[1]}")
    return float(value)
