"""Proofs of who logs in: what is compared with the stored account before a session may open."""

from __future__ import annotations

from typing import Protocol

from service.authn.passwords import Passwords
from service.errors import LoginFailed
from service.records import accounts
from service.records.accounts import Credentials
from service.records.database.transactions import Database


class Proof(Protocol):
    """What somebody has shown to log in as the person of ``user_name``.

    It is compared with the account as often as that is read: opening a session reads it again when the user
    was changed meanwhile.
    """

    @property
    def user_name(self) -> str:
        """The name that was given, which may be unknown."""

    async def compare(self, stored: Credentials | None) -> None:
        """Return if the proof holds for the account as it is stored now; raises ``LoginFailed`` if not.

        An unknown account, None, takes as long as a wrong proof.
        """

    async def renew(self, stored: Credentials) -> None:
        """Renew what is stored of the proof, for an account that may log in, if it is outdated."""


class PasswordProof:
    """A password; it is hashed again only when the stored hash has changed."""

    def __init__(
        self,
        database: Database,
        passwords: Passwords,
        user_name: str,
        password: str,
        *,
        favoured: bool = True,
    ) -> None:
        """``favoured`` is that of ``Passwords.verify``."""
        self._database = database
        self._passwords = passwords
        self._user_name = user_name
        self._password = password
        self._favoured = favoured
        self._verified: str | None = None

    @property
    def user_name(self) -> str:
        """See ``Proof``."""
        return self._user_name

    async def compare(self, stored: Credentials | None) -> None:
        """See ``Proof``; raises also ``Unavailable`` while too many passwords wait."""
        expected = stored.password_hash if stored else None
        if expected is not None and expected == self._verified:
            return
        if not await self._passwords.verify(expected, self._password, favoured=self._favoured):
            raise LoginFailed
        self._verified = expected

    async def renew(self, stored: Credentials) -> None:
        """Hash the password anew if the parameters of hashes have been raised since."""
        if self._passwords.needs_rehash(stored.password_hash):
            renewed = await self._passwords.hash(self._password)
            async with self._database.transaction() as connection:
                await accounts.set_password_hash(
                    connection, stored.user_id, renewed, expected_hash=stored.password_hash
                )
