"""The format of API keys: ``pck_<id>_<secret>_<checksum>``.

``id`` is the number of the key's row, ``secret`` 32 random characters of base 62 (190 bits). ``checksum`` is
the CRC-32 (ISO 3309) of all before its underscore, as 6 characters of base 62. Scanners for leaked secrets
recognize a key by its checksum, and a mistyped key costs no look-up. The checksum protects nothing.
"""

import re
import secrets
import string
from hashlib import sha256
from typing import Final, NamedTuple
from zlib import crc32

from service.authn.key_callers import API_KEY_PREFIX
from service.kernel.identity import Kind

HINT: Final = 4
"""The number of characters of the secret that are stored and shown to recognize a key."""

_PREFIXES: Final[dict[Kind, str]] = {"service": "", "person": "person "}
_ALPHABET: Final = string.digits + string.ascii_uppercase + string.ascii_lowercase
_SECRET: Final = 32
_CHECKSUM: Final = 6
_FORM: Final = re.compile(r"(pck_([1-9][0-9]{0,18})_([0-9A-Za-z]{32}))_([0-9A-Za-z]{6})")
_HIGHEST_ID: Final = 2**63 - 1


class ApiKey(NamedTuple):
    """The two parts of a well-formed API key."""

    key_id: int
    secret: str

    def digest_of(self, kind: Kind) -> bytes:
        """Return the SHA-256 of the secret, which is stored instead of the secret.

        A fast hash is enough: a secret of 190 bits can't be found by trying. The digest of a
        person's key covers a prefix too, so that versions before 0.4.0 reject these keys.
        """
        return sha256(f"{_PREFIXES[kind]}{self.secret}".encode()).digest()

    def __repr__(self) -> str:
        return f"ApiKey({self.key_id})"

    def __str__(self) -> str:
        """Return the complete key, only for its owner."""
        body = f"{API_KEY_PREFIX}{self.key_id}_{self.secret}"
        return f"{body}_{_checksum(body)}"


def new_secret() -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(_SECRET))


def parsed(text: str) -> ApiKey | None:
    """Return the parts of an API key; None if its form or its checksum is wrong."""
    form = _FORM.fullmatch(text)
    if form is None:
        return None
    body, key_id, secret, checksum = form.groups()
    if _checksum(body) != checksum or int(key_id) > _HIGHEST_ID:
        return None
    return ApiKey(int(key_id), secret)


def shown_prefix(key_id: int, hint: str) -> str:
    """Return the displayable beginning of a key; ``hint`` is the beginning of its secret."""
    return f"{API_KEY_PREFIX}{key_id}_{hint}"


def _checksum(body: str) -> str:
    rest, checksum = crc32(body.encode()), ""
    for _ in range(_CHECKSUM):
        rest, digit = divmod(rest, len(_ALPHABET))
        checksum = _ALPHABET[digit] + checksum
    return checksum
