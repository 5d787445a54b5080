"""Signatures of Standard Webhooks 1.0, by a shared secret."""

import base64
import hmac
from collections.abc import Sequence


def signed_headers(keys: Sequence[bytes], message: str, timestamp: int, body: bytes) -> dict[str, str]:
    """Return the headers of a request: its id, its time in Unix seconds, and one signature per key."""
    content = f"{message}.{timestamp}.".encode() + body
    made = (base64.b64encode(hmac.digest(key, content, "sha256")).decode() for key in keys)
    return {
        "webhook-id": message,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(f"v1,{signature}" for signature in made),
    }
