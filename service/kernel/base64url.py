"""Base64url without padding (RFC 7515 §2), as tokens, challenges and proofs are written."""

from binascii import a2b_base64, b2a_base64
from typing import Final

_URL_SAFE: Final = bytes.maketrans(b"+/", b"-_")
_STANDARD: Final = bytes.maketrans(b"-_", b"+/")


def encoded(content: bytes) -> str:
    return b2a_base64(content, newline=False).translate(_URL_SAFE).rstrip(b"=").decode("ascii")


def decoded(text: str) -> bytes:
    """Return the content of ``text``; ValueError unless it is the canonical text of that content."""
    sent = text.encode("ascii")
    content = a2b_base64(sent.translate(_STANDARD) + b"=" * (-len(sent) % 4))
    if b2a_base64(content, newline=False).translate(_URL_SAFE).rstrip(b"=") != sent:
        raise ValueError("not canonical base64url")
    return content
