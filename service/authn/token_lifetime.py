"""The lifetime of a token: it expires before an assignment of its user begins or ends."""

import secrets
from datetime import datetime
from typing import Final

LEAST: Final = 1.0
"""Seconds that the rights in a new token must still last."""
_EARLY: Final = 20  # a token expires earlier by a random part, at most 1/20 of its life


def life_left(changes_at: datetime | None, now: float) -> float:
    """Return the longest life in seconds of a token issued now; infinity if no assignment begins or ends.

    A token expires at a whole second: services that verify it may know no smaller part.
    """
    return float("inf") if changes_at is None else int(changes_at.timestamp()) - now


def ends_with_rights(changes_at: datetime, now: float, ends: float) -> float:
    """Return ``ends``, or an earlier expiry if an assignment begins or ends before.

    Times are in seconds since the epoch. The expiry is earlier by a random part, so that the holders of a
    role do not all refresh in one second.
    """
    last = int(changes_at.timestamp())
    if last >= ends:
        return ends
    return last - secrets.randbelow(1 + int((last - now) / _EARLY))
