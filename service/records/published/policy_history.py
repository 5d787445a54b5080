"""``sys.policy_line``: every line that was ever published, with the revisions between which it was in force.

A line is one row for each time that it comes: ``since`` is the revision that added it, ``until`` the one that
removed it, empty while it is in force. So a revision costs as many rows as it adds, and the lines of any
revision are those with ``since <= revision < until``.
"""

from collections.abc import Collection
from typing import Any, Final, NamedTuple, TypeAlias

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.sql.base import ReadOnlyColumnCollection

from service.kernel.cooperative_yield import CooperativeYield
from service.kernel.services import PORTCULLIS, UNTIL
from service.records.published.policy_lines import give_way_if_async
from service.records.schema.policy import policy_line, policy_revision

Place: TypeAlias = tuple[str, str, str] | str
"""Subject of a question to a policy: a service, method and canonical path, or a permission code."""

READ_WITHIN: Final = 30.0
"""Seconds that reading history may take; the lines of a hundred thousand resources take a few."""

_COLUMNS: Final = (policy_line.c.layer, policy_line.c.object, policy_line.c.code)
_AT_ONCE: Final = 500  # lines between two turns of the event loop


class PublishedLine(NamedTuple):
    """A line of the stored policy."""

    layer: str
    object: str
    code: str

    def __str__(self) -> str:
        return f"p, {self.layer}, {self.object}, {self.code}"


class Part(NamedTuple):
    """Part of a long list of lines: at most ``size`` (None for all), after the first ``offset``."""

    size: int | None
    offset: int


ALL: Final = Part(None, 0)


class Difference(NamedTuple):
    """Lines that only one of two revisions has; both in the order of layer, object and code.

    ``more`` is True if more lines of either kind exist than were requested.
    """

    added: list[PublishedLine]
    removed: list[PublishedLine]
    more: bool = False


# A full join can't become nested loops, whatever the planner thinks of tables that were filled a moment ago.
_CHANGED: Final = """
    SELECT kept.id, rule.v0, rule.v1, rule.v2
    FROM (SELECT * FROM sys.policy_line WHERE {kept}) kept
    FULL JOIN sys.casbin_rule rule ON rule.v0 = kept.layer AND rule.v1 = kept.object AND rule.v2 = kept.code
        AND rule.ptype = 'p' AND rule.v3 IS NULL
    WHERE kept.id IS NULL OR rule.id IS NULL
"""

_RECORD: Final = sa.text(
    f"""
WITH changed AS MATERIALIZED ({_CHANGED.format(kept="until IS NULL")}),
ended AS (
    UPDATE sys.policy_line SET until = :revision
    WHERE id IN (SELECT id FROM changed WHERE id IS NOT NULL) RETURNING 1
),
begun AS (
    INSERT INTO sys.policy_line (layer, object, code, since)
    SELECT v0, v1, v2, :revision FROM changed WHERE id IS NULL RETURNING 1
)
UPDATE sys.policy_revision
SET added = (SELECT count(*) FROM begun), removed = (SELECT count(*) FROM ended)
WHERE revision = :revision
"""  # noqa: S608 - of constants
)

# A row is in one of the two parts: a statement must not change it twice.
_FORGET: Final = sa.text(
    """
WITH later AS (DELETE FROM sys.policy_line WHERE since >= :revision)
UPDATE sys.policy_line SET until = NULL WHERE since < :revision AND until >= :revision
"""
)

_IN_FORCE: Final = "since <= :revision AND (until IS NULL OR until > :revision)"
_TAMPERED: Final = sa.text(
    f"SELECT count(*) FROM ({_CHANGED.format(kept=_IN_FORCE)}) changed"  # noqa: S608 - of constants
)

# Lengths and texts, so that no other lines have the same digest. The order is that of
# ``derive.lines_digest_of``.
_LINES_DIGEST: Final = sa.text(
    f"""
SELECT encode(sha256(convert_to(coalesce(string_agg(
    length(layer) || ' ' || length(object) || ' ' || length(code) || ' ' || layer || object || code, ''
    ORDER BY layer COLLATE "C", object COLLATE "C", code COLLATE "C"
), ''), 'UTF8')), 'hex')
FROM sys.policy_line WHERE {_IN_FORCE}
"""  # noqa: S608 - of constants
)


async def record(connection: AsyncConnection, revision: int) -> None:
    """Keep the lines added and removed by ``revision``, whose lines stand in ``sys.casbin_rule`` now."""
    await connection.execute(_RECORD, {"revision": revision})


async def forget_from(connection: AsyncConnection, revision: int) -> None:
    """Delete the history of ``revision`` and later ones, which were deleted from the database."""
    await connection.execute(_FORGET, {"revision": revision})


async def tampered(connection: AsyncConnection, revision: int) -> int:
    """Return the number of lines of ``revision`` missing in, or added to, ``sys.casbin_rule``."""
    return int((await connection.execute(_TAMPERED, {"revision": revision})).scalar_one())


async def lines_digest(connection: AsyncConnection, revision: int) -> str:
    """Return the SHA-256, in hexadecimal, of the kept lines of ``revision``; many take a second."""
    return str((await connection.execute(_LINES_DIGEST, {"revision": revision})).scalar_one())


async def changes_of(connection: AsyncConnection, revision: int, part: Part = ALL) -> Difference:
    """Return the lines that ``revision`` added to the one before it, and those that it removed."""
    line = policy_line.c
    return await _part_of(
        connection,
        sa.select(*_COLUMNS).where(line.since == revision),
        sa.select(*_COLUMNS).where(line.until == revision),
        part,
    )


