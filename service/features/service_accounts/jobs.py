"""Jobs for expired and expiring API keys."""

from datetime import timedelta
from typing import Final

import structlog

from service.features.service_accounts import store
from service.features.service_accounts.sentences import sentence
from service.jobs.housekeeping import forget_in_portions
from service.jobs.job import Job
from service.kernel.clock import rfc3339
from service.kernel.coded_sentences import Sentence
from service.records.database.transactions import Connection, Database
from service.settings import Settings

KEYS_KEPT: Final = timedelta(days=30)
"""The time for which an expired API key is listed."""
REMIND: Final = timedelta(days=14)
"""The remaining lifetime at which a key is logged as expiring soon."""
_DAY: Final = 86_400.0

_log = structlog.get_logger()


def jobs(_settings: Settings) -> tuple[Job, ...]:
    return (
        Job(
            "expired-keys",
            "Delete API keys that expired 30 days ago",
            forget_keys,
            _DAY,
            after="expired-answers",
        ),
        Job(
            "key-reminders",
            "Log the API keys that expire within 14 days",
            remind_of_keys,
            _DAY,
            after="ended-openings",
        ),
    )


async def forget_keys(database: Database) -> Sentence:
    """Delete API keys that expired ``KEYS_KEPT`` ago. Raises Unavailable."""

    async def forget(connection: Connection, most: int) -> int:
        return await store.forget_expired(connection, KEYS_KEPT, most)

    return sentence("keys_deleted", count=await forget_in_portions(database, forget))


async def remind_of_keys(database: Database) -> Sentence:
    """Log the API keys that expire within ``REMIND``, with the names of accounts. Raises Unavailable."""
    async with database.snapshot() as connection:
        keys = await store.expiring(connection, REMIND)
    for key in keys:
        _log.warning(
            "an API key expires soon",
            key_id=key.id,
            key_name=key.key_name,
            user_name=key.user_name,
            expire_time=rfc3339(key.expire_time),
        )
    return sentence("keys_expire_soon", count=len(keys), days=REMIND.days)
