"""``sys.casbin_rule``: the lines of the published policy."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import islice
from typing import Final, NamedTuple, TypeAlias

from sqlalchemy import Connection, delete, func, select, text
from sqlalchemy.dialects.postgresql import aggregate_order_by
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.util.concurrency import await_only, in_greenlet

from service.kernel.cooperative_yield import CooperativeYield
from service.records.published import policy_revisions
from service.records.published.policy_revisions import NewRevision
from service.records.schema.policy import casbin_rule

ObjectKey: TypeAlias = tuple[str, str]
"""A layer, and an object of it."""

CHANNEL: Final = "portcullis_policy"
"""The channel that announces each new revision, as its number in decimal, once it is committed."""

_AT_ONCE: Final = 100  # objects between two pauses of the event loop: half a millisecond
_COPY: Final = "COPY sys.casbin_rule (ptype, v0, v1, v2) FROM STDIN"
# PostgreSQL manual, COPY, "Text Format".
_ESCAPES: Final = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r"})

_rule = casbin_rule.c
_IS_LINE: Final = (
    (_rule.ptype == "p")
    & _rule.v0.is_not(None)
    & _rule.v1.is_not(None)
    & _rule.v2.is_not(None)
    & ~_rule.v2.contains("\n")
    & _rule.v3.is_(None)
    & _rule.v4.is_(None)
    & _rule.v5.is_(None)
)


class Stored(NamedTuple):
    """The codes of the stored lines, sorted, by layer and object; and the number of other rows."""

    objects: dict[str, dict[str, tuple[str, ...]]]
    strangers: int


def stored(connection: Connection) -> Stored:
    """Return all that is stored, repeated lines included.

    Inside ``AsyncConnection.run_sync``, other requests are served between two parts.
    """
    # One text instead of an array: a hundred thousand lists would keep the garbage collector busy.
    codes = func.string_agg(_rule.v2, aggregate_order_by(text("E'\\n'"), _rule.v2.collate("C")))
    statement = select(_rule.v0, _rule.v1, codes).where(_IS_LINE).group_by(_rule.v0, _rule.v1)
    objects: dict[str, dict[str, tuple[str, ...]]] = {}
    split = cache(lambda joined: tuple(joined.split("\n")))  # many objects have the same codes
    pauses = CooperativeYield()
    with connection.execute(statement.execution_options(yield_per=_AT_ONCE)) as rows:
        for part in rows.partitions():
            for layer, name, joined in part:
                objects.setdefault(layer, {})[name] = split(joined)
            give_way_if_async(pauses)
    strangers = connection.execute(
        select(func.count()).select_from(casbin_rule).where(~_IS_LINE)
    ).scalar_one()
    return Stored(objects, strangers)


async def publish(
    connection: AsyncConnection,
    changed: Mapping[ObjectKey, tuple[str, ...]],
    new: NewRevision,
    *,
    mend: bool = False,
    least: int = 0,
) -> int:
    """Replace the lines of changed objects, record the next revision, announce it on ``CHANNEL``.

    Returns its number. ``changed`` has the new codes of these objects, none for an object without a line.
    ``new`` has the recorded facts of the revision. With ``mend``, rows that are no lines are deleted.
    ``least`` is the lowest number that the revision may have.

    Others see nothing before the commit. The caller must have taken ``revisions.lock`` before deriving the
    lines; it is taken here again, in case the caller has not. 300,000 new lines take some seconds: open the
    transaction with ``within``.
    """
    await policy_revisions.lock(connection)
    if mend:
        await connection.execute(delete(casbin_rule).where(~_IS_LINE))
    if changed:
        await _replace(connection, changed)
    revision = await policy_revisions.add(connection, new, least=least)
    await connection.execute(select(func.pg_notify(CHANNEL, str(revision))))
    return revision


_FORGET: Final = text(
    "DELETE FROM sys.casbin_rule WHERE (v0, v1) IN"
    " (SELECT * FROM unnest(CAST(:layers AS text[]), CAST(:names AS text[])))"
)


async def _replace(connection: AsyncConnection, changed: Mapping[ObjectKey, tuple[str, ...]]) -> None:
    layers, names = zip(*changed, strict=True)
    await connection.execute(_FORGET, {"layers": list(layers), "names": list(names)})
    await _copy(connection, ((*place, code) for place, codes in changed.items() for code in codes))


async def _copy(connection: AsyncConnection, lines: Iterable[tuple[str, str, str]]) -> None:
    driver = (await connection.get_raw_connection()).driver_connection
    pauses = CooperativeYield()
    assert driver is not None  # noqa: S101 - only an invalidated connection has none
    async with driver.cursor() as cursor, cursor.copy(_COPY) as copy:
        for part in _copy_text(lines):
            await copy.write(part)
            await pauses.give_way()  # a write into a free buffer does not give way itself


def _copy_text(lines: Iterable[tuple[str, str, str]]) -> Iterator[str]:
    """Yield ``lines`` in COPY's text format, in parts."""
    remaining = iter(lines)
    while part := list(islice(remaining, _AT_ONCE)):
        yield "".join(
            ["\t".join(["p", *(value.translate(_ESCAPES) for value in line)]) + "\n" for line in part]
        )


def give_way_if_async(pauses: CooperativeYield) -> None:
    """Give way within a function that ``AsyncConnection.run_sync`` called; do nothing elsewhere."""
    if in_greenlet():
        await_only(pauses.give_way())
