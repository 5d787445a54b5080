"""Refusals shared by the modules of this package."""

from __future__ import annotations

from service.errors import AccountBanned
from service.kernel.clock import from_seconds, rfc3339
from service.records.users.accounts import Credentials


def banned_by(known: Credentials) -> AccountBanned:
    """Return the refusal of a user with a ban in the database."""
    until = known.banned_until
    return AccountBanned() if until is None else AccountBanned(until=rfc3339(until))


def banned(until: int | None) -> AccountBanned:
    """Return the refusal of a banned user; ``until`` (milliseconds since the epoch) is the end of the ban."""
    return AccountBanned() if until is None else AccountBanned(until=rfc3339(from_seconds(until / 1000)))
