"""Standard Webhooks 1.0: signatures by a shared secret (v1) or an Ed25519 key (v1a), and answers."""

import base64
import hmac
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:  # it takes memory, and few destinations have such a key
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

GONE: Final = 410
"""The status of a receiver that wants no more messages."""
SEED: Final = 32
"""Bytes of the private key of Ed25519 (RFC 8032 §5.1.5); its public key may follow."""


@dataclass(frozen=True)
class SigningKey:
    """A key of one destination: a shared secret, or a private key of Ed25519."""

    scheme: Literal["v1", "v1a"]
    secret: bytes = field(repr=False)

    def signature(self, content: bytes) -> str:
        """Return the signature of ``content``, as it stands in the header."""
        if self.scheme == "v1":
            made = hmac.digest(self.secret, content, "sha256")
        else:
            made = self._private.sign(content)
        return f"{self.scheme},{base64.b64encode(made).decode()}"

    @cached_property
    def _private(self) -> "Ed25519PrivateKey":
        from cryptography.hazmat.primitives.asymmetric.ed25519 import (  # noqa: PLC0415 - see above
            Ed25519PrivateKey,
        )

        return Ed25519PrivateKey.from_private_bytes(self.secret[:SEED])

    def fits(self) -> bool:
        """Return whether the public key in the secret, if there is one, is that of the private key."""
        if self.scheme == "v1" or len(self.secret) == SEED:
            return True
        return self._private.public_key().public_bytes_raw() == self.secret[SEED:]


def signed_headers(keys: Sequence[SigningKey], message: str, timestamp: int, body: bytes) -> dict[str, str]:
    """Return the headers of a request: its id, its time in Unix seconds, and one signature per key."""
    content = f"{message}.{timestamp}.".encode() + body
    return {
        "webhook-id": message,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(key.signature(content) for key in keys),
    }


def seconds_of(retry_after: str | None, now: datetime) -> float | None:
    """Return the seconds of ``Retry-After`` (RFC 9110 §10.2.3); None if it is missing or invalid."""
    if retry_after is None:
        return None
    if retry_after.isascii() and retry_after.isdigit():
        return float(retry_after[:9])
    try:
        moment = parsedate_to_datetime(retry_after)
    except (ValueError, OverflowError):
        return None
    return max(0.0, (moment.replace(tzinfo=moment.tzinfo or UTC) - now).total_seconds())
