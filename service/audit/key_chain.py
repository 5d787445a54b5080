"""The hashes that chain entries, and the seals over records, by the key of an installation."""

import hashlib
import hmac
from datetime import date
from typing import Final

from service.records.logs.inserts import Log

_ID_LENGTH: Final = 8


class Chain:
    """Makes the hashes: HMAC-SHA-256 (RFC 2104) with ``key`` if it is given, else SHA-256.

    Each key, named by ``key_id``, has a chain of its own: a day on which the key changes has two.
    """

    def __init__(self, key: str = "") -> None:
        self._keyed = hmac.new(key.encode(), digestmod="sha256") if key else None
        self.key_id = self._digest(b"portcullis: id of the key").hex()[:_ID_LENGTH] if key else ""

    def begin(self, log: Log, day: date) -> bytes:
        """Return the hash before the first entry of a day."""
        return self._digest(f"portcullis: {log} {day}".encode())

    def link(self, before: bytes, number: int, canonical: bytes) -> bytes:
        """Return the hash of entry ``number`` (from 1) after the hash ``before``."""
        return self._digest(before + number.to_bytes(8) + canonical)

    def seal(self, facts: str) -> bytes:
        """Return the seal over ``facts``, which begin with the kind of record that they are of."""
        return self._digest(f"portcullis: {facts}".encode())

    def _digest(self, content: bytes) -> bytes:
        if self._keyed is not None:
            keyed = self._keyed.copy()  # a key is costly to prepare
            keyed.update(content)
            return keyed.digest()
        return hashlib.sha256(content).digest()
