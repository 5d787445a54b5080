"""Account recovery by the operator, if recovery through the API is impossible."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from typing import Final, Literal

from service.authn.denials import Denials
from service.authn.login_log import UNRECORDED, LoginLog
from service.authn.password_rules import NO_PASSWORD, PasswordRules
from service.authn.passwords import Passwords
from service.authn.revocations import ALL_SESSIONS_END
from service.authn.throttle import Throttle
from service.errors import Conflict, NotFound, Unavailable
from service.kernel.core_sentences import sentence
from service.kernel.notify import Notices
from service.keyspace import SessionStore
from service.records import accounts, bans, factors
from service.records.database.transactions import Connection, Database
from service.records.logs.events import SessionEvent

KeptOut = Literal["disabled", "banned"]
BY_OPERATOR: Final = "operator"
"""The reason of acts outside the API in the login log."""
Keeping = Callable[[Connection], AbstractAsyncContextManager[object]]
"""Runs a block that changes users; raises ``Conflict`` at its end if an invariant breaks."""
_WITHIN: Final = 15.0  # maximum seconds of the transaction, which uses both stores


@dataclass(frozen=True, slots=True)
class Recovered:
    """A user with a new password, the number of ended sessions, and remaining blocks of the user.

    ``factors`` is the number of removed second factors, including the set of recovery codes.
    ``unsettled`` is the outage of the session store after the commit, if any.
    """

    user_id: int
    user_name: str
    ended: int
    kept_out: KeptOut | None
    factors: int = 0
    unsettled: Unavailable | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Recovery:
    """Sets a password without authorization, because the operator owns the stores.

    As in ``PasswordChange``, sessions end before the commit, so that nothing is saved during an outage of the
    session store, and again after it. ``invariants`` returns the guard of invariants for an enabled user.
    """

    database: Database
    store: SessionStore
    passwords: Passwords
    rules: PasswordRules
    throttle: Throttle
    invariants: Callable[[], Awaitable[Keeping]]
    notices: Notices
    log: LoginLog = UNRECORDED

    async def find(self, user_name: str) -> int:
        """Return the id of the user with that name, compared by ``name_key``.

        Raises ``NotFound``, and ``Conflict`` for a service account.
        """
        async with self.database.transaction() as connection:
            known = await accounts.standing(connection, user_name)
        if known is None:
            raise NotFound(sentence("no_user_of_name"))
        if known.kind == "service":
            raise Conflict(NO_PASSWORD, rule="kind_of_account")
        return known.user_id

    async def recover(self, user_id: int, new: str, *, enable: bool) -> Recovered:
        """Set the password of a user and end all sessions of that user.

        With ``enable`` the user is also enabled, and the ban and the login lockout are cleared. Raises
        ``NotFound``, ``ValidationFailed`` for ``newPassword``, ``Conflict`` when the password was changed
        meanwhile or the enabled user would break an invariant, and ``Unavailable``.
        """
        async with self.database.transaction() as connection:
            known = await accounts.credentials_of(connection, user_id)
            owner = await accounts.values(connection, user_id)
        if known is None or owner is None:
            raise NotFound(sentence("no_such_user"))
        await self.rules.require("newPassword", new, owner, has_factor=known.second_factor)
        password_hash = await self.passwords.hash(new)
        unbanned = False
        if enable:
            await self.throttle.unlock(owner.user_name)
        login_id = str(user_id)
        keeping = await self.invariants() if enable else nullcontext
        async with self.database.transaction(within=_WITHIN) as connection:
            async with keeping(connection):
                if not await accounts.change_password(
                    connection,
                    user_id,
                    password_hash,
                    expected_hash=known.password_hash,
                    initial=accounts.GIVEN,
                ):
                    raise Conflict(sentence("password_changed_meanwhile"), rule="changed_meanwhile")
                await self.notices.notify(connection, user_id, "password_changed", "operator")
                if enable:
                    enabled = await accounts.set_status(connection, user_id, "enabled")
                    unbanned = await bans.unban(connection, user_id) or enabled
            await ALL_SESSIONS_END.emit(connection, user_id)
            ended = await self.store.close_sessions(login_id)
        self._enter("password_reset", user_id, owner.user_name)
        if unbanned:
            self._enter("unban", user_id, owner.user_name)
        kept_out: KeptOut | None = "disabled" if known.status == "disabled" and not enable else None
        unsettled = None
        try:
            ended += await self._end_once_more(login_id, enable=enable)
            if kept_out is None and await self.store.ban_of(login_id) is not None:
                kept_out = "banned"
        except Unavailable as refusal:
            unsettled = refusal
        return Recovered(user_id, owner.user_name, ended, kept_out, unsettled=unsettled)

    async def reset_factors(self, user_id: int) -> Recovered:
        """Remove all second factors of a user, and end all sessions of that user.

        Raises ``NotFound`` and ``Unavailable``.
        """
        async with self.database.transaction(within=_WITHIN) as connection:
            known = await accounts.standing_of(connection, user_id)
            if known is None:
                raise NotFound(sentence("no_such_user"))
            await factors.lock(connection, user_id)
            gone = await factors.remove_all(connection, user_id)
            await self.notices.notify(connection, user_id, "factors_reset", "operator")
            await ALL_SESSIONS_END.emit(connection, user_id)
            ended = await self.store.close_sessions(str(user_id))
        self._enter("factor_reset", user_id, known.user_name)
        kept_out: KeptOut | None = "banned" if known.banned else None
        if known.status == "disabled":
            kept_out = "disabled"
        unsettled = None
        try:
            ended += await self.store.close_sessions(str(user_id))
        except Unavailable as refusal:
            unsettled = refusal
        return Recovered(user_id, known.user_name, ended, kept_out, len(gone), unsettled)

    def _enter(self, event: SessionEvent, user_id: int, user_name: str) -> None:
        self.log.by_other(event, user_id, user_name, reason=BY_OPERATOR)

    async def _end_once_more(self, login_id: str, *, enable: bool) -> int:
        """End sessions opened meanwhile with the old password; with ``enable`` clear the store's ban."""
        try:
            await Denials(self.database, self.store).settle(int(login_id), all_bans=enable)
            return await self.store.close_sessions(login_id)
        except Unavailable as refusal:
            raise Unavailable(sentence("old_password_open")) from refusal
