"""``sys.casbin_rule``: the lines of the published policy, in order."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice
from typing import Final, TypeAlias

from sqlalchemy import Connection, delete, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from service.kernel.cooperative_yield import CooperativeYield
from service.records.database.greenlets import give_way_if_async
from service.records.policy import revisions
from service.records.schema import casbin_rule

Line: TypeAlias = tuple[str, ...]
"""A policy line, its type and up to six values: ``("p", "endpoint", "GET /api/user/info", "@login")``."""

CHANNEL: Final = "portcullis_policy"
"""The channel that announces each new revision, as its number in decimal, once it is committed."""

_AT_ONCE: Final = 100  # lines between two pauses of the event loop
_COLUMNS: Final = ("ptype", "v0", "v1", "v2", "v3", "v4", "v5")
_COPY: Final = f"COPY sys.casbin_rule ({', '.join(_COLUMNS)}) FROM STDIN"
# PostgreSQL manual, COPY, "Text Format".
_ESCAPES: Final = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r"})


async def all_lines(connection: AsyncConnection) -> list[Line]:
    """Return all lines in the order in which they were published.

    Read in parts, so that other requests are served in between.
    """
    lines: list[Line] = []
    statement = select(*(casbin_rule.c[name] for name in _COLUMNS)).order_by(casbin_rule.c.id)
    async with connection.stream(statement) as rows:
        async for part in rows.partitions(_AT_ONCE):
            lines += (tuple(value for value in row if value is not None) for row in part)
    return lines


def each_line(connection: Connection) -> Iterator[Line]:
    """Yield all lines in the order in which they were published, for Casbin's synchronous adapter.

    Inside ``AsyncConnection.run_sync``, other requests are served between two parts here as well.
    """
    statement = select(*(casbin_rule.c[name] for name in _COLUMNS)).order_by(casbin_rule.c.id)
    pauses = CooperativeYield()
    with connection.execute(statement.execution_options(yield_per=_AT_ONCE)) as rows:
        for part in rows.partitions():
            for row in part:
                yield tuple(value for value in row if value is not None)
            give_way_if_async(pauses)


async def publish(
    connection: AsyncConnection,
    lines: Collection[Line],
    *,
    digest: str,
    cause: str,
    user_name: str | None = None,
    request_id: str | None = None,
    tampered: int = 0,
) -> int:
    """Replace all lines, record the next revision, announce it on ``CHANNEL``; return its number.

    ``tampered`` is how many of the replaced lines somebody else had changed.

    Others see nothing before the commit. The caller must have taken ``revisions.lock`` before deriving the
    lines; it is taken here again, in case the caller has not. 300,000 lines take some seconds: open the
    transaction with ``within``.
    """
    await revisions.lock(connection)
    await connection.execute(delete(casbin_rule))
    await _copy(connection, lines)
    revision = await revisions.add(
        connection,
        digest=digest,
        line_count=len(lines),
        cause=cause,
        user_name=user_name,
        request_id=request_id,
        tampered=tampered,
    )
    await connection.execute(select(func.pg_notify(CHANNEL, str(revision))))
    return revision


async def _copy(connection: AsyncConnection, lines: Collection[Line]) -> None:
    driver = (await connection.get_raw_connection()).driver_connection
    pauses = CooperativeYield()
    assert driver is not None  # noqa: S101 - only an invalidated connection has none
    async with driver.cursor() as cursor, cursor.copy(_COPY) as copy:
        for part in _copy_text(lines):
            await copy.write(part)
            await pauses.give_way()  # a write into a free buffer does not give way itself


def _copy_text(lines: Collection[Line]) -> Iterator[str]:
    """Yield ``lines`` in COPY's text format, in parts."""
    remaining = iter(lines)
    width = len(_COLUMNS)
    while part := list(islice(remaining, _AT_ONCE)):
        yield "".join(
            "\t".join([*(value.translate(_ESCAPES) for value in line), *(r"\N",) * (width - len(line))])
            + "\n"
            for line in part
        )
