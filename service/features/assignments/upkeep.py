"""A job that archives expired assignments and announces expiries; no right depends on the job."""

from typing import Final

from service.features.assignments import store_ends
from service.features.assignments.sentences import sentence
from service.kernel.coded_sentences import Sentence
from service.kernel.notify import Notices
from service.records.database.transactions import Database
from service.records.installation import schema_revision

_AT_ONCE: Final = 1000  # rows per transaction


async def settle_ends(database: Database, notices: Notices) -> Sentence:
    """Move expired assignments to the past ones, and notify users of coming expiries.

    Raises Unavailable.
    """
    users = 0
    while True:
        async with database.transaction() as connection:
            moved = await store_ends.set_aside(connection, _AT_ONCE)
        users += moved
        if not moved:
            break
    async with database.transaction() as connection:
        await schema_revision.settle(connection)
        due = await store_ends.to_tell(connection)
        for ends, facts in due[:_AT_ONCE]:
            await notices.notify(connection, ends.user_id, "role_ends", "administrator", facts)
    return sentence("roles_ended", users=users, notices=len(due[:_AT_ONCE]))
