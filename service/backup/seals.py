"""The seal of an archive: who has the key of the log chains has made it, and nobody has changed it since.

It covers the manifest, and with it the digest of each member. Without the key nothing is sealed: a plain
digest would prove no origin.
"""

from __future__ import annotations

import hmac
from hashlib import sha256

from service.audit.chain.form import Chain


def seal_of(chain_key: str, manifest: bytes) -> bytes:
    """Return the seal over the bytes of a manifest: the id of the key, and the MAC in hexadecimal."""
    chain = Chain(chain_key)
    mac = chain.seal(f"backup {sha256(manifest).hexdigest()}")
    return f"{chain.key_id} {mac.hex()}\n".encode("ascii")


def is_sealed(chain_key: str, manifest: bytes, seal: bytes) -> bool:
    """True if ``seal`` is that of ``manifest`` with ``chain_key``; never without a key."""
    return chain_key != "" and hmac.compare_digest(seal_of(chain_key, manifest), seal)


def key_id_of(seal: bytes) -> str | None:
    """Return the id of the key that ``seal`` names, None if it is empty; UnicodeDecodeError for no text."""
    return seal.decode("ascii").partition(" ")[0] if seal else None
