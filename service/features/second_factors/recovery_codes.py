"""Recovery codes: random texts on paper; each replaces a second factor once."""

import base64
import hashlib
import secrets
from typing import Final

COUNT: Final = 10
"""The number of codes in a set."""
_BYTES: Final = 15
"""120 bits, which no hash has to be slow for (OWASP ASVS 5.0, 6.5.2: 112)."""
_LENGTH: Final = 24
_GROUP: Final = 6
_READ: Final = str.maketrans({"0": "O", "1": "I", "8": "B", "-": None})


def new_codes() -> list[str]:
    """Return a new set of codes, such as ``K3XWQ2-7LPMAZ-RT4EYB-5UJHNC``."""
    return [_grouped(base64.b32encode(secrets.token_bytes(_BYTES)).decode()) for _ in range(COUNT)]


def digest_of(code: str) -> bytes | None:
    """Return the stored digest of a code; None for an invalid code.

    Case, spaces and dashes are ignored. A digit outside base32 counts as the similar letter.
    """
    plain = "".join(code.split()).upper().translate(_READ)
    if len(plain) != _LENGTH or not plain.isascii() or not plain.isalnum():
        return None
    return hashlib.sha256(plain.encode()).digest()


def _grouped(text: str) -> str:
    return "-".join(text[start : start + _GROUP] for start in range(0, len(text), _GROUP))
