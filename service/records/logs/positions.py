"""Positions between two entries of a log, and the cursors that encode them for clients."""

from __future__ import annotations

import base64
import binascii
import struct
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from service.errors import ValidationFailed

_FORM: Final = struct.Struct(">?qq")  # newest first; microseconds since the epoch; id
_WRITTEN: Final = struct.Struct(">Bq")  # a letter; id
_FOLLOWING: Final = ord("f")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_LONGEST_ID: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Position:
    """The position right after the entry with that time and id, in the given order."""

    create_time: datetime
    id: int
    newest_first: bool

    @property
    def cursor(self) -> str:
        """The position as URL-safe text. It is not secret and grants nothing."""
        microseconds = (self.create_time - _EPOCH) // _MICROSECOND
        packed = _FORM.pack(self.newest_first, microseconds, self.id)
        return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def position_of(cursor: str, *, newest_first: bool) -> Position:
    """Return the position that ``cursor`` encodes.

    ValidationFailed for a text that is no cursor, and for a cursor of the other order.
    """
    try:
        order, microseconds, entry_id = _FORM.unpack(base64.urlsafe_b64decode(f"{cursor}="))
        position = Position(_EPOCH + timedelta(microseconds=microseconds), entry_id, order)
    except (binascii.Error, struct.error, ValueError, OverflowError):
        raise _refused() from None
    # Only one text per position: base64 decoding ignores some characters.
    if position.cursor != cursor or not 1 <= entry_id <= _LONGEST_ID:
        raise _refused()
    if order != newest_first:
        raise ValidationFailed(("cursor", "The cursor belongs to the other order"))
    return position


def follow_cursor(written: int) -> str:
    """Return the cursor after which the entries come that were written after that with the id ``written``."""
    return base64.urlsafe_b64encode(_WRITTEN.pack(_FOLLOWING, written)).decode()


def written_of(cursor: str) -> int:
    """Return the id that ``follow_cursor`` was given. Raises ValidationFailed for any other text."""
    try:
        _, written = _WRITTEN.unpack(base64.urlsafe_b64decode(cursor))
    except (binascii.Error, struct.error, ValueError):
        raise _refused("after") from None
    if written < 0 or follow_cursor(written) != cursor:
        raise _refused("after")
    return int(written)


def _refused(field: str = "cursor") -> ValidationFailed:
    return ValidationFailed((field, "The cursor is not one that a list gave out"))
