"""End all sessions with a link from a mail."""

from service.administration import change_log
from service.authn.login_log import LoginLog
from service.authn.revocations import Revocations
from service.authn.throttle import Throttle
from service.errors import LinkInvalid
from service.features.account_links import store_tokens as account_tokens
from service.features.account_links.links import digest_of
from service.kernel.identity import owner
from service.records.database.transactions import Database


class SessionEnding:
    """Ends the sessions of a link's owner, once, without revealing anything about the owner."""

    def __init__(
        self, database: Database, revocations: Revocations, throttle: Throttle, log: LoginLog
    ) -> None:
        self._database = database
        self._revocations = revocations
        self._throttle = throttle
        self._entries = log

    async def end(self, token: str, address: str) -> None:
        """End all sessions of the user to whom ``token`` was sent, for a client at ``address``.

        Sessions end before the commit, so that an outage of the session store does not use up the link. They
        end again after the commit. Raises ``LinkInvalid``, ``RateLimited`` and ``Unavailable``.
        """
        await self._throttle.from_address(address)
        async with self._database.transaction() as connection:
            spent = await account_tokens.spend(connection, "end_sessions", digest_of(token))
            if spent is None:
                raise LinkInvalid
            change_log.concerns(change_log.user_target(spent.user_name))
            target = owner(spent.user_id)
            await self._revocations.end_sessions_first(target)
        await self._revocations.end_sessions(target)
        self._entries.own("logout_all", spent.user_id, spent.user_name, None, reason="link")
