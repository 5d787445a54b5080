"""Bans and disabled users: how they are refused; the session store is kept in line with the database."""

from dataclasses import dataclass

from service.errors import AccountBanned
from service.kernel.clock import from_seconds, rfc3339
from service.keyspace import SessionStore
from service.records import bans
from service.records.accounts import Standing
from service.records.bans import Denial
from service.records.database.transactions import Database


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Denials:
    """Copies bans and disabled users into the session store, so that the next request is refused.

    Login and refresh ask the database. The store is a cache for the requests in between. If it is lost,
    access still requires a login, and any code that meets outdated data corrects it.
    """

    database: Database
    store: SessionStore

    async def settle(self, user_id: int, *, all_bans: bool = False) -> int:
        """Bring the store in line with the database for a user; return the number of ended sessions.

        After each write to the store the database is read again, so that the last of several concurrent calls
        leaves its state. A ban not written by this method is kept, unless ``all_bans``. Raises
        ``Unavailable``; calling again completes the work.
        """
        ended = 0
        denial = await self._denial_of(user_id)
        while True:
            ended += await self._tell(str(user_id), denial, all_bans=all_bans)
            announced, denial = denial, await self._denial_of(user_id)
            if announced == denial:
                return ended

    async def _denial_of(self, user_id: int) -> Denial | None:
        async with self.database.transaction(is_step=True) as connection:
            return await bans.denial_of(connection, user_id)

    async def _tell(self, login_id: str, denial: Denial | None, *, all_bans: bool) -> int:
        if denial is None:
            await self.store.unban(login_id, all_bans=all_bans)
            return 0
        until = None if denial.until is None else round(1000 * denial.until.timestamp())
        return await self.store.ban(login_id, until, denial.reason)


def banned_by(known: Standing) -> AccountBanned:
    """Return the refusal of a user with a ban in the database."""
    until = known.banned_until
    return AccountBanned() if until is None else AccountBanned(until=rfc3339(until))


def banned(until: int | None) -> AccountBanned:
    """Return the refusal of a banned user; ``until`` (milliseconds since the epoch) is the end of the ban."""
    return AccountBanned() if until is None else AccountBanned(until=rfc3339(from_seconds(until / 1000)))
