"""The ids of events: what a client has got, sealed for its account."""

import re
import secrets
import time
from collections.abc import Callable
from struct import Struct
from typing import Final, NamedTuple

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from service.authn.signing_keys import derived_keys
from service.kernel.base64url import decoded, encoded
from service.settings import Auth

_PURPOSE: Final = b"event stream"
_NONCE: Final = 12  # bytes, NIST SP 800-38D §8.2.2
_PLACE: Final = Struct("!q16s16s")
_FORM: Final = re.compile(rb"[A-Za-z0-9_-]{91}")


class Place(NamedTuple):
    """What a client knows: events up to ``position``, and digests of the rights and the sessions."""

    position: int
    rights: bytes
    sessions: bytes


class Places:
    """Seals and opens the ids of events by AES-GCM; nothing is stored.

    A position counts the events of all accounts, so that no client may read it. An id is bound to its user.
    """

    def __init__(self, settings: Auth, now: Callable[[], float] = time.time) -> None:
        """``now`` returns the time in seconds since the epoch."""
        self._keys = [(AESGCM(key), until) for key, until in derived_keys(settings, _PURPOSE)]
        self._now = now

    def seal(self, user_id: int, place: Place) -> str:
        """Return an id that only ``open`` can read, and only for the same user."""
        nonce = secrets.token_bytes(_NONCE)
        return encoded(nonce + self._keys[0][0].encrypt(nonce, _PLACE.pack(*place), _bound(user_id)))

    def open(self, user_id: int, text: bytes) -> Place | None:
        """Return the place of an id; None for one of another user, of an earlier key, or a forged one.

        Raises ValueError for a text of another form.
        """
        if _FORM.fullmatch(text) is None:
            raise ValueError("not the form of an id")
        sealed, now = decoded(text.decode("ascii")), self._now()
        for key, until in self._keys:
            if now < until:
                try:
                    plain = key.decrypt(sealed[:_NONCE], sealed[_NONCE:], _bound(user_id))
                except InvalidTag:
                    continue
                return Place(*_PLACE.unpack(plain))
        return None


def _bound(user_id: int) -> bytes:
    return b"%d" % user_id
