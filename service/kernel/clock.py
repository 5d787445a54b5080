"""Times as the API writes them."""

from __future__ import annotations

from datetime import UTC, datetime


def now() -> datetime:
    """Return the current time as an aware UTC datetime."""
    return datetime.now(UTC)


def rfc3339(moment: datetime) -> str:
    """Return ``moment`` (aware) in RFC 3339, UTC, with milliseconds: ``2026-11-21T02:33:53.123Z``."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def from_seconds(seconds: float) -> datetime:
    """Return the aware UTC time of ``seconds`` since the epoch."""
    return datetime.fromtimestamp(seconds, UTC)
