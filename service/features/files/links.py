"""Public links: a token opens a file to any holder, until the link expires or is revoked."""

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Final

from msgspec import Meta

from service.errors import NotFound, ValidationFailed
from service.features.files import store as files
from service.features.files.sentences import sentence
from service.records.database.transactions import Database
from service.settings import Upload

PATH: Final = "/api/public/file/"
"""Prefix of the path of a public link; the token follows."""

_RANDOM_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class PublicLink:
    """A new link, shown once: the token is not stored and can't be recovered."""

    token: str
    url: Annotated[str, Meta(examples=["/api/public/file/…"])]
    expire_time: datetime


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PublicLinks:
    """Creates, finds and revokes public links; a file has at most one."""

    database: Database
    limits: Upload

    async def make(self, file_id: int, seconds: int | None) -> PublicLink:
        """Create a link that is valid for ``seconds``, or for the default life; it replaces the former link.

        Raises NotFound, and ValidationFailed for a longer life than the settings allow.
        """
        life = self.limits.link_life if seconds is None else seconds
        if life > self.limits.link_max_life:
            raise ValidationFailed(
                ("expiresIn", sentence("link_life_too_long", most=self.limits.link_max_life))
            )
        token = secrets.token_urlsafe(_RANDOM_BYTES)
        async with self.database.transaction() as connection:
            expires = await files.link(connection, file_id, _hash(token), timedelta(seconds=life))
        return PublicLink(token, f"{self.limits.public_url.rstrip('/')}{PATH}{token}", expires)

    async def revoke(self, file_id: int) -> None:
        """Revoke the link of a file, if it has one. Raises NotFound if there is no such file."""
        async with self.database.transaction() as connection:
            await files.unlink(connection, file_id)

    async def file_of(self, token: str) -> files.File:
        """Return the file that ``token`` opens.

        Raises the same NotFound for unknown, expired and revoked tokens, and for deleted files. Every text is
        hashed and looked up, even if malformed, so that all take the same time.
        """
        async with self.database.transaction() as connection:
            file = await files.of_link(connection, _hash(token))
        if file is None:
            raise NotFound(sentence("no_such_link"))
        return file


def _hash(token: str) -> str:
    # Plain SHA-256 is enough: tokens have 256 random bits and can't be guessed.
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()
