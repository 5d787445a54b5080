"""``sys.policy_revision``: one row for each published policy."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from typing import Annotated, Any, Final, NamedTuple

import sqlalchemy as sa
from msgspec import Struct
from sqlalchemy.ext.asyncio import AsyncConnection

from service.kernel.fields import values_of
from service.records.database.filters import at_least, below, conditions_of, equals
from service.records.database.paging import Page, page_of
from service.records.database.row_mapper import PreparedSelect, RowMapper, Source
from service.records.database.transactions import is_rehearsal, take_locks
from service.records.schema.policy import policy_revision
from service.records.schema.rights import user

LOCK: Final = 0x706F6C69_63790000  # "policy"
"""The advisory lock for publishing."""


_AT_ONCE: Final = 500  # rows read at a time


class PolicyRevision(Struct, frozen=True):
    """A published policy: its number, the digest and number of its lines, and the cause.

    ``user_name`` and ``request_id`` are those of the request that changed it, None without a request.
    ``added`` and ``removed`` count the lines that differ from the revision before; None when they are not
    kept. ``tampered`` counts the lines and the revisions before it that were changed or made directly in the
    database. ``lines_digest`` is that of the lines alone, as ``history.lines_digest`` makes it.
    ``prior_revision`` and ``prior_hash`` are those of the revision that it was made from. ``seals`` are by
    the ids of their keys, and ``sealed_from`` is the first revision of those that must have one: see
    ``service.audit.seals``.
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
    lines_digest: str | None
    prior_revision: int | None
    prior_hash: str | None
    sealed_from: int | None
    seals: Any


class NewRevision(Struct, frozen=True, kw_only=True):
    """Recorded facts of a revision at its publication; see ``PolicyRevision``.

    ``author_ids`` are the ids of its author, and of the creator of the author's API key.
    """

    digest: str
    line_count: int
    cause: str
    user_name: str | None = None
    author_ids: Sequence[int] | None = None
    request_id: str | None = None
    tampered: int = 0
    lines_digest: str | None = None
    prior_revision: int | None = None
    prior_hash: str | None = None
    sealed_from: int | None = None


class NewestRow(NamedTuple):
    """Number and digest of the newest revision, and a mark that changes with each change of its row."""

    revision: int
    digest: str
    mark: str


_REVISION: Final = RowMapper(PolicyRevision, policy_revision)


async def lock(connection: AsyncConnection) -> None:
    """Wait until no other transaction is publishing, and prevent others until this one has ended.

    This must be the first statement of a transaction that publishes. Lines derived before would lack the
    changes of the previous holder, and rows written before could lead to a deadlock. A dry run takes no lock.
    """
    if is_rehearsal(connection):
        return
    await take_locks(connection, LOCK)


async def try_lock(connection: AsyncConnection) -> bool:
    """Take the same lock until the end of the transaction if it is free; return whether it was taken."""
    return bool(
        (
            await connection.execute(sa.text("SELECT pg_try_advisory_xact_lock(:key)"), {"key": LOCK})
        ).scalar_one()
    )


async def latest(connection: AsyncConnection) -> PolicyRevision | None:
    """Return the newest revision; None before the first."""
    statement = _REVISION.select.order_by(policy_revision.c.revision.desc()).limit(1)
    return await _REVISION.one_or_none(connection, statement)


# xmin is the transaction that wrote the row (PostgreSQL manual, "System Columns").
_NEWEST: Final = PreparedSelect(
    sa.select(policy_revision.c.revision, policy_revision.c.digest, sa.literal_column("xmin::text"))
    .order_by(policy_revision.c.revision.desc())
    .limit(1),
    NewestRow._make,
)


_TAMPERED: Final[PreparedSelect[int]] = PreparedSelect(
    sa.select(sa.func.count()).select_from(policy_revision).where(policy_revision.c.tampered > 0),
    itemgetter(0),
)


async def newest(source: Source) -> NewestRow | None:
    """Return the newest revision, in short; None before the first. Cheap enough to ask often."""
    return await _NEWEST.one_or_none(source)


async def authors(connection: AsyncConnection, after: int, to: int) -> set[int]:
    """Return the ids of the authors of the revisions above ``after``, and up to ``to``.

    For a revision without ids: the user who has the name of its author now.
    """
    table = policy_revision.c
    chosen = (table.revision > after) & (table.revision <= to)
    noted = sa.select(sa.func.unnest(table.author_ids)).where(chosen)
    named = sa.select(user.c.id).join(policy_revision, table.user_name == user.c.user_name)
    statement = sa.union(noted, named.where(chosen, table.author_ids.is_(None)))
    return {*(await connection.execute(statement)).scalars()}


