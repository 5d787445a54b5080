"""The session store's word on who is kept out, kept in line with the database, which decides."""

from __future__ import annotations

from service.keyspace import SessionStore
from service.records.database.transactions import Database
from service.records.users import bans
from service.records.users.bans import Denial


class Denials:
    """Repeats in the session store who is banned or disabled, so that the next request is refused.

    Login and refresh ask the database. What the store says in between is a cache: losing it lets nobody in
    who has to log in, and what is out of date is corrected by whoever meets it.
    """

    def __init__(self, database: Database, store: SessionStore) -> None:
        self._database = database
        self._store = store

    async def settle(self, user_id: int, *, all_bans: bool = False) -> int:
        """Have the store say what the database says; return how many sessions that ended.

        Each word to the store is followed by a look at the database, so that of several who do this at once
        the last word agrees with it. A ban that was not put there by this method is left alone, unless
        ``all_bans``. Raises ``Unavailable``; the same call made again does what is left.
        """
        ended = 0
        denial = await self._denial_of(user_id)
        while True:
            ended += await self._tell(str(user_id), denial, all_bans=all_bans)
            told, denial = denial, await self._denial_of(user_id)
            if told == denial:
                return ended

    async def _denial_of(self, user_id: int) -> Denial | None:
        async with self._database.transaction() as connection:
            return await bans.denial_of(connection, user_id)

    async def _tell(self, login_id: str, denial: Denial | None, *, all_bans: bool) -> int:
        if denial is None:
            await self._store.unban(login_id, all_bans=all_bans)
            return 0
        until = None if denial.until is None else round(1000 * denial.until.timestamp())
        return await self._store.ban(login_id, until, denial.reason)
