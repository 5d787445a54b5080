"""Requests in archives of evidence."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from service.features.access_requests import schema, store
from service.features.access_requests.schema import access_request
from service.records.assignments import instant
from service.records.database.transactions import Connection
from service.records.request_history import RequestHistory


async def of_user(
    connection: Connection, user_id: int, since: datetime, until: datetime
) -> Sequence[schema.AccessRequest]:
    """Return the requests for roles of a user that were pending at some time between two instants, by id."""
    table = access_request.c
    ended = table.end_time.is_(None) | (table.end_time >= instant(since))
    chosen = sa.select(table.id).where(table.user_id == user_id, table.create_time < instant(until), ended)
    ids = (await connection.execute(chosen.order_by(table.id))).scalars()
    return [await store.read(connection, request_id, until) for request_id in ids.all()]


HISTORY: Final = RequestHistory(
    request=schema.AccessRequest,
    decision=schema.AccessDecision,
    read=store.read,
    decisions=store.decisions,
    of_user=of_user,
)
