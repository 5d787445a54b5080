"""Proofs of identity for a login: each is compared with the stored account before a session opens."""

from typing import Final, Protocol

import structlog
from msgspec import Struct

from service.authn.password_rules import InitialPasswords
from service.authn.passwords import Passwords
from service.errors import LoginFailed
from service.kernel.assurance import Acr
from service.kernel.feature import sole
from service.records import accounts, origins, role_rights
from service.records.accounts import Credentials
from service.records.database.transactions import Connection, Database
from service.settings import Oidc

_log = structlog.get_logger(__name__)


class ProviderOrigin(Struct, frozen=True):
    """The sign-in with a provider from which a session comes: its name, its methods, and its ID token.

    The name is empty without one; the token is empty where it is too long for the address of a logout.
    """

    sign_in: str = ""
    amr: tuple[str, ...] = ()
    id_token: str = ""


NO_PROVIDER: Final = ProviderOrigin()


async def still_opens(database: Database, user_id: int, origin: ProviderOrigin) -> bool:
    """Return True if a session may open by the sign-in of a proof, or if the proof has none.

    Proofs ask each time they are compared.
    """
    if not origin.sign_in:
        return True
    async with database.snapshot() as connection:
        opens: bool = await sole("sign-in-opens")(connection, user_id, origin.sign_in)
    if not opens:
        facts = {"event_type": "security", "login_id": str(user_id)}
        _log.warning("a sign-in with a provider has ended before its session opened", **facts)
    return opens


class Proof(Protocol):
    """Proof of a login as the person of ``user_name``.

    It is compared with the account at each read of the account: opening a session reads it again when the
    user was changed meanwhile.
    """

    @property
    def user_name(self) -> str:
        """The name that was given, which may be unknown."""

    async def compare(self, stored: Credentials | None) -> None:
        """Return if the proof holds for the account as stored now; raises ``LoginFailed`` if not.

        An unknown account, None, takes as long as a wrong proof.
        """

    @property
    def acr(self) -> Acr:
        """Strength of the proof."""

    @property
    def amr(self) -> tuple[str, ...]:
        """The methods of the proof (RFC 8176)."""

    @property
    def auth_time(self) -> float | None:
        """Time of the proof, in seconds since the epoch; None for just now."""

    @property
    def origin(self) -> ProviderOrigin:
        """From which sign-in with a provider it comes; ``NO_PROVIDER`` without one."""

    async def renew(self, stored: Credentials) -> None:
        """Renew the stored part of the proof, for an account able to log in, if it is outdated."""


class ClosedPasswords:
    """Finds users whose passwords are disabled, because they have an account at a provider that requires it.

    Holders of all permissions keep the password, for access while the provider does not answer.
    """

    def __init__(self, settings: Oidc) -> None:
        self._names = frozenset(each.name for each in settings.providers if not each.allow_password)

    async def includes(self, source: Database | Connection, user_id: int) -> bool:
        """Return True if the user's password opens no session, proves nothing, and is not recovered."""
        if not self._names:
            return False
        if isinstance(source, Database):
            async with source.snapshot() as connection:
                return await self.includes(connection, user_id)
        if not any(each.source in self._names for each in await origins.origins_of(source, user_id)):
            return False
        return not await role_rights.is_administrator(source, user_id)


class PasswordProof:
    """A password; it is hashed again only when the stored hash has changed."""

    acr: Acr = "pwd"
    amr: tuple[str, ...] = ("pwd",)
    auth_time: float | None = None
    origin = NO_PROVIDER

    def __init__(
        self,
        database: Database,
        passwords: Passwords,
        initial: InitialPasswords,
        user_name: str,
        password: str,
        *,
        favoured: bool = True,
        closed: ClosedPasswords | None = None,
    ) -> None:
        """``favoured`` is that of ``Passwords.verify``."""
        self._database = database
        self._passwords = passwords
        self._initial = initial
        self._user_name = user_name
        self._password = password
        self._favoured = favoured
        self._closed = closed
        self._verified: str | None = None

    @property
    def user_name(self) -> str:
        """See ``Proof``."""
        return self._user_name

    async def compare(self, stored: Credentials | None) -> None:
        """See ``Proof``.

        Raises also ``InitialPasswordExpired``, and ``Unavailable`` while too many passwords wait.
        """
        expected = stored.password_hash if stored else None
        if expected is None or expected != self._verified:
            if not await self._passwords.verify(expected, self._password, favoured=self._favoured):
                raise LoginFailed
            self._verified = expected
        if stored is not None:
            self._initial.require_in_time(stored)
            if self._closed is not None and await self._closed.includes(self._database, stored.user_id):
                raise LoginFailed

    async def renew(self, stored: Credentials) -> None:
        """Hash the password anew if the parameters of hashes have been raised since.

        A password known from a leak becomes initial.
        """
        renewed = stored.password_hash
        assert renewed is not None  # noqa: S101 - the password matches it
        if self._passwords.needs_rehash(renewed):
            renewed = await self._passwords.hash(self._password)
        mark = self._initial.mark(stored, self._password)
        if (renewed, mark) == (stored.password_hash, stored.password_initial):
            return
        async with self._database.transaction() as connection:
            await accounts.renew_password(
                connection, stored.user_id, renewed, expected_hash=stored.password_hash, initial=mark
            )
        if mark != stored.password_initial:
            _log.warning(
                "a user has logged in with a password that is known from a leak",
                event_type="security",
                login_id=str(stored.user_id),
            )
