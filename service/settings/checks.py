"""Checks of single values: each returns what a value must be, or None when it is."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from service.settings.table import Check
from service.settings.values import Networks

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}")
_UNGUESSED = re.compile(r"[\x21-\x7e]{32,512}")
_PREFIX = re.compile(r"[\x21-\x7e]{1,31} ?|")


def between(low: float, high: float) -> Check:
    """Take numbers from ``low`` to ``high``, both included."""
    return lambda value: None if low <= value <= high else f"must be {low} to {high}"


def not_empty(value: str) -> str | None:
    """Take any text but an empty one."""
    return None if value.strip() else "must not be empty"


def url(*schemes: str) -> Check:
    """Take URLs of the given schemes, and an empty text."""

    def check(value: str) -> str | None:
        if not value:
            return None
        wanted = "must be a URL starting with " + " or ".join(f"{scheme}://" for scheme in schemes)
        try:
            parts = urlsplit(value)
            _ = parts.port
        except ValueError:
            return wanted
        return None if parts.scheme in schemes and "://" in value else wanted

    return check


def hard_to_guess(value: str) -> str | None:
    """Take visible ASCII of at least 32 characters, and an empty text."""
    fits = not value or _UNGUESSED.fullmatch(value)
    return None if fits else "must be at least 32 visible ASCII characters, without spaces"


def field_name(value: str) -> str | None:
    """Take the name of a header field (RFC 9110 §5.1)."""
    return None if _TOKEN.fullmatch(value) else "must be a header field name of at most 64 characters"


def token_prefix(value: str) -> str | None:
    """Take printable ASCII without spaces, but for one at its end; or nothing."""
    return None if _PREFIX.fullmatch(value) else "must be one word of printable ASCII, or empty"


def not_everyone(value: Networks) -> str | None:
    """Take any networks but those that hold every address."""
    trusting = any(network.prefixlen == 0 for network in value)
    return "must not hold every address: each client could then choose its own" if trusting else None
