"""Jobs on rows that have expired."""

from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from service.kernel.coded_sentences import Sentence
from service.kernel.core_sentences import sentence
from service.records import bans
from service.records.database.transactions import Connection, Database

_AT_ONCE: Final = 1000  # rows deleted in one transaction

Forget: TypeAlias = Callable[[Connection, int], Awaitable[int]]


async def forget_bans(database: Database) -> Sentence:
    """Delete bans that have ended. Raises Unavailable."""
    return sentence("bans_deleted", count=await forget_in_portions(database, bans.forget_ended))


async def forget_in_portions(database: Database, forget: Forget) -> int:
    """Delete by ``forget`` until nothing is left, few rows at once; return how many. Raises Unavailable."""
    count = 0
    while True:
        async with database.transaction() as connection:
            deleted = await forget(connection, _AT_ONCE)
        count += deleted
        if deleted < _AT_ONCE:
            return count
