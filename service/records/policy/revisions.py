"""``sys.policy_revision``: one row for each published policy."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from typing import Annotated, Final

from sqlalchemy import func, insert, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from service.kernel.dry_run import DRY_RUN
from service.records.database.filters import at_least, below, conditions_of, equals
from service.records.database.paging import Page, page_of
from service.records.database.prepared import PreparedSelect, Source
from service.records.database.row_mapper import RowMapper
from service.records.schema import policy_revision

LOCK: Final = 0x706F6C69_63790000  # "policy"
"""The advisory lock for publishing."""


@dataclass(frozen=True, slots=True)
class PolicyRevision:
    """A published policy: its number, the digest and number of its lines, and the cause.

    ``user_name`` and ``request_id`` are those of the request that changed it, None where it was none.
    ``added`` and ``removed`` count the lines that differ from the revision before; None when they are not
    kept. ``tampered`` counts the lines before it that somebody had changed past the service.
    """

    revision: int
    digest: str
    line_count: int
    cause: str
    create_time: datetime
    user_name: str | None
    request_id: str | None
    added: int | None
    removed: int | None
    tampered: int


_REVISION: Final = RowMapper(PolicyRevision, policy_revision)


async def lock(connection: AsyncConnection) -> None:
    """Wait until no other transaction is publishing, and prevent others until this one has ended.

    This must be the first statement of a transaction that publishes. Lines derived before would lack the
    changes of the previous holder, and rows written before could lead to a deadlock. A dry run takes no lock.
    """
    if DRY_RUN.get() is not None:
        return
    await connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": LOCK})


async def try_lock(connection: AsyncConnection) -> bool:
    """Take the same lock until the end of the transaction if nobody holds it; tell whether it was taken."""
    taken: bool = (
        await connection.execute(text("SELECT pg_try_advisory_xact_lock(:key)"), {"key": LOCK})
    ).scalar_one()
    return taken


async def latest(connection: AsyncConnection) -> PolicyRevision | None:
    """Return the newest revision; None before the first."""
    statement = select(*_REVISION.columns).order_by(policy_revision.c.revision.desc()).limit(1)
    return await _REVISION.one_or_none(connection, statement)


_NEWEST: Final = PreparedSelect(
    select(policy_revision.c.revision, policy_revision.c.digest)
    .order_by(policy_revision.c.revision.desc())
    .limit(1),
    lambda row: (row[0], row[1]),
)


_TAMPERED: Final[PreparedSelect[int]] = PreparedSelect(
    select(func.count()).select_from(policy_revision).where(policy_revision.c.tampered > 0), itemgetter(0)
)


async def newest(source: Source) -> tuple[int, str] | None:
    """Return number and digest of the newest revision; None before the first. Cheap enough to ask often."""
    return await _NEWEST.one_or_none(source)


@dataclass(frozen=True, slots=True)
class RevisionFilter:
    """A filter of revisions: not before ``begin``, before ``end``, asked for by a user; None matches all."""

    begin: Annotated[datetime | None, at_least(policy_revision.c.create_time)] = None
    end: Annotated[datetime | None, below(policy_revision.c.create_time)] = None
    user_name: Annotated[str | None, equals(policy_revision.c.user_name)] = None


async def page(
    connection: AsyncConnection, wanted: RevisionFilter, *, page: int = 1, size: int = 20
) -> Page[PolicyRevision]:
    """Return page ``page`` (from 1) of the matching revisions, newest first."""
    order = (policy_revision.c.revision.desc(),)
    statement = select(*_REVISION.columns).where(*conditions_of(wanted))
    found = await page_of(connection, statement, page=page, size=size, order=order)
    return found.of(_REVISION)


async def read(connection: AsyncConnection, revision: int) -> PolicyRevision | None:
    """Return the revision of that number; None when there is none."""
    statement = select(*_REVISION.columns).where(policy_revision.c.revision == revision)
    return await _REVISION.one_or_none(connection, statement)


async def all_recorded(connection: AsyncConnection, first: int, last: int) -> bool:
    """Tell whether what was added and removed is kept of each revision from ``first`` to ``last``."""
    recorded = select(func.count(policy_revision.c.added)).where(
        policy_revision.c.revision.between(first, last)
    )
    return bool((await connection.execute(recorded)).scalar_one() == last - first + 1)


async def tampering_count(source: Source) -> int:
    """Return how many revisions replaced lines which somebody had changed past the service."""
    return await _TAMPERED.one_or_none(source) or 0


async def tamperings(connection: AsyncConnection) -> list[PolicyRevision]:
    """Return the revisions that replaced lines which somebody had changed past the service, oldest first."""
    statement = select(*_REVISION.columns).where(policy_revision.c.tampered > 0)
    return await _REVISION.all(connection, statement.order_by(policy_revision.c.revision))


async def add(
    connection: AsyncConnection,
    *,
    digest: str,
    line_count: int,
    cause: str,
    user_name: str | None = None,
    request_id: str | None = None,
    tampered: int = 0,
    least: int = 0,
) -> int:
    """Record the next revision and return its number, at least ``least``; the caller holds the lock."""
    newest = func.coalesce(func.max(policy_revision.c.revision), 0)
    following = select(func.greatest(newest + 1, least)).scalar_subquery()
    statement = (
        insert(policy_revision)
        .values(
            revision=following,
            digest=digest,
            line_count=line_count,
            cause=cause,
            user_name=user_name,
            request_id=request_id,
            tampered=tampered,
        )
        .returning(policy_revision.c.revision)
    )
    revision: int = (await connection.execute(statement)).scalar_one()
    return revision
