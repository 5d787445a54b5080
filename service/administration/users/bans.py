"""Banning users and clearing bans: whoever is kept out by somebody must not hold more than they do."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

import structlog

from service.administration.delegation import grantor
from service.authn.login_log import UNRECORDED, LoginLog
from service.authn.revocations import Revocations
from service.errors import Conflict, NotFound
from service.kernel.clock import rfc3339
from service.kernel.identity import Caller
from service.records.database.transactions import Database
from service.records.users import accounts, bans

WITHIN: Final = 10.0
"""Seconds that a ban may take: it waits for a change of rights that is under way."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Banned:
    """What a ban did: when it ends by itself, and how many sessions it ended."""

    until: datetime | None
    ended: int


class Bans:
    """Bans users, for callers who hold all that the user holds: a ban is as good as disabling the account.

    A ban is in the database, which login and refresh ask; the session store repeats it for other requests. As
    in ``Accounts`` the user is marked before the commit, so that nothing is saved while the session store is
    away. What is done is entered in the login log and told to the log.
    """

    def __init__(self, database: Database, revocations: Revocations, log: LoginLog = UNRECORDED) -> None:
        self._database = database
        self._revocations = revocations
        self._entries = log

    async def ban(self, caller: Caller, user_id: int, seconds: int | None, reason: str) -> Banned:
        """Ban a user for ``seconds``, or without end, and end all sessions.

        A ban that lasts longer already keeps its end. Raises ``NotFound``, ``PermissionDenied`` when the user
        holds a code that the caller does not, ``Conflict`` for the caller's own account, ``RefreshRequired``
        when the caller has been banned meanwhile, and ``Unavailable``. So an administrator who is let in
        always remains.
        """
        async with self._database.transaction(within=WITHIN) as connection:
            # Behind the lock: of two who ban one another at once, the second is a caller no more.
            giver = await grantor(connection, caller)
            known = await accounts.credentials_of(connection, user_id)
            if known is None:
                raise NotFound("There is no such user")
            if user_id == caller.user_id:
                raise Conflict("Nobody bans themselves")
            target = await giver.target(connection, user_id)
            until = await bans.ban(connection, target, seconds, reason, by=caller.user_id)
            await self._revocations.mark_first([user_id])
        ended = await self._revocations.settle(target)
        self._entries.by_other("ban", user_id, known.user_name)
        _security("a user was banned", target.login_id, until=until and rfc3339(until), ended=ended)
        return Banned(until, ended)

    async def unban(self, caller: Caller, user_id: int) -> None:
        """Clear the ban of a user, if there is one; refusals as for ``ban``, but for ``NotFound``."""
        async with self._database.transaction(within=WITHIN) as connection:
            giver = await grantor(connection, caller)
            known = await accounts.credentials_of(connection, user_id)
            target = await giver.target(connection, user_id)
            cleared = await bans.unban(connection, user_id)
        await self._revocations.settle(target)
        if cleared:
            self._entries.by_other("unban", user_id, known.user_name if known else None)
            _security("the ban of a user was cleared", target.login_id)


def _security(event: str, login_id: str, **facts: object) -> None:
    _log.info(event, event_type="security", login_id=login_id, **facts)
