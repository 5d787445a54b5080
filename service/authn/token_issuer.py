"""The two tokens of a device session, issued together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from service.authn.tokens import Tokens
from service.kernel.permission_map import PermissionMap
from service.keyspace import Lease
from service.records.accounts import Entitled
from service.records.user_list import UserNames


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
    """The user as described in tokens."""

    user_id: int
    roles: tuple[str, ...]
    permissions: tuple[str, ...]
    permission_map: PermissionMap


class TokenIssuer:
    """Issues the tokens of a session, with the bits of the current permission map."""

    def __init__(self, tokens: Tokens, permission_map: Callable[[], PermissionMap]) -> None:
        self._tokens = tokens
        self._permission_map = permission_map

    def account(self, user: Entitled) -> Account:
        """Return the user with the stored rights.

        If a permission map is in force, its bits are those of the database. The map of this process may be
        outdated: a token would lack a code just given to a Button, or carry a bit about to be reused.
        """
        known = self._permission_map()
        if known and user.bits:
            known = PermissionMap(dict(zip(user.permissions, user.bits, strict=True)))
        return Account(
            user_id=user.user_id,
            user_name=user.user_name,
            nick_name=user.nick_name,
            roles=user.roles,
            permissions=user.permissions,
            permission_map=known,
        )

    def issue(
        self, account: Account, device: str, rid: str, *, sid: str, issued: int, ends: int
    ) -> TokenPair:
        """Return the tokens of a session; ``issued`` and ``ends`` in milliseconds since the epoch."""
        login_id = str(account.user_id)
        access, expires_in = self._tokens.issue_access(
            login_id=login_id,
            device=device,
            sid=sid,
            user_name=account.user_name,
            nick_name=account.nick_name,
            roles=account.roles,
            permissions=account.permissions,
            permission_map=account.permission_map,
            issued=issued,
            ends=ends,
        )
        refresh = self._tokens.issue_refresh(login_id=login_id, rid=rid, issued=issued, ends=ends)
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
