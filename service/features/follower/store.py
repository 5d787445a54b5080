"""Data for followers: users, roles and API keys that have changed since a snapshot.

``sys.rights_change`` has the last transaction that changed each record, by triggers. A follower has the data
that is visible in the snapshot of its position. It lacks records of transactions that are not visible there.
The order of commits and of transaction numbers thus does not matter.
"""

from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from service.records.database.transactions import Connection

ALL: Final = "all"
"""The noun for a change of all data: a table was emptied."""

_PLACE: Final = sa.text(
    "SELECT pg_current_snapshot()::text, left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)"
)
_CHANGED: Final = sa.text(
    "SELECT noun, id FROM sys.rights_change"
    " WHERE transaction >= :xmin"
    " AND NOT pg_visible_in_snapshot(transaction::text::xid8, CAST(:snapshot AS pg_snapshot))"
    " AND (noun, id) > (:noun, :id) ORDER BY noun, id LIMIT :most"
)
_ALL: Final = sa.text(
    "SELECT noun, id FROM ("
    " SELECT 'key' AS noun, id FROM sys.api_key UNION ALL SELECT 'role', id FROM sys.role"
    " UNION ALL SELECT 'user', id FROM sys.\"user\") AS everything"
    " WHERE (noun, id) > (:noun, :id) ORDER BY noun, id LIMIT :most"
)
_IDS: Final = {
    "key": sa.text("SELECT id FROM sys.api_key WHERE id > :id ORDER BY id LIMIT :most"),
    "role": sa.text("SELECT id FROM sys.role WHERE id > :id ORDER BY id LIMIT :most"),
    "user": sa.text('SELECT id FROM sys."user" WHERE id > :id ORDER BY id LIMIT :most'),
}
_KEYS: Final = sa.text(
    "SELECT id, user_id, scopes, extract(epoch FROM expire_time)::float8"
    " FROM sys.api_key WHERE id = ANY (:ids)"
)
_ROLES: Final = sa.text(
    "SELECT role_id, array_agg(code ORDER BY code) FILTER (WHERE code <> '')"
    " FROM (SELECT DISTINCT role_id, code FROM sys.role_code_life"
    " WHERE end_time IS NULL AND role_id = ANY (:ids)) AS given GROUP BY role_id"
)
_USERS: Final = sa.text(
    "SELECT \"user\".id, status = 'enabled', kind = 'service', service,"
    " CASE WHEN user_ban.user_id IS NULL THEN 0 ELSE coalesce(extract(epoch FROM until), 'Infinity') "
    " END::float8,"
    " user_name_key, CASE kind WHEN 'service' THEN user_name END,"
    ' ARRAY (SELECT DISTINCT role_id FROM sys.user_role WHERE user_id = "user".id'
    " AND valid_from IS NULL AND valid_until IS NULL ORDER BY role_id),"
    " (SELECT jsonb_agg(jsonb_build_array("
    "role_id, extract(epoch FROM valid_from), extract(epoch FROM valid_until)))"
    ' FROM sys.user_role WHERE user_id = "user".id AND (valid_from IS NOT NULL OR valid_until IS NOT NULL))'
    ' FROM sys."user" LEFT JOIN sys.user_ban ON user_ban.user_id = "user".id WHERE "user".id = ANY (:ids)'
)


class Place(NamedTuple):
    """The view of a transaction: its snapshot (``pg_snapshot``), and the timeline of the server.

    A server that took over after a loss of transactions numbers them in another timeline.
    """

    snapshot: str
    timeline: str


class Concerned(NamedTuple):
    """A user, a role or an API key, by ``noun`` and id."""

    noun: str
    id: int


FIRST: Final = Concerned("", 0)
"""The place before all records."""


class KeyRow(NamedTuple):
    """An API key; ``ends`` in seconds since the epoch, None for no expiry."""

    id: int
    user_id: int
    scopes: list[str] | None
    ends: float | None


class RoleRow(NamedTuple):
    """The codes of a role from enabled Buttons; empty if the role is disabled."""

    id: int
    codes: list[str] | None


class UserRow(NamedTuple):
    """A user; ``banned_until`` in seconds since the epoch: 0 for no ban, infinity for a permanent one.

    ``windows`` list the roles with a start or an expiry: the role id, start and expiry in seconds or None.
    ``service_name`` is the user name of a service account.
    """

    id: int
    enabled: bool
    is_service: bool
    service: str | None
    banned_until: float
    name_key: str
    service_name: str | None
    roles: list[int]
    windows: list[tuple[int, float | None, float | None]] | None


class Records(NamedTuple):
    """The stored records among the requested ones; deleted records are missing."""

    keys: list[KeyRow]
    roles: list[RoleRow]
    users: list[UserRow]


async def place(connection: Connection) -> Place:
    """Return the view of this transaction, a snapshot."""
    return Place(*(await connection.execute(_PLACE)).one())


async def concerned(
    connection: Connection, since: str | None, after: Concerned, most: int
) -> list[Concerned]:
    """Return at most ``most`` records that have changed since the snapshot ``since``, in order.

    They come after ``after`` in the order. Without a snapshot, all existing records count as changed.
    """
    given: dict[str, Any] = {"noun": after.noun, "id": after.id, "most": most}
    if since is None:
        rows = await connection.execute(_ALL, given)
    else:
        given |= {"snapshot": since, "xmin": int(since.partition(":")[0])}
        rows = await connection.execute(_CHANGED, given)
    return [Concerned(*row) for row in rows]


async def behind(connection: Connection, after: Concerned, most: int) -> list[Concerned]:
    """Return the next ``most`` existing records, in order; fewer at the end. Reads no further records."""
    next_ones: list[Concerned] = []
    for noun, statement in _IDS.items():
        if noun >= after.noun and len(next_ones) < most:
            given = {"id": after.id if noun == after.noun else 0, "most": most - len(next_ones)}
            next_ones += [Concerned(noun, row.id) for row in await connection.execute(statement, given)]
    return next_ones


async def records(connection: Connection, asked: list[Concerned]) -> Records:
    """Return the stored records of ``asked``."""

    async def read(statement: sa.TextClause, noun: str) -> list[Any]:
        ids = [each.id for each in asked if each.noun == noun]
        return list(await connection.execute(statement, {"ids": ids})) if ids else []

    return Records(
        [KeyRow(*row) for row in await read(_KEYS, "key")],
        [RoleRow(*row) for row in await read(_ROLES, "role")],
        [UserRow(*row) for row in await read(_USERS, "user")],
    )
