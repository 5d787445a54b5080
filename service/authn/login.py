"""Login: from a user name and a password to a device session and its tokens."""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import replace
from typing import TypeVar

from service.authn.agents import MAX_USER_AGENT, describe
from service.authn.denials import Denials
from service.authn.passwords import Passwords
from service.authn.refusals import banned, banned_by
from service.authn.token_issuer import Account, TokenIssuer, TokenPair
from service.errors import AccountDisabled, LoginFailed, Unavailable, ValidationFailed
from service.kernel.device import device_from, is_device
from service.keyspace import SessionFacts, SessionStore
from service.records.database.transactions import Database
from service.records.users import accounts
from service.records.users.accounts import Credentials, Standing

S = TypeVar("S", bound=Standing)

ATTEMPTS = 5
PAUSE = 0.005  # seconds: a marker set in the same millisecond looks like a later one


def new_rid() -> str:
    """Return a new refresh id: 24 characters, 144 bits."""
    return secrets.token_urlsafe(18)


class Login:
    """Checks credentials and opens device sessions."""

    def __init__(
        self, database: Database, store: SessionStore, passwords: Passwords, pairs: TokenIssuer
    ) -> None:
        self._database = database
        self._store = store
        self._passwords = passwords
        self._pairs = pairs
        self._denials = Denials(database, store)

    async def login(
        self, user_name: str, password: str, device: str | None, address: str, user_agent: str
    ) -> TokenPair:
        """Return the tokens of a new device session; without ``device`` it follows from the User-Agent.

        Raises ``LoginFailed`` (unknown user or wrong password: same answer, same time), ``AccountDisabled``
        and ``AccountBanned`` (with the right password), ``ValidationFailed`` and ``Unavailable``.
        """
        device = device_from(user_agent) if device is None else device
        if not is_device(device):
            raise ValidationFailed(("device", "must be a device type: [a-z0-9][a-z0-9_-]{0,31}"))
        verified: str | None = None
        for _ in range(ATTEMPTS):
            # Read before the user is: a later marker makes this login stale.
            as_of = await self._store.clock()
            credentials = await accounts.credentials(self._database, user_name)
            if verified is None or credentials is None or credentials.password_hash != verified:
                verified = await self._verify(credentials, password)
            account = await self._account(_allowed(credentials), password)
            pair = await self._open(account, device, address, user_agent, as_of=as_of)
            if pair is not None:
                return pair
            await asyncio.sleep(PAUSE)
        raise Unavailable("The user is being changed")

    async def _verify(self, credentials: Credentials | None, password: str) -> str | None:
        """Return the hash that the password was verified against, or raise ``LoginFailed``."""
        stored = credentials.password_hash if credentials else None
        if not await self._passwords.verify(stored, password):
            raise LoginFailed
        return stored

    async def _account(self, known: Credentials, password: str) -> Account:
        """Read the user's rights; rehash the password if the hash parameters have been raised since."""
        stored = known.password_hash
        if self._passwords.needs_rehash(stored):
            renewed = await self._passwords.hash(password)
            async with self._database.transaction() as connection:
                await accounts.set_password_hash(connection, known.user_id, renewed, expected_hash=stored)
        return self._pairs.account(_allowed(await accounts.entitled(self._database, known.user_id)))

    async def _open(
        self, account: Account, device: str, address: str, user_agent: str, *, as_of: int
    ) -> TokenPair | None:
        """Open the session; None if the user changed after ``as_of``, or the store had an outdated ban."""
        agent = user_agent[:MAX_USER_AGENT]
        browser, system = describe(agent)
        facts = SessionFacts(account.user_name, account.nick_name, address, agent, browser, system)
        rid = new_rid()
        opening = await self._store.open_session(str(account.user_id), device, rid, facts, as_of=as_of)
        if opening.outcome == "banned":
            # The database had no ban when it was read: there is one by now, or the store is outdated.
            await self._denials.settle(account.user_id)
            if (ban := await self._store.ban_of(str(account.user_id))) is not None:
                raise banned(ban.until)
            return None
        if opening.outcome == "stale":
            return None
        pair = self._pairs.issue(account, device, rid, issued=opening.issued, ends=opening.ends)
        return replace(pair, ended=opening.ended)


def _allowed(found: S | None) -> S:
    """Return an account that may log in; raises what ``Login.login`` does for one that may not."""
    if found is None:  # deleted since the password was verified
        raise LoginFailed
    if found.status != "enabled":
        raise AccountDisabled
    if found.banned:
        raise banned_by(found)
    return found