async def difference(connection: AsyncConnection, before: int, after: int, part: Part = ALL) -> Difference:
    """Return the lines that only ``after`` has, and the reverse; either may be the newer one.

    Reads only the lines added or removed between the two.
    """
    low, high = min(before, after), max(before, after)
    came = policy_line.c.since.between(low + 1, high)
    went = policy_line.c.until.between(low + 1, high)
    only_low = sa.select(*_COLUMNS).where(went, ~came)
    only_high = sa.select(*_COLUMNS).where(came, policy_line.c.until.is_(None) | ~went)
    # A line that went and came again is in both.
    new, gone = sa.except_(only_high, only_low), sa.except_(only_low, only_high)
    return await _part_of(connection, *((new, gone) if before <= after else (gone, new)), part)


async def _part_of(
    connection: AsyncConnection, added: sa.SelectBase, removed: sa.SelectBase, part: Part
) -> Difference:
    """Return ``part`` of the lines that the two statements select."""
    selected = []
    for statement in (added, removed):
        ordered = _ordered(statement.subquery().c).offset(part.offset)
        selected.append(await _lines(connection, ordered.limit(None if part.size is None else part.size + 1)))
    more = part.size is not None and any(len(lines) > part.size for lines in selected)
    return Difference(selected[0][: part.size], selected[1][: part.size], more)


async def lines_at(
    connection: AsyncConnection, revision: int, place: Place | None = None
) -> list[PublishedLine]:
    """Return the lines of ``revision`` that could decide about ``place``; without a place, all its lines.

    Lines with an expiry are always included, except for a code.

    For a request the result has the lines of registered resources of its method with as many segments as its
    path, and of their demands. For a permission code, it has those of the layers grant and permission that
    name the code.
    """
    line = policy_line.c
    deciding: sa.ColumnElement[bool]
    of_resource = line.layer.in_(("resource", "assurance"))
    demanded = sa.func.substr(line.object, len("resource ") + 1)  # published demands are on resources alone
    name = sa.case((line.layer == "assurance", demanded), else_=line.object)
    if place is None:
        deciding = sa.true()
    elif isinstance(place, str):
        deciding = line.layer.in_(("grant", "permission")) & (line.object == place)
    elif place[0] != PORTCULLIS:
        of_service = name.startswith(f"{place[0]} ", autoescape=True)
        deciding = of_resource & of_service | (line.layer == "service") & (line.object == place[0])
    else:
        _, method, path = place
        segments = sa.func.cardinality(sa.func.string_to_array(sa.func.split_part(name, " ", 2), "/"))
        same_method = sa.func.split_part(name, " ", 1) == method
        deciding = of_resource & same_method & (segments == len(path.split("/")))
    if not isinstance(place, str):
        # Lines with an expiry count: the id of a decision has the number of passed expiries.
        deciding |= (line.layer == "resource") & line.code.like(f"@%{UNTIL}%")
    return await _lines(connection, _select().where(_in_force(revision), deciding))


async def has_layer(connection: AsyncConnection, revision: int, layer: str) -> bool:
    """Return True if ``revision`` has a line of ``layer``; a revision older than the layer has none."""
    condition = sa.exists().where(_in_force(revision), policy_line.c.layer == layer)
    return bool((await connection.execute(sa.select(condition))).scalar_one())


async def codes_at(
    connection: AsyncConnection, revision: int, objects: Collection[str], layer: str = "resource"
) -> dict[str, list[str]]:
    """Return, by object of ``layer``, the codes of its lines in ``revision``, in order."""
    line = policy_line.c
    condition = (line.layer == layer) & line.object.in_(objects)
    codes: dict[str, list[str]] = {}
    for published_line in await _lines(connection, _select().where(_in_force(revision), condition)):
        codes.setdefault(published_line.object, []).append(published_line.code)
    return codes


def _in_force(revision: int) -> sa.ColumnElement[bool]:
    line = policy_line.c
    return (line.since <= revision) & (line.until.is_(None) | (line.until > revision))


def _select() -> sa.Select[tuple[str, str, str]]:
    return _ordered(policy_line.c)


def _ordered(line: ReadOnlyColumnCollection[str, Any]) -> sa.Select[tuple[str, str, str]]:
    layers = sa.case({"resource": 1, "endpoint": 2, "grant": 3, "permission": 4}, value=line.layer, else_=5)
    return sa.select(line.layer, line.object, line.code).order_by(
        layers, line.object.collate("C"), line.code.collate("C")
    )


async def _lines(connection: AsyncConnection, statement: sa.Select[Any]) -> list[PublishedLine]:
    return await connection.run_sync(_read, statement)


def _read(connection: sa.Connection, statement: sa.Select[Any]) -> list[PublishedLine]:
    lines: list[PublishedLine] = []
    turns = CooperativeYield()
    with connection.execute(statement.execution_options(yield_per=_AT_ONCE)) as rows:
        for part in rows.partitions():
            lines += (PublishedLine(*row) for row in part)
            give_way_if_async(turns)
    return lines


async def begins(connection: AsyncConnection) -> int | None:
    """Return the oldest revision with kept lines; None without one."""
    oldest: int | None = (await connection.execute(sa.select(sa.func.min(policy_line.c.since)))).scalar_one()
    return oldest


async def is_kept(connection: AsyncConnection, revision: int) -> bool:
    """Return True if the lines of ``revision`` are kept: it was recorded, or history begins with it."""
    statement = sa.select(policy_revision.c.added).where(policy_revision.c.revision == revision)
    row = (await connection.execute(statement)).one_or_none()
    return row is not None and (row.added is not None or await begins(connection) == revision)
