"""The jobs of events: their order, assignments that begin, and the deletion of old events."""

from datetime import timedelta
from functools import partial
from typing import Final

from service.features.events import store, store_destinations
from service.features.events.sentences import sentence
from service.jobs.housekeeping import forget_in_portions
from service.jobs.job import Job
from service.kernel.coded_sentences import Sentence
from service.records.database.transactions import Connection, Database
from service.settings import Events, Settings

LOOK_EVERY: Final = 5.0
"""Seconds between two looks for recorded events."""


async def put_in_order(database: Database) -> Sentence:
    """Record assignments that have begun, and give all recorded events their places. Raises Unavailable."""
    ordered = begun = 0
    while True:
        async with database.transaction() as connection:
            begun += (now_begun := await store.begin_due(connection))
        async with database.transaction() as connection:
            ordered += (moved := await store.order(connection))
        if max(now_begun, moved) < store.AT_ONCE:
            return sentence("events_ordered", ordered=ordered, begun=begun)


async def forget(database: Database, settings: Events) -> Sentence:
    """Delete events and dead letters after their days. Raises Unavailable."""
    kept = timedelta(days=settings.days)
    names = [destination.name for destination in settings.destinations]

    async def forget_some(connection: Connection, most: int) -> int:
        return await store.forget_old(connection, kept, most)

    async with database.transaction() as connection:
        await store_destinations.note_missed(connection, kept)
        await store_destinations.forget(connection, names, kept)
    return sentence("events_deleted", count=await forget_in_portions(database, forget_some))


def jobs(settings: Settings) -> tuple[Job, ...]:
    """Return the jobs."""
    return (
        Job(
            "events",
            "Order recorded events about rights, and record assignments that begin",
            put_in_order,
            LOOK_EVERY,
            retry=10.0,
            pending=store.pending,
        ),
        Job(
            "old-events",
            "Delete events about rights and their dead letters after `events.days`",
            partial(forget, settings=settings.events),
            3_600.0,
        ),
    )
