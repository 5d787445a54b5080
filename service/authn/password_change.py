"""Setting passwords: your own, by the current one or by a link, and those of users you may administer."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from service.authn.login_log import UNRECORDED, LoginLog, reason_of
from service.authn.password_rules import NO_PASSWORD, InitialPasswords, PasswordRules
from service.authn.passwords import Passwords
from service.authn.revocations import ALL_SESSIONS_END, Revocations
from service.authn.throttle import Throttle
from service.errors import Conflict, NotFound, RefreshRequired, ValidationFailed
from service.kernel.core_sentences import sentence
from service.kernel.identity import Caller, Target
from service.kernel.notify import Notices, acted_by
from service.keyspace import SessionStore
from service.records import accounts
from service.records.accounts import Credentials
from service.records.database.transactions import Connection, Database
from service.records.user_list import UserValues

Authorize = Callable[[Connection], Awaitable[Target]]
"""Returns the user to act on; raises if the caller may not, as seen in that connection's transaction."""
Prove = Callable[[Credentials], Awaitable[None]]
"""Returns when the account's owner has given the proof required in addition to a link; raises else."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class PasswordChange:
    """Sets a password and ends the sessions opened with the old one.

    Sessions end before the commit, so that nothing is saved while the store is unavailable, and again after
    it: otherwise a login that read the old hash in between would keep its session. The session of the request
    stays, but not one that has replaced it on its device meanwhile.
    """

    database: Database
    store: SessionStore
    passwords: Passwords
    rules: PasswordRules
    initial: InitialPasswords
    throttle: Throttle
    revocations: Revocations
    notices: Notices
    log: LoginLog = UNRECORDED

    async def prove(self, caller: Caller, current: str, *, address: str, user_agent: str) -> None:
        """Return when ``current`` is the caller's password.

        Attempts count as logins do, in a share of the session. Raises ``RateLimited``, ``ValidationFailed``
        for ``currentPassword``, ``Conflict`` when a service account asks, and ``Unavailable``.
        """
        try:
            await self._proved(caller, current, address=address, user_agent=user_agent)
        except Exception as error:
            user = (caller.user_id, caller.user_name, caller.device)
            self.log.own("step_up", *user, reason=reason_of(error), outcome="failure")
            raise

    async def change(
        self, caller: Caller, current: str, new: str, authorize: Authorize, *, address: str, user_agent: str
    ) -> None:
        """Set the caller's own password; the caller's session stays, and must refresh its access token.

        ``authorize`` is awaited once the current password is proved, in the transaction that saves. Raises
        what that and ``prove`` raise, ``ValidationFailed`` for ``newPassword``, and ``Conflict`` when the
        password was changed meanwhile.
        """
        user = (caller.user_id, caller.user_name, caller.device)
        try:
            known, owner = await self._proved(caller, current, address=address, user_agent=user_agent)
            self._require_another(known, current, new)
            await self._set(owner, new, authorize, known=known, keep=caller, initial=None)
        except Exception as error:
            self.log.own("password_change", *user, reason=reason_of(error), outcome="failure")
            raise
        self.log.own("password_change", *user)

    def _require_another(self, known: Credentials, current: str, new: str) -> None:
        if self.initial.is_initial(known) and new == current:
            raise ValidationFailed(("newPassword", sentence("password_unchanged")))

    async def _proved(
        self, caller: Caller, current: str, *, address: str, user_agent: str
    ) -> tuple[Credentials, UserValues]:
        attempt = await self.throttle.login(caller.user_name, address, user_agent, session=caller.device)
        async with self.database.transaction() as connection:
            known = await accounts.credentials_of(connection, caller.user_id)
            owner = await accounts.values(connection, caller.user_id)
        if owner is None:  # deleted while the token was valid
            raise RefreshRequired
        if known is None:
            raise Conflict(NO_PASSWORD, rule="kind_of_account")
        if not await self.passwords.verify(known.password_hash, current):
            raise ValidationFailed(("currentPassword", sentence("password_wrong")))
        await attempt.succeeded()
        return known, owner

    async def reset(self, new: str, find: Authorize, authorize: Authorize) -> str:
        """Set the password of the user that ``authorize`` returns, and end all sessions of that user.

        Returns the name of the user. ``find`` is awaited first, ``authorize`` at the start of the transaction
        that saves. Raises what these raise, ``NotFound``, ``ValidationFailed``, ``Conflict`` and
        ``Unavailable``.
        """
        known, owner = await self._found(find)
        await self._set(owner, new, authorize, known=known, keep=None, initial=accounts.GIVEN)
        self.log.by_other("password_reset", known.user_id, owner.user_name)
        return owner.user_name

    async def by_link(self, new: str, find: Authorize, spend: Authorize, prove: Prove, reason: str) -> None:
        """Set the password of the owner of a link, and end all sessions of that user; none is opened.

        ``find`` and ``spend`` return the owner; ``spend`` is awaited at the start of the transaction that
        saves. ``prove`` is awaited after ``password`` has been accepted, so that its refusal costs no code.
        ``reason`` is for the login log. Raises the errors of these, and of ``reset``.
        """
        known, owner = await self._found(find)
        user = (known.user_id, owner.user_name, None)
        try:
            await self._set(
                owner, new, spend, known=known, keep=None, initial=None, field="password", prove=prove
            )
        except Exception as error:
            self.log.own("password_reset", *user, reason=reason_of(error), outcome="failure")
            raise
        self.log.own("password_reset", *user, reason=reason)

    async def _found(self, authorize: Authorize) -> tuple[Credentials, UserValues]:
        async with self.database.transaction() as connection:
            target = await authorize(connection)
            known = await accounts.credentials_of(connection, target.user_id)
            owner = await accounts.values(connection, target.user_id)
        if owner is None:
            raise NotFound(sentence("no_such_user"))
        if known is None:
            raise Conflict(NO_PASSWORD, rule="kind_of_account")
        return known, owner

    async def _set(
        self,
        owner: UserValues,
        new: str,
        authorize: Authorize,
        *,
        known: Credentials,
        keep: Caller | None,
        initial: accounts.Initial | None,
        field: str = "newPassword",
        prove: Prove | None = None,
    ) -> None:
        await self.rules.require(field, new, owner, has_factor=known.second_factor)
        password_hash = await self.passwords.hash(new)
        if prove is not None:
            await prove(known)
        device, opened_by = (keep.device, keep.issued_at) if keep else ("", 0.0)
        async with self.database.transaction() as connection:
            target = await authorize(connection)
            saved = await accounts.change_password(
                connection, target.user_id, password_hash, expected_hash=known.password_hash, initial=initial
            )
            if not saved:
                raise Conflict(sentence("password_changed_meanwhile"), rule="changed_meanwhile")
            await self.notices.notify(connection, target.user_id, "password_changed", acted_by(target))
            if keep is None:
                await ALL_SESSIONS_END.emit(connection, target.user_id)
            await self.store.close_sessions(target.login_id, keep=device, opened_by=opened_by)
        await self.revocations.end_sessions(target, keep=device, opened_by=opened_by)
