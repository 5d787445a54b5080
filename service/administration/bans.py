"""Kicking and banning users who hold no more than the caller, and clearing bans."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

import structlog

from service.administration import change_log
from service.administration.delegation import Delegation
from service.authn.login_log import UNRECORDED, LoginLog
from service.authn.revocations import ALL_SESSIONS_END, Revocations
from service.authn.sessions import Sessions
from service.errors import NotFound, ValidationFailed
from service.kernel.clock import rfc3339
from service.kernel.core_sentences import sentence
from service.kernel.identity import Caller, Target
from service.kernel.notify import Notices, acted_by
from service.kernel.value_rules import BAN_REASON
from service.records import accounts, bans, role_rights
from service.records.database.transactions import Connection, Database

WITHIN: Final = 10.0
"""Seconds that a ban may take, with what follows it in the session store."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Banned:
    """The result of a ban: its end, and the number of sessions ended."""

    until: datetime | None
    ended: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Bans:
    """Bans users, for callers who hold all codes of the user: a ban has the effect of disabling the account.

    A ban is in the database, which login and refresh ask, and copied to the session store for other requests.
    As in ``Accounts``, the user is marked before the commit, so that nothing is saved while the session store
    is unavailable. Bans are recorded in the login log and on standard output.
    """

    database: Database
    delegation: Delegation
    revocations: Revocations
    notices: Notices
    log: LoginLog = UNRECORDED

    async def ban(self, caller: Caller, user_id: int, seconds: int | None, reason: str) -> Banned:
        """Ban a user for ``seconds``, or without an end, and end all sessions.

        An existing longer ban keeps its end. An administrator who is not banned always remains: callers can't
        ban their own account, and a banned caller can't ban. Raises ``PermissionDenied`` for the caller's own
        account, and if the user holds a code that the caller lacks. Raises ``RefreshRequired`` if the caller
        has been banned meanwhile. Raises ``ValidationFailed`` for a reason that ``BAN_REASON`` rejects,
        ``NotFound`` and ``Unavailable``.
        """
        if fault := BAN_REASON(reason):
            raise ValidationFailed(("reason", fault))
        async with self.database.transaction(within=WITHIN) as connection:
            await role_rights.set_pace(connection, "urgent")
            # Under the lock: if two users ban each other at once, the second one is no longer a caller.
            check = await self.delegation.check(connection, caller)
            known = await accounts.standing_of(connection, user_id)
            if known is None:
                raise NotFound(sentence("no_such_user"))
            change_log.concerns(change_log.user_target(known.user_name))
            target = await check.target(connection, user_id, "ban")
            until = await bans.ban(connection, target, seconds, reason, by=caller.user_id)
            await self.notices.notify(connection, user_id, "banned", acted_by(target), {"until": until})
            await self.revocations.mark_first([user_id])
        ended = await self.revocations.settle(target)
        self.log.by_other("ban", user_id, known.user_name)
        _security("a user was banned", target.login_id, until=until and rfc3339(until), ended=ended)
        return Banned(until, ended)

    async def unban(self, caller: Caller, user_id: int) -> None:
        """Clear the ban of a user, if there is one; raises the refusals of ``ban`` except ``NotFound``."""
        async with self.database.transaction(within=WITHIN) as connection:
            check = await self.delegation.check(connection, caller)
            known = await accounts.standing_of(connection, user_id)
            if known is not None:
                change_log.concerns(change_log.user_target(known.user_name))
            target = await check.target(connection, user_id, "unban")
            cleared = await bans.unban(connection, user_id)
        await self.revocations.settle(target)
        if cleared:
            self.log.by_other("unban", user_id, known.user_name if known else None)
            _security("the ban of a user was cleared", target.login_id)


def _security(event: str, login_id: str, **facts: object) -> None:
    _log.info(event, event_type="security", login_id=login_id, **facts)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Kicks:
    """Ends sessions of users, for callers who hold all codes of the user.

    Repeated kicks have the effect of a ban. Both methods raise ``PermissionDenied`` if the user holds a code
    that the caller lacks, ``RefreshRequired`` if the caller was deleted, disabled or banned, and
    ``Unavailable``.
    """

    database: Database
    delegation: Delegation
    revocations: Revocations
    sessions: Sessions

    async def kick(self, caller: Caller, user_id: int) -> int:
        """End all sessions of a user and return their number; the user's API keys and delegations end too.

        Raises ``NotFound`` without sessions and keys. The sessions end before the commit, so that a key whose
        creation waits for it finds no session. The mark after it ends what was cached of keys in between.
        """
        ended, missing = 0, None
        async with self.database.transaction() as connection:
            target = await self._target(connection, caller, user_id)
            had_keys = await accounts.has_keys(connection, user_id)
            await ALL_SESSIONS_END.emit(connection, user_id)
            try:
                ended = await self.sessions.kick(target)
            except NotFound as refusal:
                missing = refusal
        await self.revocations.mark(user_id)
        if missing is not None and not had_keys:
            raise missing
        return ended

    async def log_out_everywhere(self, caller: Caller) -> int:
        """End all sessions of the caller and return their number; keys and delegations end too."""
        async with self.database.transaction() as connection:
            await ALL_SESSIONS_END.emit(connection, caller.user_id)
            ended = await self.sessions.log_out_everywhere(caller)
        await self.revocations.mark(caller.user_id)
        return ended

    async def kick_device(self, caller: Caller, user_id: int, device: str) -> None:
        """End the session of a user on ``device``; raises ``NotFound`` and ``ValidationFailed``."""
        async with self.database.transaction() as connection:
            target = await self._target(connection, caller, user_id)
        await self.sessions.kick_device(target, device)

    async def _target(self, connection: Connection, caller: Caller, user_id: int) -> Target:
        await role_rights.set_pace(connection, "urgent")
        check = await self.delegation.check(connection, caller)
        return await check.target(connection, user_id, "end-sessions")
