"""Public links: whoever has the token has the file, until the link expires or is taken away."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from service.errors import NotFound, ValidationFailed
from service.records.database.transactions import Database
from service.records.files import files
from service.settings import Upload

PATH: Final = "/api/public/file/"
"""What the path of a public link starts with; its token follows."""

_RANDOM_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class PublicLink:
    """A link as it is told once: the token is never stored, nor can it be found out again."""

    token: str
    url: str
    expire_time: datetime


class PublicLinks:
    """Makes, finds and takes away public links; a file has one at most."""

    def __init__(self, database: Database, limits: Upload) -> None:
        self._database = database
        self._limits = limits

    async def make(self, file_id: int, seconds: int | None) -> PublicLink:
        """Give a file a link that lives for ``seconds``, or as long as usual; the one before ends.

        NotFound, and ValidationFailed for a longer life than the settings allow.
        """
        life = self._limits.link_life if seconds is None else seconds
        if life > self._limits.link_max_life:
            raise ValidationFailed(("expiresIn", f"At most {self._limits.link_max_life} seconds"))
        token = secrets.token_urlsafe(_RANDOM_BYTES)
        async with self._database.transaction() as connection:
            expires = await files.link(connection, file_id, _hash(token), timedelta(seconds=life))
        return PublicLink(token, f"{self._limits.public_url.rstrip('/')}{PATH}{token}", expires)

    async def revoke(self, file_id: int) -> None:
        """End the link of a file, if it has one. NotFound when there is no such file."""
        async with self._database.transaction() as connection:
            await files.unlink(connection, file_id)

    async def file_of(self, token: str) -> files.File:
        """Return the file that ``token`` opens.

        NotFound in the same words for a token that was never given, has expired or was taken away, and for a
        file that is no more. Every text is hashed and looked for, whatever it looks like, so that all take
        as long.
        """
        async with self._database.transaction() as connection:
            found = await files.of_link(connection, _hash(token))
        if found is None:
            raise NotFound("There is no such link")
        return found


def _hash(token: str) -> str:
    # Plain SHA-256 will do: what is hashed has 256 random bits, and nobody guesses those.
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()
