"""``sys.permission_use``: the codes of policy lines that let each user pass, and the last day of use.

The codes that the scopes of a person's API key have needed are in ``sys.api_key``, without days.

A day is one of UTC. A row is of one user and one month; its ``days`` are the last day of each code. Codes are
texts, since bit positions are reused with other meanings. The words of lines, such as ``@login``, are kept
like codes: they record that the account was used.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final

import sqlalchemy as sa
from msgspec import json

from service.records.database.portions import delete_some
from service.records.database.transactions import Connection
from service.records.published.policy_workers import USES
from service.records.schema.base import SCHEMA, past
from service.records.schema.installation import restore_epoch
from service.records.schema.policy import policy_worker
from service.records.schema.rights import permission_use, use_recording

KEPT_MONTHS: Final = 25
"""Number of months kept, including the present one."""

# Never back: batches of several workers come in any order. A row that says so already is not written again.
# Never after the database's day: the worker's clock may have been ahead. In the order of users: no deadlocks.
_MERGE: Final = sa.text(f"""
    WITH noted AS (SELECT least(CAST(:day AS date), CAST(now() AT TIME ZONE 'UTC' AS date)) AS day)
    INSERT INTO {SCHEMA}.permission_use AS known (user_id, month, days)
    SELECT CAST(given.value ->> 0 AS bigint), CAST(date_trunc('month', noted.day) AS date), (
        SELECT jsonb_object_agg(code, CAST(extract(day FROM noted.day) AS int))
        FROM jsonb_array_elements_text(given.value -> 1) AS code
    )
    FROM noted, jsonb_array_elements(CAST(:uses AS jsonb)) AS given
    WHERE EXISTS (SELECT FROM {SCHEMA}."user" AS kept WHERE kept.id = CAST(given.value ->> 0 AS bigint))
    ORDER BY 1
    ON CONFLICT (user_id, month) DO UPDATE SET days = (
        SELECT jsonb_object_agg(code, day) FROM (
            SELECT code, max(CAST(day AS int)) AS day FROM (
                SELECT * FROM jsonb_each(known.days) UNION ALL SELECT * FROM jsonb_each(excluded.days)
            ) AS both_of_them (code, day)
            GROUP BY code
        ) AS latest
    )
    WHERE NOT known.days @> excluded.days
    """)  # noqa: S608 - our own name

# Of keys from before the recording, null, the codes stay unknown. In the order of keys: no deadlocks.
_MERGE_KEYS: Final = sa.text(f"""
    WITH noted AS (
        SELECT known.id, given.codes
        FROM (
            SELECT CAST(each.value ->> 0 AS bigint) AS id,
                ARRAY(SELECT jsonb_array_elements_text(each.value -> 1)) AS codes
            FROM jsonb_array_elements(CAST(:uses AS jsonb)) AS each
        ) AS given
        JOIN {SCHEMA}.api_key AS known ON known.id = given.id AND NOT known.needed_codes @> given.codes
        ORDER BY known.id
        FOR NO KEY UPDATE OF known
    )
    UPDATE {SCHEMA}.api_key AS kept SET needed_codes = ARRAY(
        SELECT DISTINCT code FROM unnest(kept.needed_codes || noted.codes) AS code ORDER BY code
    )
    FROM noted WHERE noted.id = kept.id
    """)  # noqa: S608 - our own name

_SINCE: Final = sa.text(f"""
    INSERT INTO {SCHEMA}.use_recording AS known (since_time) VALUES (now())
    ON CONFLICT (only_row) DO UPDATE SET since_time = now()
    WHERE EXISTS (
        SELECT FROM {SCHEMA}.{policy_worker.name} AS worker
        WHERE worker.seen_time >= greatest(known.since_time, now() - interval '5 minutes')
            AND NOT coalesce(worker.facts -> 'knows' ? '{USES}', false)
    )
    """)  # noqa: S608 - our own names


async def merge(connection: Connection, day: date, uses: Mapping[int, Sequence[str]]) -> None:
    """Add which codes users have needed on ``day``, by the ids of users; of users that there still are."""
    given = json.encode([*uses.items()]).decode()
    await connection.execute(_MERGE, {"day": day, "uses": given})


async def merge_keys(connection: Connection, uses: Mapping[int, Collection[str]]) -> None:
    """Add the codes that the scopes of API keys of people have needed, by the ids of keys.

    Words of lines need no scope and are left out. Deleted keys are ignored.
    """
    codes = {key: [code for code in used if not code.startswith("@")] for key, used in uses.items()}
    given = json.encode([pair for pair in codes.items() if pair[1]]).decode()
    await connection.execute(_MERGE_KEYS, {"uses": given})


async def confirm_recording(connection: Connection) -> None:
    """Note that uses are recorded from now on, if that was not noted.

    While workers of an older version have reported lately, the recording begins anew.
    """
    await connection.execute(_SINCE)


async def recorded_since(connection: Connection) -> datetime | None:
    """Return the time since which uses are recorded without a gap; None if they are not.

    A restore resets it: uses after the backup are unknown.
    """
    begun = sa.select(sa.func.max(restore_epoch.c.begin_time)).scalar_subquery()
    since = sa.select(sa.func.greatest(use_recording.c.since_time, begun))
    moment: datetime | None = (await connection.execute(since)).scalar_one_or_none()
    return moment


async def forget_old(connection: Connection, most: int) -> int:
    """Delete at most ``most`` rows of months that are no longer kept; return their number."""
    first = sa.func.date_trunc("month", past()) - sa.text(f"interval '{KEPT_MONTHS - 1} months'")
    return await delete_some(connection, permission_use, permission_use.c.month < first, most)


@dataclass(frozen=True, slots=True)
class LastUse:
    """A code, and the last day on which a user needed it."""

    user_id: int
    code: str
    day: date


def uses(since: date | None = None) -> sa.Select[int, str, date]:
    """Return the statement that reads the uses of codes by user and day, from the day ``since`` on.

    Its columns are ``user_id``, ``code`` and ``day``. A code occurs once for each month, with its last day.
    """
    given = sa.func.jsonb_each_text(permission_use.c.days).table_valued("key", "value", name="given")
    day = permission_use.c.month + sa.cast(given.c.value, sa.Integer) - 1
    statement = sa.select(permission_use.c.user_id, given.c.key.label("code"), day.label("day")).select_from(
        permission_use.join(given, sa.true())
    )
    if since is None:
        return statement
    return statement.where(permission_use.c.month >= since.replace(day=1), day >= since)


async def of_user(connection: Connection, user_id: int) -> list[LastUse]:
    """Return the kept uses of permissions by a user, sorted by code."""
    mine = uses().where(permission_use.c.user_id == user_id).subquery()
    last = sa.select(mine.c.user_id, mine.c.code, sa.func.max(mine.c.day)).group_by(
        mine.c.user_id, mine.c.code
    )
    return [LastUse(*row) for row in await connection.execute(last.order_by(mine.c.code))]
