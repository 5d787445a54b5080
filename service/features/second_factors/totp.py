"""Time-based one-time codes (RFC 6238): SHA-1, six digits, 30 seconds, as in authenticator apps."""

import base64
import secrets
from hmac import compare_digest
from typing import Final
from urllib.parse import quote, urlencode

from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP

DIGITS: Final = 6
PERIOD: Final = 30
"""Seconds of one step."""
SECRET_BYTES: Final = 20
"""The length of a new secret in bytes, equal to that of the hash (RFC 4226 §4, R6)."""


def new_secret() -> bytes:
    return secrets.token_bytes(SECRET_BYTES)


def code_at(secret: bytes, step: int) -> str:
    """Return the code of a step, the number of whole periods since the epoch."""
    return _generator(secret).generate(step * PERIOD).decode()


def step_of(secret: bytes, code: str, now: float) -> int | None:
    """Return the step of ``code``: that of ``now`` (seconds since the epoch) or an adjacent one.

    A phone's clock may differ by one step in either direction (RFC 6238 §6). Returns None for any other code.
    Blanks are ignored, since apps show codes in groups. Each comparison takes the same time.
    """
    current, typed = int(now) // PERIOD, "".join(code.split())
    matching = [step for step in (current, current - 1, current + 1) if _is_code(secret, step, typed)]
    return matching[0] if matching else None


def in_base32(secret: bytes) -> str:
    """Return the secret as people type it into an app."""
    return base64.b32encode(secret).decode().rstrip("=")


def uri_of(secret: bytes, *, issuer: str, account: str) -> str:
    """Return the ``otpauth`` URI of a secret, for a QR code."""
    query = {"secret": in_base32(secret), "issuer": issuer, "algorithm": "SHA1"}
    query |= {"digits": str(DIGITS), "period": str(PERIOD)}
    label = f"{quote(issuer, safe='')}:{quote(account, safe='')}"
    return f"otpauth://totp/{label}?{urlencode(query, quote_via=quote)}"


def _is_code(secret: bytes, step: int, code: str) -> bool:
    return compare_digest(code_at(secret, step).encode(), code.encode("utf-8", "surrogatepass"))


def _generator(secret: bytes) -> TOTP:
    # Apps support SHA-1, and as the hash of an HMAC it is sound (RFC 6194 §3.3).
    return TOTP(secret, DIGITS, SHA1(), PERIOD)  # noqa: S303
