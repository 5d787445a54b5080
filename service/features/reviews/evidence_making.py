"""Makes archives of evidence about a review, a request, or a user between two dates."""

import asyncio
from datetime import datetime, timedelta
from typing import Final

from service import __version__
from service.audit.key_chain import Chain
from service.features.audit_proof.store_chain import Mentioned
from service.features.reviews import store as reviews
from service.features.reviews import store_evidence as users
from service.features.reviews.evidence_archive import Maker
from service.features.reviews.evidence_content import Content, of_request, of_review, of_user
from service.records.database.transactions import Connection, Database
from service.records.logs import inserts
from service.records.request_history import request_history
from service.settings import Oplog

WITHIN: Final = 60.0
"""The maximum duration of reading in seconds."""
_LOOKS, _LOOK_EVERY = 20, 0.25  # seconds between polls
_AROUND: Final = timedelta(days=1)  # entries have the times of other machines


def maker_of(settings: Oplog, made: datetime, made_by: str, *, connected: bool = True) -> Maker:
    keys = dict.fromkeys((settings.chain_key, settings.chain_previous_key, ""))
    return Maker([Chain(key) for key in keys], __version__, made, made_by, connected=connected)


async def review_evidence(database: Database, maker: Maker, review_id: int) -> bytes:
    """Return the archive about a review; raises NotFound and Unavailable.

    Waits some seconds for entries about it that are about to be written.
    """
    target = f"review:{review_id}"
    for _ in range(_LOOKS):
        async with database.snapshot() as connection:
            if not await inserts.is_awaited(connection, target):
                break
        await asyncio.sleep(_LOOK_EVERY)
    async with database.snapshot(within=WITHIN) as connection:
        review = await reviews.read(connection, review_id)
        content = await of_review(connection, review_id)
        until = (review.end_time or maker.made) + _AROUND
        named = Mentioned(target, review.create_time - _AROUND, until)
        return await _archive(connection, maker, content, named)


async def request_evidence(database: Database, maker: Maker, request_id: int) -> bytes:
    """Return the archive about a request for a role; NotFound if there is none. Raises Unavailable."""
    async with database.snapshot(within=WITHIN) as connection:
        request = await request_history().read(connection, request_id, maker.made)
        content = await of_request(connection, request_id, maker.made)
        until = (request.end_time or maker.made) + _AROUND
        role, since = f"role:{request.role_code}", request.create_time - _AROUND
        named = Mentioned(role, since, until, f"accessRequest {request_id}")
        return await _archive(connection, maker, content, named)


async def user_evidence(
    database: Database, maker: Maker, user_name: str, since: datetime, until: datetime
) -> bytes:
    """Return the archive about the access of a user; NotFound if there is none. Raises Unavailable."""
    async with database.snapshot(within=WITHIN) as connection:
        about = await users.known(connection, user_name)
        content = await of_user(connection, about, since, until)
        named = Mentioned(f"user:{about.user_name}", max(since, about.create_time), until)
        return await _archive(connection, maker, content, named)


async def _archive(connection: Connection, maker: Maker, content: Content, mentioned: Mentioned) -> bytes:
    segments = await maker.segments(connection, mentioned)
    return await asyncio.to_thread(maker.archive, content, segments)
