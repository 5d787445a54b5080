"""Challenges: random bytes, answered once, within five minutes, with a second factor."""

import base64
import binascii
import secrets
from hashlib import sha256
from typing import Final, Literal

from msgspec import Struct, json

from service.authn.proving import NO_PROVIDER, ProviderOrigin
from service.authn.second_factors import CHALLENGE_LIFE
from service.features.second_factors.passkeys import CHALLENGE_BYTES
from service.kernel.base64url import encoded
from service.keyspace import SessionStore

LIFE: Final = CHALLENGE_LIFE

Purpose = Literal["login", "passkey-login", "step-up", "enrol", "password-reset"]
"""The purpose of a challenge.

The second step of a login, a login by passkey alone, a step-up, a new passkey, or a link for a forgotten
password.
"""


class Challenge(Struct, frozen=True):
    """The content of a challenge.

    ``user_id`` is the user whose answer it waits for, 0 for any user. A login has the ``device`` of the
    session, a digest of the password hash at the first step, and the ``origin`` of a provider sign-in. A new
    password changes the digest. A new passkey has the handle of its user. A step-up has the device.
    """

    purpose: Purpose
    user_id: int = 0
    user_name: str = ""
    device: str = ""
    proved: str = ""
    user_handle: bytes = b""
    origin: ProviderOrigin = NO_PROVIDER


_facts = json.Decoder(Challenge)


class Challenges:
    """Creates, reads and ends challenges; all raise ``Unavailable``."""

    def __init__(self, store: SessionStore) -> None:
        self._kept = store.challenges

    async def issue(self, challenge: Challenge) -> bytes:
        """Store a challenge, and return its random bytes."""
        issued = secrets.token_bytes(CHALLENGE_BYTES)
        await self._kept.keep(_name(issued), json.encode(challenge), LIFE)
        return issued

    async def answered(self, issued: bytes | None, purpose: Purpose, user_id: int = 0) -> Challenge | None:
        """Count an answer to a challenge of this purpose, and return the challenge; None if there is none.

        With ``user_id`` it must be the challenge of that user.
        """
        facts = await self._kept.answered(_name(issued)) if issued else None
        challenge = _facts.decode(facts) if facts else None
        if challenge is None or challenge.purpose != purpose:
            return None
        return challenge if user_id in (0, challenge.user_id) else None

    async def spend(self, issued: bytes) -> bool:
        """End a challenge after the correct answer; return False if another answer was first."""
        return await self._kept.spend(_name(issued))


def text_of(issued: bytes) -> str:
    """Return the bytes of a challenge in the clients' format, base64url."""
    return encoded(issued)


def bytes_of(text: str) -> bytes | None:
    """Return the bytes of a challenge sent by a client; None for an invalid text."""
    try:
        issued = base64.b64decode(text.encode("ascii") + b"=", altchars=b"-_", validate=True)
    except (UnicodeEncodeError, binascii.Error):
        return None
    return issued if len(issued) == CHALLENGE_BYTES else None


def _name(issued: bytes) -> str:
    return sha256(issued).hexdigest()
