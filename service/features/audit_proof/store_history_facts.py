"""Past rights as facts that never change, and their seals in ``sys.history_seal``.

A fact belongs to an instant: an assignment starts or ends, a role starts or stops giving a code. All facts of
a part, such as those of a user, have one digest per seal. The digest covers the time since the previous seal.
"""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Final

import sqlalchemy as sa
from msgspec import Struct

from service.features.permission_use.store import KEPT_MONTHS
from service.kernel.cooperative_yield import CooperativeYield
from service.kernel.persons import MOST_TAKEOVER_DAYS
from service.records.database.row_mapper import RowMapper
from service.records.database.transactions import Connection
from service.records.schema.logs import history_seal

SETTLED: Final = timedelta(minutes=5)
"""Minimum age of sealed facts, because a change can use another clock."""
_AT_ONCE: Final = 1000  # rows fetched at a time


class Source(Struct, frozen=True):
    """A kind of facts: a statement with the columns ``part``, ``moment`` and ``content``.

    ``noun`` names the subject of a part. If the facts are ``owned``, the part begins with the id of a user,
    and the facts are deleted with this user. A source that ``moves`` has one row per part, which a later fact
    replaces. Facts older than ``kept_days`` may be gone. The content of facts never changes: a new column is
    null in old rows, or becomes a new source.
    """

    name: str
    facts: str
    noun: str = ""
    owned: bool = False
    moves: bool = False
    kept_days: int | None = None


_WINDOW: Final = "id, user_id, role_id, valid_from, valid_until, reason, source, create_time, created_by"


def _row(alias: str) -> str:
    return f"jsonb_strip_nulls(to_jsonb({alias}))::text"


def _ended_rows(history: str) -> Source:
    """Return the ended rows of a history by revisions; other rows may still change."""
    return Source(
        f"ended rows of {history}",
        f"""
        SELECT '' AS part, revision.create_time AS moment, {_row("kept")} AS content
        FROM sys.{history} AS kept LEFT JOIN sys.policy_revision AS revision ON revision.revision = kept.until
        WHERE kept.until IS NOT NULL
        """,  # noqa: S608 - of constants
    )


