"""End all sessions with a link from a mail."""

from dataclasses import dataclass

from service.administration import change_log
from service.authn.login_log import LoginLog
from service.authn.revocations import ALL_SESSIONS_END, Revocations
from service.authn.throttle import Throttle
from service.errors import LinkInvalid
from service.features.account_links import store_tokens as account_tokens
from service.features.account_links.links import digest_of
from service.kernel.identity import owner
from service.records.database.transactions import Database


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SessionEnding:
    """Ends the sessions of a link's owner, once, without revealing anything about the owner."""

    database: Database
    revocations: Revocations
    throttle: Throttle
    log: LoginLog

    async def end(self, token: str, address: str) -> None:
        """End all sessions of the user to whom ``token`` was sent, for a client at ``address``.

        Sessions end before the commit, so that an outage of the session store does not use up the link. They
        end again after the commit. Raises ``LinkInvalid``, ``RateLimited`` and ``Unavailable``.
        """
        await self.throttle.from_address(address)
        async with self.database.transaction() as connection:
            spent = await account_tokens.spend(connection, "end_sessions", digest_of(token))
            if spent is None:
                raise LinkInvalid
            change_log.concerns(change_log.user_target(spent.user_name))
            target = owner(spent.user_id)
            await ALL_SESSIONS_END.emit(connection, spent.user_id)
            await self.revocations.end_sessions_first(target)
        await self.revocations.end_sessions(target)
        self.log.own("logout_all", spent.user_id, spent.user_name, None, reason="link")
