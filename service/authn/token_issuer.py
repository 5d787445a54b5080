"""The two tokens of a device session, issued together, with the rights of their instant."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, TypeVar

from service.authn.password_rules import InitialPasswords
from service.authn.token_lifetime import LEAST, life_left
from service.authn.tokens import Tokens
from service.errors import Unavailable
from service.kernel.assurance import Authentication
from service.kernel.clock import from_seconds
from service.kernel.core_sentences import sentence
from service.kernel.permission_map import PermissionMap
from service.keyspace import Lease
from service.records import accounts
from service.records.accounts import Entitled, Entrant
from service.records.database.transactions import Database
from service.records.user_list import UserNames

E = TypeVar("E", Entitled, Entrant)

_SPARE: Final = 0.5  # seconds that may pass between reading rights and issuing tokens without reading again
_ATTEMPTS: Final = 5


@dataclass(frozen=True, slots=True)
class TokenPair:
    """Result of a login or refresh; lifetimes in whole seconds, ``issued`` (the ``iat``) in milliseconds.

    ``ended`` are the devices whose sessions were evicted for it. ``lease`` is set by a refresh, and must be
    confirmed before the tokens are handed out.
    """

    access_token: str = field(repr=False)
    refresh_token: str = field(repr=False)
    issued: int
    expires_in: int
    refresh_expires_in: int
    user_id: int
    user_name: str
    device: str
    ended: tuple[str, ...] = ()
    lease: Lease | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Account(UserNames):
    """The user as described in tokens; ``initial`` if the password must be changed first.

    The description holds until ``changes_at``, None for no such instant.
    """

    user_id: int
    roles: tuple[str, ...]
    permissions: tuple[str, ...]
    permission_map: PermissionMap
    changes_at: datetime | None
    initial: bool = False


@dataclass(slots=True, eq=False, repr=False)
class TokenIssuer:
    """Issues the tokens of a session, with the bits of the current permission map."""

    database: Database
    tokens: Tokens
    permission_map: Callable[[], PermissionMap]
    initial: InitialPasswords

    async def entitled(self, user_id: int) -> Entitled | None:
        """Return the standing of a person and the present rights, which will last for ``LEAST``.

        None if the person does not exist. If the roles change sooner, waits until the change, so at most for
        ``LEAST`` and two seconds. Raises ``Unavailable`` if they go on changing.
        """
        return await self._lasting_read(lambda at: accounts.entitled(self.database, user_id, at))

    async def entrant(self, user_id: int, user_name: str) -> Entrant | None:
        """Return a person with the present credentials and lasting rights; None without such a person."""
        return await self._lasting_read(lambda at: accounts.entrant(self.database, user_id, user_name, at))

    async def _lasting_read(self, read: Callable[[datetime], Awaitable[E | None]]) -> E | None:
        for _ in range(_ATTEMPTS):
            now = self.tokens.now()
            user = await read(from_seconds(now))
            if user is None or user.changes_at is None or life_left(user.changes_at, now) >= LEAST + _SPARE:
                return user
            await asyncio.sleep(max(0.0, user.changes_at.timestamp() - self.tokens.now()))
        raise Unavailable(sentence("roles_being_changed"))

    def account(self, user: Entitled | Entrant) -> Account:
        """Return the user with the stored rights.

        If a permission map is in force, its bits are those of the database. The map of this process may be
        outdated: a token would lack a code just given to a Button, or carry a bit about to be reused.
        """
        known = self.permission_map()
        if known and user.bits:
            known = PermissionMap(dict(zip(user.permissions, user.bits, strict=True)))
        return Account(
            user_id=user.user_id,
            user_name=user.user_name,
            nick_name=user.nick_name,
            roles=user.roles,
            permissions=user.permissions,
            permission_map=known,
            changes_at=user.changes_at,
            initial=self.initial.is_initial(user),
        )

    async def issue(
        self,
        account: Account,
        device: str,
        rid: str,
        *,
        sid: str,
        authentication: Authentication,
        issued: int,
        ends: int,
    ) -> TokenPair:
        """Return the tokens of a session; ``issued`` and ``ends`` in milliseconds since the epoch.

        ``authentication`` is that of the session; the present account determines whether it is initial. The
        account is read again if its rights no longer last: ``Unavailable`` if it is gone.
        """
        account = await self._lasting(account, issued / 1000)
        login_id = str(account.user_id)
        access, expires_in = self.tokens.issue_access(
            login_id=login_id,
            device=device,
            sid=sid,
            user_name=account.user_name,
            nick_name=account.nick_name,
            roles=account.roles,
            permissions=account.permissions,
            permission_map=account.permission_map,
            authentication=replace(authentication, initial=account.initial),
            issued=issued,
            ends=ends,
            changes_at=account.changes_at,
        )
        refresh = self.tokens.issue_refresh(login_id=login_id, rid=rid, issued=issued, ends=ends)
        return TokenPair(
            access_token=access,
            refresh_token=refresh,
            issued=issued,
            expires_in=expires_in,
            refresh_expires_in=(ends - issued) // 1000,
            user_id=account.user_id,
            user_name=account.user_name,
            device=device,
        )

    async def _lasting(self, account: Account, issued: float) -> Account:
        """Return the account with rights that last for ``LEAST`` from now and from ``issued`` on.

        Later changes of the account mark it, so tokens with the values read here are not outdated.
        """
        if life_left(account.changes_at, max(issued, self.tokens.now())) >= LEAST:
            return account
        user = await self.entitled(account.user_id)
        if user is None:
            raise Unavailable(sentence("user_being_changed"))
        return self.account(user)
