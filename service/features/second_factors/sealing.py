"""Secrets of second factors, encrypted at rest with AES-256-GCM under ``auth.factor_key``.

A sealed secret is the id of its key (8 bytes), a nonce (12 bytes) and the ciphertext with its tag. It is
bound to its subject: in the row of another user, it cannot be opened.
"""

import secrets
from typing import Final, Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from service.errors import Conflict, Unavailable
from service.kernel.core_sentences import sentence
from service.settings import Auth

ID_BYTES: Final = 8
_NONCE_BYTES: Final = 12
_KEY_BYTES: Final = 32
_NO_KEY: Final = sentence("factor_key_missing")


class FactorKeys:
    """The key that seals, and the keys that open: the current one, then the previous one if there is."""

    def __init__(self, *texts: str) -> None:
        """``texts`` are the values of the settings, the current key first; empty ones are none."""
        self._ids = [_derived(text, b"factor key id", ID_BYTES) for text in texts if text]
        keys = [AESGCM(_derived(text, b"factor key", _KEY_BYTES)) for text in texts if text]
        self._keys = dict(zip(self._ids, keys, strict=True))

    @classmethod
    def of(cls, settings: Auth) -> Self:
        """Return the keys of the settings; ``auth.factor_previous_key`` opens only."""
        return cls(settings.factor_key, settings.factor_previous_key) if settings.factor_key else cls()

    @property
    def current(self) -> bytes | None:
        """The id of the key that seals; None without a key."""
        return self._ids[0] if self._ids else None

    @property
    def known(self) -> frozenset[bytes]:
        """The ids of the keys that open."""
        return frozenset(self._ids)

    def require(self) -> None:
        """Return if there is a key; raises ``Conflict``."""
        if not self._ids:
            raise Conflict(_NO_KEY, rule="missing_setting")

    def seal(self, secret: bytes, about: str) -> bytes:
        """Return ``secret`` encrypted and bound to what it is ``about``; ``Conflict`` without a key."""
        self.require()
        nonce = secrets.token_bytes(_NONCE_BYTES)
        key_id = self._ids[0]
        return key_id + nonce + self._keys[key_id].encrypt(nonce, secret, about.encode())

    def open(self, sealed: bytes, about: str) -> bytes:
        """Return the secret; raises ``Unavailable`` if its key is not among these, or it was changed."""
        key_id, nonce = sealed[:ID_BYTES], sealed[ID_BYTES : ID_BYTES + _NONCE_BYTES]
        try:
            return self._keys[key_id].decrypt(nonce, sealed[ID_BYTES + _NONCE_BYTES :], about.encode())
        except (KeyError, InvalidTag, ValueError):
            raise Unavailable(sentence("factor_unreadable")) from None


def _derived(text: str, purpose: bytes, length: int) -> bytes:
    return HKDF(SHA256(), length, salt=None, info=b"portcullis " + purpose).derive(text.encode())