async def older(
    connection: AsyncConnection, revision: int | None = None, *, sealed_by: Collection[str] = ()
) -> AsyncIterator[PolicyRevision]:
    """Yield the revisions below ``revision``, or all, the newest first; only a few are read at a time.

    With ``sealed_by``, the ids of keys, only those that claim a seal by one of them.
    """
    statement = _REVISION.select.order_by(policy_revision.c.revision.desc()).limit(_AT_ONCE)
    if sealed_by:
        ids = sa.cast(list(sealed_by), sa.ARRAY(sa.Text))
        statement = statement.where(sa.func.jsonb_exists_any(policy_revision.c.seals, ids))
    while True:
        below_it = sa.true() if revision is None else policy_revision.c.revision < revision
        batch = await _REVISION.all(connection, statement.where(below_it))
        for published in batch:
            yield published
        if len(batch) < _AT_ONCE:
            return
        revision = batch[-1].revision


@dataclass(frozen=True, slots=True)
class RevisionFilter:
    """A filter of revisions: not before ``begin``, before ``end``, asked for by a user; None matches all."""

    begin: Annotated[datetime | None, at_least(policy_revision.c.create_time)] = None
    end: Annotated[datetime | None, below(policy_revision.c.create_time)] = None
    user_name: Annotated[str | None, equals(policy_revision.c.user_name)] = None


async def page(
    connection: AsyncConnection, criteria: RevisionFilter, *, page: int = 1, size: int = 20
) -> Page[PolicyRevision]:
    """Return page ``page`` (from 1) of the matching revisions, newest first."""
    order = (policy_revision.c.revision.desc(),)
    statement = _REVISION.select.where(*conditions_of(criteria))
    listed = await page_of(connection, statement, page=page, size=size, order=order)
    return listed.of(_REVISION)


async def newest_at(connection: AsyncConnection, then: datetime) -> int | None:
    """Return the number of the revision that was the newest at that instant; None before the first one."""
    published = sa.select(sa.func.max(policy_revision.c.revision)).where(
        policy_revision.c.create_time <= then
    )
    revision: int | None = (await connection.execute(published)).scalar_one()
    return revision


async def read(connection: AsyncConnection, revision: int) -> PolicyRevision | None:
    """Return the revision of that number; None if it does not exist."""
    return await _REVISION.only(connection, policy_revision.c.revision == revision)


async def all_recorded(connection: AsyncConnection, first: int, last: int) -> bool:
    """Return True if the added and removed lines of each revision from ``first`` to ``last`` are kept."""
    recorded = sa.select(sa.func.count(policy_revision.c.added)).where(
        policy_revision.c.revision.between(first, last)
    )
    return bool((await connection.execute(recorded)).scalar_one() == last - first + 1)


async def tampering_count(source: Source) -> int:
    """Return the number of revisions that replaced lines changed directly in the database."""
    return await _TAMPERED.one_or_none(source) or 0


async def tamperings(connection: AsyncConnection) -> list[PolicyRevision]:
    """Return the revisions that replaced lines changed directly in the database, oldest first."""
    return await _REVISION.where(connection, policy_revision.c.tampered > 0, order=policy_revision.c.revision)


async def add(connection: AsyncConnection, new: NewRevision, *, least: int = 0) -> int:
    """Record the next revision and return its number, at least ``least``; the caller holds the lock."""
    newest = sa.func.coalesce(sa.func.max(policy_revision.c.revision), 0)
    following = sa.select(sa.func.greatest(newest + 1, least)).scalar_subquery()
    statement = (
        sa.insert(policy_revision)
        .values(revision=following, **values_of(new))
        .returning(policy_revision.c.revision)
    )
    return int((await connection.execute(statement)).scalar_one())


_SEAL: Final = (
    sa.update(policy_revision)
    .where(policy_revision.c.revision == sa.bindparam("number"))
    .values(seals=sa.bindparam("made"))
)


async def seal(connection: AsyncConnection, seals: Mapping[int, Mapping[str, str]]) -> None:
    """Store the seals of revisions, by number."""
    if seals:
        await connection.execute(_SEAL, [{"number": number, "made": made} for number, made in seals.items()])
