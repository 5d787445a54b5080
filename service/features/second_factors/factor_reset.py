"""The second factors of other users: shown to administrators, and reset after a loss."""

from dataclasses import dataclass

from service.administration import change_log
from service.administration.delegation import Delegation
from service.authn.login_log import LoginLog
from service.authn.revocations import ALL_SESSIONS_END, Revocations
from service.kernel.identity import Caller, Target
from service.kernel.notify import Notices, acted_by
from service.kernel.origin import field_changes
from service.records import factors, user_list
from service.records.database.transactions import Connection, Database
from service.records.factors import Factor
from service.records.user_list import User


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FactorReset:
    """Shows and removes the factors of users who hold no more than the caller.

    After a reset, the caller can act as the user if the caller also knows the password. All raise
    ``NotFound`` and ``Unavailable``. They raise ``PermissionDenied`` for the caller's own account, and if the
    user holds a code that the caller lacks.
    """

    database: Database
    delegation: Delegation
    revocations: Revocations
    notices: Notices
    log: LoginLog

    async def factors_of(self, caller: Caller, user_id: int) -> list[Factor]:
        """Return the confirmed factors of a user, the oldest first."""
        async with self.database.transaction() as connection:
            await self._target(connection, caller, user_id, only_reads=True)
            return await factors.of_user(connection, user_id)

    async def reset(self, caller: Caller, user_id: int) -> None:
        """Remove all factors of a user, end all sessions of that user, and record it in the user's login log.

        The sessions end before the commit and again after it. So nothing is saved while the session store is
        unavailable, and no session survives if this process is killed.
        """
        async with self.database.transaction() as connection:
            user, target = await self._target(connection, caller, user_id)
            await factors.lock(connection, user_id)
            async with self.delegation.keeping_an_administrator(connection):
                gone = await factors.remove_all(connection, target.user_id)
            await self.notices.notify(connection, user_id, "factors_reset", acted_by(target))
            changes = field_changes(
                change_log.user_target(user.user_name),
                {"secondFactors": frozenset(f"{factor.kind}: {factor.factor_name}" for factor in gone)},
                {"secondFactors": frozenset()},
            )
            await ALL_SESSIONS_END.emit(connection, user_id)
            await self.revocations.end_sessions_first(target)
            change_log.saving(changes)
        change_log.saved(changes)
        self.log.by_other("factor_reset", user_id, user.user_name)
        await self.revocations.end_sessions(target)

    async def _target(
        self, connection: Connection, caller: Caller, user_id: int, *, only_reads: bool = False
    ) -> tuple[User, Target]:
        check = await self.delegation.check(connection, caller)
        user = await user_list.read(connection, user_id)
        change_log.concerns(change_log.user_target(user.user_name))
        return user, await check.target(connection, user_id, "reset-factors", only_reads=only_reads)