SOURCES: Final = (
    Source(
        "beginnings of assignments",
        f"""
        SELECT user_id::text AS part,
            greatest(valid_from, coalesce(create_time, '-infinity')) AS moment,
            jsonb_build_array(id, role_id, valid_from, create_time, created_by, source)::text AS content
        FROM (
            SELECT {_WINDOW} FROM sys.user_role UNION ALL SELECT {_WINDOW} FROM sys.ended_assignment
        ) AS given
        """,  # noqa: S608 - of constants
        "user",
        owned=True,
    ),
    Source(
        "ends of assignments",
        f"""
        SELECT user_id::text AS part, end_time AS moment, {_row("over")} AS content
        FROM (
            SELECT {_WINDOW}, role_code, end_time, ended_by, how FROM sys.ended_assignment
            UNION ALL
            SELECT {", ".join(f"given.{name}" for name in _WINDOW.split(", "))}, role.role_code,
                given.valid_until, NULL, 'expired'
            FROM sys.user_role AS given JOIN sys.role ON role.id = given.role_id
            WHERE given.valid_until <= now()
        ) AS over
        """,  # noqa: S608 - of constants
        "user",
        owned=True,
    ),
    Source(
        "beginnings of codes of roles",
        f"""
        SELECT role_id::text AS part, begin_time AS moment, {_row("life")} AS content
        FROM (SELECT id, role_id, role_code, menu_id, code, begin_time FROM sys.role_code_life) AS life
        """,  # noqa: S608 - of constants
        "role",
    ),
    Source(
        "ends of codes of roles",
        """
        SELECT role_id::text AS part, end_time AS moment,
            jsonb_build_array(id, end_time)::text AS content
        FROM sys.role_code_life WHERE end_time IS NOT NULL
        """,
        "role",
    ),
    # After a database outage, workers write the uses of a day up to a day later.
    Source(
        "uses of permissions",
        """
        SELECT user_id || ' in ' || to_char(month, 'YYYY-MM') AS part,
            (month + (SELECT max(day::int) FROM jsonb_each_text(days) AS used (code, day)) + 1)::timestamp
                AT TIME ZONE 'UTC' AS moment, days::text AS content
        FROM sys.permission_use
        """,
        "user",
        owned=True,
        moves=True,
        kept_days=(KEPT_MONTHS - 3) * 30,
    ),
    Source(
        "acts on accounts of others",
        f"""
        SELECT account_id || ' by ' || holder_id || ', ' || act AS part,
            greatest(act_time, end_time) AS moment, {_row("done")} AS content
        FROM sys.account_control AS done
        """,  # noqa: S608 - of constants
        "account",
        moves=True,
        kept_days=MOST_TAKEOVER_DAYS - 1,
    ),
    Source(
        "beginning of the recording of uses",
        """
        SELECT '' AS part, since_time AS moment, to_json(since_time)::text AS content
        FROM sys.use_recording
        """,
        moves=True,
    ),
    _ended_rows("resource_history"),
    _ended_rows("button_history"),
    _ended_rows("binding_history"),
    _ended_rows("service_history"),
    _ended_rows("opening_history"),
    _ended_rows("request_rule_history"),
)
"""All kinds; add a line for a further table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistorySeal:
    """A seal over the facts from the end of the previous seal until ``until_time``.

    ``parts`` has the digest of each part, by source. ``hash`` covers the parts and the previous hash.
    ``seals`` has the MACs of the hash by key id; the empty id is the seal without a key.
    """

    number: int
    until_time: datetime
    parts: Mapping[str, Mapping[str, str]]
    hash: bytes
    seals: Mapping[str, str]

    @property
    def is_keyed(self) -> bool:
        return bool(self.seals.keys() - {""})


class PartDigest(Struct, frozen=True):
    """The digest of the facts of a part before the first limit, between two, or after the last one.

    ``before`` is the number of limits up to these facts.
    """

    before: int
    part: str
    digest: str


_SEAL: Final = RowMapper(HistorySeal, history_seal)


async def digests(
    connection: Connection,
    source: Source,
    limits: Sequence[datetime],
    *,
    since: datetime | None = None,
    until: datetime | None = None,
) -> AsyncIterator[PartDigest]:
    """Yield the digest of each part of a source, separately for the times between the ``limits``.

    ``since`` and ``until`` limit the facts, if they are set.
    """
    await connection.execute(sa.text("SET LOCAL TimeZone = 'UTC'"))
    values = {"limits": list(limits), "since": since, "until": until}
    options = {"yield_per": _AT_ONCE}
    others = CooperativeYield()
    async with connection.stream(_digests_of(source), values, execution_options=options) as rows:
        async for part in rows.partitions():  # each row alone would be a switch of its own
            for row in part:
                yield PartDigest(*row)
                await others.after_item()


def _digests_of(source: Source) -> sa.TextClause:
    # Sorted part by part: a sort of all contents takes longer than everything else, and goes to disk.
    content = """
        convert_to((SELECT string_agg(fact, E'\\n' ORDER BY fact COLLATE "C")
            FROM unnest(array_agg(content)) AS fact), 'UTF8')"""
    # If facts are deleted after a time, the digest includes their day.
    day = " || '@' || coalesce(to_char(nullif(max(moment), '-infinity'), 'YYYY-MM-DD'), '')"
    day = "" if source.kept_days is None else day
    return sa.text(f"""
        SELECT width_bucket(moment, CAST(:limits AS timestamptz[])) AS before, part,
            left(encode(sha256({content}), 'hex'), 32){day} AS digest
        FROM (
            SELECT part, coalesce(moment, '-infinity') AS moment, content FROM ({source.facts}) AS stored
        ) AS facts
        WHERE moment >= coalesce(CAST(:since AS timestamptz), '-infinity')
            AND moment < coalesce(CAST(:until AS timestamptz), 'infinity')
        GROUP BY 1, 2
        """)  # noqa: S608 - of constants


async def horizon(connection: Connection) -> datetime:
    """Return the instant before which all facts are committed: no transaction that writes began earlier."""
    statement = sa.text("""
        SELECT least(now() - CAST(:settled AS interval), min(xact_start)) FROM pg_stat_activity
        WHERE datname = current_database() AND backend_xid IS NOT NULL
        """)
    moment: datetime = (await connection.execute(statement, {"settled": SETTLED})).scalar_one()
    return moment


async def seals(connection: Connection) -> AsyncIterator[HistorySeal]:
    """Yield all seals, in order of number."""
    ordered = _SEAL.select.order_by(history_seal.c.number)
    async with connection.stream(ordered, execution_options={"yield_per": _AT_ONCE}) as rows:
        async for row in rows:
            yield _SEAL.of(row)


async def newest(connection: Connection, count: int) -> list[HistorySeal]:
    """Return the newest seals, the newest first."""
    ordered = _SEAL.select.order_by(history_seal.c.number.desc())
    return await _SEAL.all(connection, ordered.limit(count))


async def hashes(connection: Connection, numbers: Collection[int]) -> dict[int, str]:
    """Return the hashes of the seals with these numbers, in hexadecimal, by number."""
    chosen = sa.select(history_seal.c.number, history_seal.c.hash).where(history_seal.c.number.in_(numbers))
    return {row.number: row.hash.hex() for row in await connection.execute(chosen)}


async def any_keyed(connection: Connection) -> bool:
    """Return true if any seal was created with a key."""
    keyed = sa.text("SELECT EXISTS (SELECT FROM sys.history_seal WHERE seals - '' <> '{}')")
    return bool((await connection.execute(keyed)).scalar_one())


async def add(connection: Connection, seal: HistorySeal) -> None:
    values = {each.name: getattr(seal, each.name) for each in fields(seal)}  # no copy of some 10,000 digests
    await connection.execute(sa.insert(history_seal).values(values))


async def users_among(connection: Connection, user_ids: Sequence[int]) -> frozenset[int]:
    """Return those of the users who still exist."""
    statement = sa.text('SELECT id FROM sys."user" WHERE id = ANY (CAST(:ids AS bigint[]))')
    return frozenset((await connection.execute(statement, {"ids": list(user_ids)})).scalars())


def owner_of(part: str) -> int:
    """Return the owner of a part, whose source must have owners."""
    return int(part.partition(" ")[0])
