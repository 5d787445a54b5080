"""Refusals shared by the modules of this package."""

from __future__ import annotations

from typing import Final

from service.errors import AccountBanned
from service.kernel.clock import from_seconds, rfc3339
from service.records.users.accounts import Standing

NO_PASSWORD: Final = "A service account has no password"  # noqa: S105 - a sentence, no password


def banned_by(known: Standing) -> AccountBanned:
    """Return the refusal of a user with a ban in the database."""
    until = known.banned_until
    return AccountBanned() if until is None else AccountBanned(until=rfc3339(until))


def banned(until: int | None) -> AccountBanned:
    """Return the refusal of a banned user; ``until`` (milliseconds since the epoch) is the end of the ban."""
    return AccountBanned() if until is None else AccountBanned(until=rfc3339(from_seconds(until / 1000)))
